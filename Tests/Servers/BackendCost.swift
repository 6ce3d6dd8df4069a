import Foundation
import ReelPostgres
import Testing

/// What is asked of the database, by the client's clock and by the processor's time in the one server process that does it,
/// which other work on this machine leaves as it is.
package struct BackendCost {
  private let backend: Int

  /// - Parameter pool: of one connection.
  package init(_ pool: PostgresPool) throws {
    backend = try #require(
      try pool.withConnection { try $0.value("SELECT pg_backend_pid()", as: Int.self) })
  }

  /// Milliseconds for each item.
  package struct Milliseconds: CustomStringConvertible {
    package let elapsed: Double
    package let server: Double

    package var description: String {
      func text(_ value: Double) -> String { "\((value * 1000).rounded() / 1000) ms" }
      return "\(text(elapsed)) (\(text(server)) of the server's processor)"
    }
  }

  package func each(of count: Int, _ body: () throws -> Void) throws -> Milliseconds {
    let before = try processorTime()
    let time = try ContinuousClock().measure(body)
    return Milliseconds(
      elapsed: time / .milliseconds(1) / Double(count),
      server: (try processorTime() - before) / Double(count))
  }

  /// Milliseconds that the server's process has had of the processor (proc(5): ticks, of which there are 100 a second).
  private func processorTime() throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(backend)/stat", encoding: .utf8)
    let fields = try #require(stat.split(separator: ")").last).split(separator: " ")
    return try [11, 12].reduce(0) { $0 + (try #require(Double(fields[$1]))) * 10 }
  }
}
