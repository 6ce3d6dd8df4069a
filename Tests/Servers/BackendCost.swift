import Foundation
import ReelPostgres
import Testing

/// What a test's database had to do: pages, whose number is the same on every machine, and time, which is reported and
/// not judged.
package struct BackendCost {
  private let pool: PostgresPool
  private let backend: Int

  /// - Parameter pool: has one connection, whose server process does all the work.
  package init(_ pool: PostgresPool) throws {
    self.pool = pool
    backend = try pool.withConnection { connection in
      try connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public")
      return try #require(try connection.value("SELECT pg_backend_pid()", as: Int.self))
    }
  }

  /// The cost of one item.
  package struct PerItem: CustomStringConvertible {
    /// Pages that its statements accessed, in memory or on disk.
    package let pages: Double
    /// Statements that the server executed, including those that begin, set or end something.
    package let statements: Double
    /// In milliseconds, as the client saw it.
    package let elapsed: Double
    /// In milliseconds of processor time of the server process.
    package let server: Double

    package var description: String {
      func text(_ value: Double) -> String { "\((value * 1000).rounded() / 1000)" }
      return
        "\(text(pages)) pages, \(text(statements)) statements, \(text(elapsed)) ms (\(text(server)) of the server's processor)"
    }
  }

  package func each(of count: Int, _ body: () throws -> Void) throws -> PerItem {
    let (before, processor) = (try counted(), try processorTime())
    let time = try ContinuousClock().measure(body)
    let used = (try processorTime() - processor) / Double(count)
    let after = try counted()
    return PerItem(
      pages: Double(after.pages - before.pages) / Double(count),
      // Excludes the two that count them.
      statements: Double(max(0, after.statements - before.statements - 2)) / Double(count),
      elapsed: time / .milliseconds(1) / Double(count),
      server: used)
  }

  private func counted() throws -> (pages: Int, statements: Int) {
    let counted = try pool.withConnection(for: .steps) { connection in
      try connection.row(
        """
        SELECT sum(shared_blks_hit + shared_blks_read)::bigint, sum(calls)::bigint FROM public.pg_stat_statements
          WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        """
      ) { (pages: try $0[0] as Int, statements: try $0[1] as Int) }
    }
    return try #require(counted)
  }

  /// Milliseconds of processor time of the server process (proc(5): ticks, of which there are 100 a second).
  private func processorTime() throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(backend)/stat", encoding: .utf8)
    let fields = try #require(stat.split(separator: ")").last).split(separator: " ")
    return try [11, 12].reduce(0) { $0 + (try #require(Double(fields[$1]))) * 10 }
  }
}
