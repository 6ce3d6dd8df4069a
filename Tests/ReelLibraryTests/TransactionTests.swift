import Testing

@testable import ReelLibrary

@Suite struct TransactionTests {
  private struct Failure: Error {}

  private func table() throws -> Connection {
    try .inMemory("CREATE TABLE t (n INTEGER UNIQUE) STRICT; INSERT INTO t VALUES (1)")
  }

  private func numbers(_ db: Connection) throws -> [Int] { try db.values("SELECT n FROM t ORDER BY n") }

  @Test func allOrNothing() throws {
    let db = try table()
    let given = try db.transaction(.immediate) {
      #expect(db.isInsideTransaction)
      try db.run("INSERT INTO t VALUES (2)")
      return 7
    }
    #expect(given == 7 && !db.isInsideTransaction)
    #expect(throws: Failure.self) {
      try db.transaction(.deferred) {
        try db.run("INSERT INTO t VALUES (3)")
        throw Failure()
      }
    }
    #expect(try numbers(db) == [1, 2] && !db.isInsideTransaction)
  }

  @Test("a transaction that SQLite itself has rolled back is an error, even if its body ignored that")
  func endedWithin() throws {
    let db = try table()
    #expect(throws: SQLiteError.self) {
      try db.transaction(.immediate) {
        try db.run("INSERT INTO t VALUES (2)")
        try? db.run("INSERT OR ROLLBACK INTO t VALUES (1)")
      }
    }
    #expect(try numbers(db) == [1] && !db.isInsideTransaction)
    try db.transaction(.immediate) { try db.run("INSERT INTO t VALUES (5)") }
  }

  @Test func whatASavepointUndoesIsItsOwn() throws {
    let db = try table()
    try db.execute("BEGIN")
    try db.savepoint { try db.run("INSERT INTO t VALUES (2)") }
    #expect(throws: Failure.self) {
      try db.savepoint {
        try db.run("INSERT INTO t VALUES (3)")
        throw Failure()
      }
    }
    expect(.constraint) {
      try db.savepoint {
        try db.run("INSERT INTO t VALUES (4)")
        try db.run("INSERT INTO t VALUES (1)")
      }
    }
    try db.run("INSERT INTO t VALUES (5)")
    try db.execute("COMMIT")
    #expect(try numbers(db) == [1, 2, 5])
  }

  @Test func referencesAreHeldToWhatIsThere() throws {
    let db = try Connection.inMemory(
      "CREATE TABLE one (id INTEGER PRIMARY KEY); CREATE TABLE many (one INTEGER REFERENCES one (id))")
    expect(.constraint) { try db.run("INSERT INTO many VALUES (1)") }
    // A misspelled name would otherwise be taken for a string.
    expect(.generic) { try db.run("SELECT \"misspelt\" FROM one") }
  }
}
