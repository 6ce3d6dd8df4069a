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
