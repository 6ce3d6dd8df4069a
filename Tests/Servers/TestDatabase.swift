import Foundation
import ReelPostgres
import Testing

/// An empty database on the server that the tests share. It ends with the server.
package struct TestDatabase: Sendable {
  package let server: PostgresServer
  package let name: String

  /// - Parameter server: nil for the shared one.
  package init(on server: PostgresServer? = nil) async throws {
    self.server = if let server { server } else { try await PostgresServer.shared() }
    name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
    try Self.connect(try address("postgres")).execute("CREATE DATABASE \(name)")
  }

  /// - Parameter port: that of a proxy before the server; nil for the server itself.
  package func url(port: Int? = nil) -> String {
    "postgres://postgres@127.0.0.1:\(port ?? server.port)/\(name)"
  }

  package func address(_ database: String? = nil, port: Int? = nil) throws -> PostgresAddress {
    let address = try PostgresAddress(
      url(port: port), passwords: .elsewhere, library: try PostgresLibrary(), environment: { _ in nil })
    return database.map { address.database($0) } ?? address
  }

  package func connect() throws -> PostgresConnection {
    try Self.connect(try address())
  }

  private static func connect(_ address: PostgresAddress) throws -> PostgresConnection {
    try PostgresConnection(
      address, library: try PostgresLibrary(), connectTimeout: .seconds(600), timeout: .seconds(600))
  }

  /// Drops the database: several hundred of them take gigabytes.
  package func drop() {
    try? Self.connect(try address("postgres")).execute("DROP DATABASE \(name) WITH (FORCE)")
  }

  package func pool(
    port: Int? = nil, _ change: (inout PostgresPool.Settings) -> Void = { _ in }
  ) throws -> PostgresPool {
    var settings = PostgresPool.Settings()
    // Long enough for a slow machine. Tests of timeouts set their own.
    (settings.connectTimeout, settings.statementTimeout) = (.seconds(600), .seconds(600))
    change(&settings)
    return PostgresPool(try address(port: port), library: try PostgresLibrary(), settings: settings)
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips the test, and reports that, where there is no server.
  package static var besidePostgres: ConditionTrait {
    .enabled(if: PostgresServer.isInstalled, PostgresServer.absence)
  }
}
