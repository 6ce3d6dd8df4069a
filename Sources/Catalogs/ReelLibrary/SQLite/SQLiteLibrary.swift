import CSQLite

/// The SQLite library that a process runs with.
package struct SQLiteLibrary: Hashable, Sendable {
  /// SQLite's version number: 3,040,001 is 3.40.1.
  let number: Int32

  package static let ofThisProcess = SQLiteLibrary(number: sqlite3_libversion_number())

  package init(number: Int32) { self.number = number }

  /// The version as text, such as `3.40.1`.
  package var version: String { "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)" }

  /// Whether the library has the WAL-reset bug (https://www.sqlite.org/wal.html#walresetbug): a checkpoint during a
  /// commit of another connection that restarts the log takes frames of the new log for ones that are already in the
  /// database, and so loses what was committed.
  package enum WALResetBug: String, Codable, Sendable {
    /// The bug can occur. A distributor may have fixed it under the same version number, which can't be found out.
    case affected
    /// The bug can't occur.
    case fixed
  }

  package var walResetBug: WALResetBug {
    switch number {
    case 3_044_006..<3_045_000, 3_050_007..<3_051_000, 3_051_003...: .fixed
    default: .affected
    }
  }
}
