import CSQLite

/// What a statement can be given and a column can hold. A column gives a value of exactly the type that is asked for:
/// it converts nothing.
package protocol SQLiteValue: Sendable {
  /// - Parameter index: from 1.
  /// - Returns: SQLite's result code.
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32

  /// The value of a column; nil when it is of another type.
  /// - Parameter index: from 0.
  static func column(_ index: Int32, of statement: OpaquePointer) -> Self?
}

extension Int64: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    sqlite3_bind_int64(statement, index, self)
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> Int64? {
    guard sqlite3_column_type(statement, index) == SQLITE_INTEGER else { return nil }
    return sqlite3_column_int64(statement, index)
  }
}

extension Int: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    Int64(self).bind(to: statement, at: index)
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> Int? {
    Int64.column(index, of: statement).flatMap(Int.init(exactly:))
  }
}

/// 0 or 1.
extension Bool: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    sqlite3_bind_int64(statement, index, self ? 1 : 0)
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> Bool? {
    switch Int64.column(index, of: statement) {
    case 0: false
    case 1: true
    default: nil
    }
  }
}

extension Double: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    sqlite3_bind_double(statement, index, self)
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> Double? {
    guard sqlite3_column_type(statement, index) == SQLITE_FLOAT else { return nil }
    return sqlite3_column_double(statement, index)
  }
}

/// UTF-8; what is none is repaired when it is read.
extension String: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    var text = self
    return text.withUTF8 { bytes in
      reel_sqlite_bind_text(statement, index, bytes.baseAddress, UInt64(bytes.count))
    }
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> String? {
    guard sqlite3_column_type(statement, index) == SQLITE_TEXT,
      let bytes = sqlite3_column_text(statement, index)
    else { return nil }
    let count = Int(sqlite3_column_bytes(statement, index))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}

/// A blob.
extension [UInt8]: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withUnsafeBytes { reel_sqlite_bind_blob(statement, index, $0.baseAddress, UInt64($0.count)) }
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> [UInt8]? {
    guard sqlite3_column_type(statement, index) == SQLITE_BLOB else { return nil }
    // No address when there are no bytes.
    let bytes = sqlite3_column_blob(statement, index)
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, index))))
  }
}

/// Nil is NULL.
extension Optional: SQLiteValue where Wrapped: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    self?.bind(to: statement, at: index) ?? sqlite3_bind_null(statement, index)
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> Wrapped?? {
    if sqlite3_column_type(statement, index) == SQLITE_NULL { return .some(.none) }
    return Wrapped.column(index, of: statement).map(Optional.some)
  }
}

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
  /// The `errno` of the call on a file that failed, if one did; what SQLite remembers of it may be another call's.
  let systemCode: Int32
  /// SQLite's own words for it.
  package let message: String
  /// The statement that failed; nil for what was not a statement.
  package let sql: String?
  /// Whether SQLite said it, and not who read or wrote a row.
  let isOfDatabase: Bool

  /// - Parameter message: nil for SQLite's words for the code.
  package init(_ code: Code, _ message: String? = nil, sql: String? = nil) {
    self.init(
      extendedCode: code.rawValue, message ?? String(cString: sqlite3_errstr(code.rawValue)), sql: sql,
      isOfDatabase: false)
  }

  /// Whether a row of the same key is there already.
  package var isUniqueViolation: Bool { extendedCode == reel_sqlite_constraint_unique }

  private init(
    extendedCode: Int32, systemCode: Int32 = 0, _ message: String, sql: String?, isOfDatabase: Bool
  ) {
    code = Code(rawValue: extendedCode & 0xFF)
    self.extendedCode = extendedCode
    self.systemCode = systemCode
    self.message = message
    self.sql = sql
    self.isOfDatabase = isOfDatabase
  }

  /// What `database` says of its last call, which gave `result`.
  init(_ result: Int32, of database: OpaquePointer?, sql: String? = nil) {
    let isTold = database != nil && sqlite3_extended_errcode(database) & 0xFF == result & 0xFF
    self.init(
      extendedCode: isTold ? sqlite3_extended_errcode(database) : result,
      systemCode: isTold ? sqlite3_system_errno(database) : 0,
      String(cString: isTold ? sqlite3_errmsg(database) : sqlite3_errstr(result)), sql: sql,
      isOfDatabase: true)
  }
}

extension SQLiteError: CustomStringConvertible {
  package var description: String {
    "SQLite error \(extendedCode): \(message)" + (sql.map { " (\($0))" } ?? "")
  }
}
