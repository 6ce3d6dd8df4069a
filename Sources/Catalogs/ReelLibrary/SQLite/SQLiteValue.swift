import CSQLite

/// A value that a statement can be given and a column can hold. A column returns only a value of exactly the requested
/// type: nothing is converted.
package protocol SQLiteValue: Sendable {
  /// - Parameter index: from 1.
  /// - Returns: SQLite's result code.
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32

  /// Returns the value of a column; nil if it is of another type.
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

/// Stored as 0 or 1.
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

/// Stored as UTF-8; invalid bytes are repaired when it is read.
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

/// Stored as a blob.
extension [UInt8]: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withUnsafeBytes { reel_sqlite_bind_blob(statement, index, $0.baseAddress, UInt64($0.count)) }
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> [UInt8]? {
    guard sqlite3_column_type(statement, index) == SQLITE_BLOB else { return nil }
    // There is no address if there are no bytes.
    let bytes = sqlite3_column_blob(statement, index)
    return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, index))))
  }
}

/// Nil is stored as NULL.
extension Optional: SQLiteValue where Wrapped: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    self?.bind(to: statement, at: index) ?? sqlite3_bind_null(statement, index)
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> Wrapped?? {
    if sqlite3_column_type(statement, index) == SQLITE_NULL { return .some(.none) }
    return Wrapped.column(index, of: statement).map(Optional.some)
  }
}

/// An error of SQLite, or a row that does not hold what was expected.
package struct SQLiteError: Error, Equatable {
  /// The primary result codes that are checked for (https://www.sqlite.org/rescode.html).
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
    /// A value of another type than the one that was requested.
    package static let mismatch = Code(rawValue: SQLITE_MISMATCH)
    /// The call was a mistake: for example, the connection is closed, or there is no such column.
    package static let misuse = Code(rawValue: SQLITE_MISUSE)
    package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
  }

  package let code: Code
  /// The extended result code, which says more precisely what happened.
  package let extendedCode: Int32
  /// The `errno` of the file operation that failed, if one did; SQLite may report that of another call.
  let systemCode: Int32
  /// The error in SQLite's own words.
  package let message: String
  /// The statement that failed; nil if it was not a statement.
  package let sql: String?
  /// Whether SQLite reported it, and not the code that read or wrote a row.
  let isOfDatabase: Bool

  /// - Parameter message: nil for SQLite's text for the code.
  package init(_ code: Code, _ message: String? = nil, sql: String? = nil) {
    self.init(
      extendedCode: code.rawValue, message ?? String(cString: sqlite3_errstr(code.rawValue)), sql: sql,
      isOfDatabase: false)
  }

  /// Whether a row with the same key already exists.
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

  /// Creates an error from what `database` reports about its last call, which returned `result`.
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
