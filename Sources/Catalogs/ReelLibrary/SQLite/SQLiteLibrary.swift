import CSQLite

/// The SQLite library that a process runs with.
package struct SQLiteLibrary: Hashable, Sendable {
  /// As SQLite counts: 3,040,001 is 3.40.1.
  let number: Int32

  package static let ofThisProcess = SQLiteLibrary(number: sqlite3_libversion_number())

  package init(number: Int32) { self.number = number }

  /// Such as `3.40.1`.
  package var version: String { "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)" }

  /// What is known of the WAL-reset bug (https://www.sqlite.org/wal.html#walresetbug): a checkpoint beside a commit of
  /// another connection that begins the log anew takes frames of the new log for ones that are in the database already,
  /// and so loses what was committed.
  package enum WALResetBug: String, Codable, Sendable {
    /// It can happen. A distributor may have mended it under the same number, which can't be told.
    case affected
    /// It can't.
    case fixed
  }

  package var walResetBug: WALResetBug {
    switch number {
    case 3_044_006..<3_045_000, 3_050_007..<3_051_000, 3_051_003...: .fixed
    default: .affected
    }
  }
}
