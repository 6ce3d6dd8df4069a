import CSQLite

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

  /// The same for an integer.
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
