import CSQLite

/// What SQLite could not do, or that a row does not hold what was expected.
package struct SQLiteError: Error, Equatable {
  /// The primary result codes that somebody asks for (https://www.sqlite.org/rescode.html).
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let generic = Code(rawValue: SQLITE_ERROR)
    package static let busy = Code(rawValue: SQLITE_BUSY)
    package static let locked = Code(rawValue: SQLITE_LOCKED)
    package static let readOnly = Code(rawValue: SQLITE_READONLY)
    package static let interrupted = Code(rawValue: SQLITE_INTERRUPT)
    package static let inputOutput = Code(rawValue: SQLITE_IOERR)
    package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
    package static let full = Code(rawValue: SQLITE_FULL)
    package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
    package static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
    /// A value of another type than the one that was asked for.
    package static let mismatch = Code(rawValue: SQLITE_MISMATCH)
    /// The call was a mistake: a connection that is closed, a column that there is not.
    package static let misuse = Code(rawValue: SQLITE_MISUSE)
    package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
  }

  package let code: Code
  /// `code`, and more precisely what it was.
  package let extendedCode: Int32
  /// SQLite's own words for it.
  package let message: String
  /// The statement that failed; nil for what was not a statement.
  package let sql: String?

  /// - Parameter message: nil for SQLite's words for the code.
  package init(_ code: Code, _ message: String? = nil, sql: String? = nil) {
    self.init(
      extendedCode: code.rawValue, message ?? String(cString: sqlite3_errstr(code.rawValue)), sql: sql)
  }

  /// Whether a row of the same key is there already.
  package var isUniqueViolation: Bool { extendedCode == reel_sqlite_constraint_unique }

  private init(extendedCode: Int32, _ message: String, sql: String?) {
    code = Code(rawValue: extendedCode & 0xFF)
    self.extendedCode = extendedCode
    self.message = message
    self.sql = sql
  }

  /// What `database` says of its last call, which gave `result`.
  init(_ result: Int32, of database: OpaquePointer?, sql: String? = nil) {
    let isTold = database != nil && sqlite3_extended_errcode(database) & 0xFF == result & 0xFF
    self.init(
      extendedCode: isTold ? sqlite3_extended_errcode(database) : result,
      String(cString: isTold ? sqlite3_errmsg(database) : sqlite3_errstr(result)), sql: sql)
  }
}

extension SQLiteError: CustomStringConvertible {
  package var description: String {
    "SQLite error \(extendedCode): \(message)" + (sql.map { " (\($0))" } ?? "")
  }
}
