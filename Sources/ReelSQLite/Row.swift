/// The row that a statement stands on. It can't be kept: the next step makes another of it.
package struct Row: ~Copyable {
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
      guard statement.columns.indices.contains(index) else {
        throw SQLiteError(.misuse, "there is no column \(index)", sql: statement.sql)
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
