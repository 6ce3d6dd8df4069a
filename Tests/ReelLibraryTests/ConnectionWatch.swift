import CSQLite
import Synchronization

@testable import ReelLibrary

/// What SQLite itself reports about a connection.
enum ConnectionWatch {
  /// Returns SQLite's query plan for `sql`, one line per step. Its parameters have no values.
  static func plan(of sql: String, in db: Connection) throws -> [String] {
    let plan = try Statement("EXPLAIN QUERY PLAN " + sql, in: db.handle)
    var steps: [String] = []
    while try plan.step() { steps.append(try Row(of: plan)["detail"]) }
    return steps
  }
}

/// Counts commits.
final class Commits: Sendable {
  private let counted = Mutex(0)
  var count: Int { counted.withLock { $0 } }

  /// Counts the commits on `db`, which must not commit after this object is gone.
  func count(of db: Connection) throws {
    sqlite3_commit_hook(
      try db.handle,
      { context in
        guard let context else { return 0 }
        Unmanaged<Commits>.fromOpaque(context).takeUnretainedValue().counted.withLock { $0 += 1 }
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}

/// The text of the statements that ran, without their values.
final class StatementLog {
  private(set) var statements: Set<String> = []

  func follow(_ db: Connection) throws {
    sqlite3_trace_v2(
      try db.handle, UInt32(SQLITE_TRACE_STMT),
      { _, context, _, text in
        guard let context, let text else { return 0 }
        let sql = String(cString: text.assumingMemoryBound(to: CChar.self))
        // SQLite reports a trigger that it runs in this form.
        if !sql.hasPrefix("--") {
          Unmanaged<StatementLog>.fromOpaque(context).takeUnretainedValue().statements.insert(sql)
        }
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func unfollow(_ db: Connection) throws {
    sqlite3_trace_v2(try db.handle, 0, nil, nil)
  }
}
