import Testing

@testable import ReelLibrary

@Suite struct StatementTests {
  private func table() throws -> Connection {
    try .inMemory(
      "CREATE TABLE t (n INTEGER UNIQUE CHECK (n > 0)) STRICT; INSERT INTO t VALUES (1), (2), (3)")
  }

  @Test func rowsComeInOrderAndOnce() throws {
    let db = try table()
    #expect(try db.values("SELECT n FROM t ORDER BY n") == [1, 2, 3])
    #expect(
      try db.rows("SELECT n, n * n AS square FROM t WHERE n > ? ORDER BY n", [1]) { try $0["square"] } == [
        4, 9,
      ])
    #expect(try db.values("SELECT n FROM t WHERE n > 9") == [Int]())
    #expect(try db.value("SELECT n FROM t ORDER BY n DESC") == 3)
    #expect(try db.row("SELECT n FROM t WHERE n > 9") { try $0[0] as Int } == nil)
    #expect(try db.number("SELECT n FROM t WHERE n > 9") == nil)
    let none = try db.value("SELECT max(n) FROM t WHERE n > 9", as: Int?.self)
    #expect(none == .some(nil), "a row, and NULL in it")
    expect(.mismatch) { try db.number("SELECT max(n) FROM t WHERE n > 9") }
  }

  @Test("rows mapped to nil are skipped, and nothing is read after the first result")
  func theFirstThatIsWanted() throws {
    let db = try table()
    var read: [Int] = []
    let found = try db.row("SELECT n FROM t ORDER BY n") { row -> Int? in
      read.append(try row[0])
      return read.last == 2 ? 20 : nil
    }
    #expect(found == 20 && read == [1, 2])
  }

  @Test func whatIsGivenBackByAChangeIsChanged() throws {
    let db = try table()
    #expect(try db.value("UPDATE t SET n = n + 10 RETURNING n") == 11)
    #expect(try db.values("SELECT n FROM t ORDER BY n") == [11, 12, 13])
    #expect(db.changeCount == 3)
    try db.run("INSERT INTO t (rowid, n) VALUES (77, 5)")
    #expect(db.lastInsertedRowID == 77)
  }

  @Test func valuesMayHaveNames() throws {
    let db = try table()
    try db.run("UPDATE t SET n = :new WHERE n = :old OR :old IS NULL", named: ["old": 3, "new": 30])
    #expect(try db.values("SELECT n FROM t ORDER BY n") == [1, 2, 30])
    expect(.misuse) { try db.run("DELETE FROM t WHERE n = :n", named: ["n": 1, "m": 1]) }
    #expect(throws: SQLiteError.self) { try db.run("DELETE FROM t WHERE n = :n", named: ["m": 1]) }
  }

  @Test("too few or too many values are an error", arguments: [[], [1], [1, 2, 3]])
  func count(values: [Int]) throws {
    expect(.misuse) { try table().run("DELETE FROM t WHERE n IN (?, ?)", values) }
  }

  @Test(arguments: ["", " ", "-- nothing", "SELECT 1; SELECT 2", "DELETE FROM t; DROP TABLE t"])
  func onlyOneStatementIsTaken(sql: String) throws {
    let db = try table()
    expect(.misuse) { try db.run(sql) }
    #expect(try db.number("SELECT count(*) FROM t") == 3)
  }

  @Test func aScriptMayHaveMany() throws {
    let db = try table()
    try db.execute("DELETE FROM t WHERE n = 1; SELECT n FROM t; -- and so on\nDELETE FROM t WHERE n = 2;\n")
    #expect(try db.values("SELECT n FROM t") == [3])
    #expect(throws: SQLiteError.self) { try db.execute("DELETE FROM t; nonsense") }
  }

  @Test func theSameStatementMayRunWithinItself() throws {
    let db = try table()
    let sql = "SELECT n FROM t WHERE n >= ? ORDER BY n"
    let pairs = try db.rows(sql, [1]) { row in
      let n: Int = try row[0]
      return try db.values(sql, [n], as: Int.self)
    }
    #expect(pairs == [[1, 2, 3], [2, 3], [3]])
    #expect(try db.values(sql, [3]) == [3])
  }

  @Test func aStatementOutlivesAChangeOfTheTables() throws {
    let db = try table()
    let sql = "SELECT n FROM t WHERE n = ?"
    #expect(try db.value(sql, [1]) == 1)
    try db.execute("ALTER TABLE t ADD COLUMN m INTEGER; CREATE INDEX byM ON t (m, n)")
    #expect(try db.value(sql, [1]) == 1)
  }

  @Test func anErrorSaysWhatAndWhere() throws {
    let db = try table()
    let unknown = expect(.generic) { try db.run("SELECT missing FROM t") }
    #expect(unknown?.message == "no such column: missing")
    #expect(unknown?.sql == "SELECT missing FROM t")
    let sql = "INSERT INTO t VALUES (?)"
    let twice = expect(.constraint) { try db.run(sql, [1]) }
    #expect(twice?.isUniqueViolation == true && twice?.message == "UNIQUE constraint failed: t.n")
    #expect("\(try #require(twice))" == "SQLite error 2067: UNIQUE constraint failed: t.n (\(sql))")
    let negative = expect(.constraint) { try db.run(sql, [-1]) }
    #expect(negative?.isUniqueViolation == false)
    try db.run(sql, [4])
  }
}
