import Foundation
import ReelPostgres
import Testing

/// What is asked of a test's database: pages, which are the same on every machine, and time, which is told and not judged.
package struct BackendCost {
  private let pool: PostgresPool
  private let backend: Int

  /// - Parameter pool: of one connection, whose server process does all the work.
  package init(_ pool: PostgresPool) throws {
    self.pool = pool
    backend = try pool.withConnection { connection in
      try connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
      return try #require(try connection.value("SELECT pg_backend_pid()", as: Int.self))
    }
  }

  /// For each item.
  package struct PerItem: CustomStringConvertible {
    /// Pages that its statements looked at or wrote, in memory or on disk.
    package let pages: Double
    /// In milliseconds, as the client saw it.
    package let elapsed: Double
    /// In milliseconds, of the processor of the server's process.
    package let server: Double

    package var description: String {
      func text(_ value: Double) -> String { "\((value * 1000).rounded() / 1000)" }
      return "\(text(pages)) pages, \(text(elapsed)) ms (\(text(server)) of the server's processor)"
    }
  }

  package func each(of count: Int, _ body: () throws -> Void) throws -> PerItem {
    let (pages, processor) = (try pagesTouched(), try processorTime())
    let time = try ContinuousClock().measure(body)
    return PerItem(
      pages: Double(try pagesTouched() - pages) / Double(count),
      elapsed: time / .milliseconds(1) / Double(count),
      server: (try processorTime() - processor) / Double(count))
  }

  private func pagesTouched() throws -> Int {
    let pages = try pool.withConnection { connection in
      try connection.value(
        """
        SELECT sum(shared_blks_hit + shared_blks_read)::bigint FROM pg_stat_statements
          WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        """, as: Int.self)
    }
    return try #require(pages)
  }

  /// Milliseconds that the server's process has had of the processor (proc(5): ticks, of which there are 100 a second).
  private func processorTime() throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(backend)/stat", encoding: .utf8)
    let fields = try #require(stat.split(separator: ")").last).split(separator: " ")
    return try [11, 12].reduce(0) { $0 + (try #require(Double(fields[$1]))) * 10 }
  }
}
