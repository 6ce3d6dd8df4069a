import Foundation
import ReelPostgres
import Testing

/// An empty database of the server that the tests share. It goes with the server.
package struct TestDatabase: Sendable {
  package let server: PostgresServer
  package let name: String

  /// - Parameter server: nil for the shared one.
  package init(on server: PostgresServer? = nil) async throws {
    self.server = if let server { server } else { try await PostgresServer.shared() }
    name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
    let connection = try PostgresConnection(try address("postgres"), library: try PostgresLibrary())
    try connection.execute("CREATE DATABASE \(name)")
  }

  /// - Parameter port: of what stands before the server; nil for itself.
  package func url(port: Int? = nil) -> String {
    "postgres://postgres@127.0.0.1:\(port ?? server.port)/\(name)"
  }

  package func address(_ database: String? = nil, port: Int? = nil) throws -> PostgresAddress {
    let address = try PostgresAddress(
      url(port: port), passwords: .elsewhere, library: try PostgresLibrary(), environment: { _ in nil })
    return database.map { address.database($0) } ?? address
  }

  package func connect() throws -> PostgresConnection {
    try PostgresConnection(try address(), library: try PostgresLibrary())
  }

  /// Makes room for others: several hundred databases take gigabytes.
  package func drop() {
    try? PostgresConnection(try address("postgres"), library: try PostgresLibrary()).execute(
      "DROP DATABASE \(name) WITH (FORCE)")
  }

  package func pool(
    port: Int? = nil, _ change: (inout PostgresPool.Settings) -> Void = { _ in }
  ) throws -> PostgresPool {
    var settings = PostgresPool.Settings()
    change(&settings)
    return PostgresPool(try address(port: port), library: try PostgresLibrary(), settings: settings)
  }
}

extension Trait where Self == ConditionTrait {
  /// Skipped aloud where there is no server.
  package static var besidePostgres: ConditionTrait {
    .enabled(if: PostgresServer.isInstalled, PostgresServer.absence)
  }
}
