import CSQLite

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
