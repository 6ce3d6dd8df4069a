import CSQLite

/// A prepared statement of one connection.
final class Statement {
  let sql: String
  let handle: OpaquePointer
  /// The names of its columns.
  private(set) lazy var columns = (0..<sqlite3_column_count(handle)).map { index in
    sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
  }
  /// Whether somebody reads its rows, so that it can't be run by another.
  var isInUse = false

  /// - Throws: also when `sql` is not a statement, or more than one.
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

  /// Gives it a value for each `?`.
  func bind(_ values: [any SQLiteValue]) throws(SQLiteError) {
    guard values.count == Int(sqlite3_bind_parameter_count(handle)) else {
      throw SQLiteError(.misuse, "\(values.count) values for another number of parameters", sql: sql)
    }
    for (index, value) in values.enumerated() { try bind(value, at: Int32(index) + 1) }
  }

  /// Gives it a value for each `:name`.
  func bind(_ values: [String: any SQLiteValue]) throws(SQLiteError) {
    guard values.count == Int(sqlite3_bind_parameter_count(handle)) else {
      throw SQLiteError(.misuse, "\(values.count) values for another number of parameters", sql: sql)
    }
    // One that there is not has the index 0, which is out of range.
    for (name, value) in values { try bind(value, at: sqlite3_bind_parameter_index(handle, ":" + name)) }
  }

  private func bind(_ value: any SQLiteValue, at index: Int32) throws(SQLiteError) {
    let result = value.bind(to: handle, at: index)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: sqlite3_db_handle(handle), sql: sql) }
  }

  /// Goes to the next row; false when there is none.
  func step() throws(SQLiteError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let result: throw SQLiteError(result, of: sqlite3_db_handle(handle), sql: sql)
    }
  }

  /// Ends it, so that it holds no lock and no value.
  func reset() {
    // Gives what the last step gave, which has been told.
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

  /// Runs statements that take no values, one after the other; what they give is passed over.
  package func execute(_ script: String) throws(SQLiteError) {
    let result = sqlite3_exec(try handle, script, nil, nil, nil)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: try handle, sql: script) }
  }

  /// What `read` makes of the first row of which it makes something; nil when there is none.
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

  /// What `read` makes of each row. It must not change what the statement reads.
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

  /// The first column of the first row; nil when there is none.
  package func value<Value: SQLiteValue>(
    _ sql: String, _ values: [any SQLiteValue] = [], as type: Value.Type = Value.self
  ) throws -> Value? {
    try row(sql, values) { row in try row[0] as Value }
  }

  package func number(_ sql: String, _ values: [any SQLiteValue] = []) throws -> Int64? {
    try value(sql, values)
  }

  /// The first column of each row.
  package func values<Value: SQLiteValue>(
    _ sql: String, _ values: [any SQLiteValue] = [], as type: Value.Type = Value.self
  ) throws -> [Value] {
    try rows(sql, values) { row in try row[0] }
  }
}

/// The row that a statement stands on. It is of no use after the closure that is given it.
package struct Row {
  private let statement: Statement

  init(of statement: Statement) {
    self.statement = statement
  }

  /// The value of the column with that name.
  /// - Throws: `mismatch` when it is of another type, or NULL where no optional was asked for; `misuse` when there is
  ///   no such column.
  package subscript<Value: SQLiteValue>(_ column: String) -> Value {
    get throws(SQLiteError) {
      // Columns are few: looking for one is quicker than hashing its name.
      guard let index = statement.columns.firstIndex(of: column) else {
        throw SQLiteError(.misuse, "there is no column \(column)", sql: statement.sql)
      }
      return try self[index]
    }
  }

  /// The value of the column with that number, from 0.
  /// - Throws: as by name.
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
