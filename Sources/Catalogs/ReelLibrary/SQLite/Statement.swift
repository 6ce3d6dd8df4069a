import CSQLite

/// A prepared statement of one connection.
final class Statement {
  let sql: String
  let handle: OpaquePointer
  /// The names of its columns.
  private(set) lazy var columns = (0..<sqlite3_column_count(handle)).map { index in
    sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
  }
  /// Whether its rows are being read, so that it can't be run again meanwhile.
  var isInUse = false

  /// Prepares the statement.
  /// - Throws: also if `sql` is not a statement, or more than one.
  init(_ sql: String, in database: OpaquePointer) throws(SQLiteError) {
    var (text, handle, isWhole) = (sql, OpaquePointer?.none, false)
    let result = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { bytes in
        var rest: UnsafePointer<CChar>?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let result = sqlite3_prepare_v3(
          database, bytes.baseAddress, Int32(bytes.count), flags, &handle, &rest)
        let end = bytes.baseAddress.map { $0 + bytes.count }
        isWhole = rest == end || rest.map { Self.isBlank($0, $0.distance(to: end ?? $0)) } ?? false
        return result
      }
    }
    guard result == SQLITE_OK else { throw SQLiteError(result, of: database, sql: sql) }
    guard let handle, isWhole else {
      sqlite3_finalize(handle)
      throw SQLiteError(.misuse, "not one statement", sql: sql)
    }
    self.sql = sql
    self.handle = handle
  }

  deinit { sqlite3_finalize(handle) }

  private static func isBlank(_ text: UnsafePointer<CChar>, _ count: Int) -> Bool {
    UnsafeBufferPointer(start: text, count: count).allSatisfy { [0x20, 0x0A, 0x0D, 0x09].contains($0) }
  }

  /// Binds a value to each `?`.
  func bind(_ values: [any SQLiteValue]) throws(SQLiteError) {
    guard values.count == Int(sqlite3_bind_parameter_count(handle)) else {
      throw SQLiteError(.misuse, "\(values.count) values for another number of parameters", sql: sql)
    }
    for (index, value) in values.enumerated() { try bind(value, at: Int32(index) + 1) }
  }

  /// Binds a value to each `:name`.
  func bind(_ values: [String: any SQLiteValue]) throws(SQLiteError) {
    guard values.count == Int(sqlite3_bind_parameter_count(handle)) else {
      throw SQLiteError(.misuse, "\(values.count) values for another number of parameters", sql: sql)
    }
    // A name that the statement does not have gets the index 0, which is out of range.
    for (name, value) in values { try bind(value, at: sqlite3_bind_parameter_index(handle, ":" + name)) }
  }

  private func bind(_ value: any SQLiteValue, at index: Int32) throws(SQLiteError) {
    let result = value.bind(to: handle, at: index)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: sqlite3_db_handle(handle), sql: sql) }
  }

  /// Goes to the next row; returns false if there is none.
  func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let result: throw SQLiteError(result, of: sqlite3_db_handle(handle), sql: sql)
    }
  }

  /// Ends the execution, so that it holds no lock and no values.
  func reset() {
    // This returns the error of the last step, which has already been thrown.
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }
}

extension Connection {
  /// Runs one statement, with a value for each `?` of it.
  package func run(_ sql: String, _ values: [any SQLiteValue] = []) throws {
    try withStatement(sql) { statement in
      try statement.bind(values)
      while try statement.step() {}
    }
  }

  /// Runs one statement, with a value for each `:name` of it.
  package func run(_ sql: String, named values: [String: any SQLiteValue]) throws {
    try withStatement(sql) { statement in
      try statement.bind(values)
      while try statement.step() {}
    }
  }

  /// Runs statements that take no values, one after the other; their rows are ignored.
  package func execute(_ script: String) throws(SQLiteError) {
    let result = sqlite3_exec(try handle, script, nil, nil, nil)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: try handle, sql: script) }
  }

  /// Returns the first non-nil result of `read` for a row; nil if there is none.
  package func row<Value>(
    _ sql: String, _ values: [any SQLiteValue] = [], _ read: (Row) throws -> Value?
  ) throws -> Value? {
    try withStatement(sql) { statement in
      try statement.bind(values)
      while try statement.step() {
        if let value = try read(Row(of: statement)) { return value }
      }
      return nil
    }
  }

  /// Returns what `read` makes of each row. It must not change what the statement reads.
  package func rows<Value>(
    _ sql: String, _ values: [any SQLiteValue] = [], _ read: (Row) throws -> Value
  ) throws -> [Value] {
    try withStatement(sql) { statement in
      try statement.bind(values)
      var found: [Value] = []
      while try statement.step() { found.append(try read(Row(of: statement))) }
      return found
    }
  }

  /// Returns the first column of the first row; nil if there is no row.
  package func value<Value: SQLiteValue>(
    _ sql: String, _ values: [any SQLiteValue] = [], as type: Value.Type = Value.self
  ) throws -> Value? {
    try row(sql, values) { row in try row[0] as Value }
  }

  package func number(_ sql: String, _ values: [any SQLiteValue] = []) throws -> Int64? {
    try value(sql, values)
  }

  /// Returns the first column of each row.
  package func values<Value: SQLiteValue>(
    _ sql: String, _ values: [any SQLiteValue] = [], as type: Value.Type = Value.self
  ) throws -> [Value] {
    try rows(sql, values) { row in try row[0] }
  }
}

/// The current row of a statement. It must not be used after the closure that it was passed to.
package struct Row {
  private let statement: Statement

  init(of statement: Statement) {
    self.statement = statement
  }

  /// The value of the column with that name.
  /// - Throws: `mismatch` if it is of another type, or NULL where no optional was requested;
  ///   `misuse` if there is no such column.
  package subscript<Value: SQLiteValue>(_ column: String) -> Value {
    get throws(SQLiteError) {
      // There are few columns, so a search is quicker than hashing the name.
      guard let index = statement.columns.firstIndex(of: column) else {
        throw SQLiteError(.misuse, "there is no column \(column)", sql: statement.sql)
      }
      return try self[index]
    }
  }

  /// The value of the column with that index, from 0.
  /// - Throws: as for a name.
  package subscript<Value: SQLiteValue>(_ index: Int) -> Value {
    get throws(SQLiteError) {
      guard (0..<Int(sqlite3_data_count(statement.handle))).contains(index) else {
        throw SQLiteError(.misuse, "there is no row, or no column \(index)", sql: statement.sql)
      }
      guard let value = Value.column(Int32(index), of: statement.handle) else {
        throw SQLiteError(
          .mismatch, "the column \(statement.columns[index]) holds another type than \(Value.self)",
          sql: statement.sql)
      }
      return value
    }
  }
}
