import Testing

@testable import ReelLibrary

@Suite struct ValueTests {
  private func expectReturned<Value: SQLiteValue & Equatable>(_ value: Value, as type: String) throws {
    let connection = try Connection.inMemory()
    let found = try connection.row("SELECT ? AS x, typeof(?)", [value, value]) { row in
      (try row["x"] as Value, try row[1] as String)
    }
    #expect(found?.0 == value && found?.1 == type, "\(value)")
  }

  @Test func whatIsGivenComesBack() throws {
    for number in [0, 1, -1, Int64.max, .min] { try expectReturned(number, as: "integer") }
    for number in [0, Int.max, .min] { try expectReturned(number, as: "integer") }
    for isSo in [true, false] { try expectReturned(isSo, as: "integer") }
    for number in [0, -0.5, .pi, .infinity, Double.leastNonzeroMagnitude] {
      try expectReturned(number, as: "real")
    }
    for text in ["", "a", "Grüße 👩‍👩‍👧", "with\0a NUL", String(repeating: "long ", count: 10_000)] {
      try expectReturned(text, as: "text")
    }
    for bytes in [[], [0], [1, 0, 255], [UInt8](repeating: 7, count: 100_000)] {
      try expectReturned(bytes, as: "blob")
    }
    try expectReturned(Int64?.none, as: "null")
    try expectReturned([UInt8]?.some([]), as: "blob")
    try expectReturned(String?.some("x"), as: "text")
  }

  @Test("a value of another type is an error and is never converted")
  func mismatch() throws {
    let connection = try Connection.inMemory()
    func expectNone<Value: SQLiteValue>(_ type: Value.Type, of expressions: String...) {
      for sql in expressions {
        let error = expect(.mismatch) {
          try connection.row("SELECT \(sql) AS x") { row in try row["x"] as Value }
        }
        #expect(error?.message.contains("column x") == true && error?.sql == "SELECT \(sql) AS x")
      }
    }
    expectNone(Int64.self, of: "NULL", "'1'", "1.0", "x'01'")
    expectNone(Int?.self, of: "'1'", "1.0", "x'01'")
    expectNone(Bool.self, of: "NULL", "2", "-1", "'true'", "1.0")
    expectNone(Double.self, of: "NULL", "1", "'1.0'")
    expectNone(String.self, of: "NULL", "1", "x'61'")
    expectNone(String?.self, of: "1", "x'61'")
    expectNone([UInt8].self, of: "NULL", "'a'", "1")
  }

  @Test func textThatIsNoUTF8IsRepaired() throws {
    let connection = try Connection.inMemory()
    #expect(try connection.value("SELECT CAST(x'61FF62' AS TEXT)") == "a\u{FFFD}b")
  }

  @Test func aColumnThatThereIsNotIsAMistake() throws {
    let connection = try Connection.inMemory()
    let kept = try connection.row("SELECT 1 AS x") { row in row }
    expect(.misuse) { try kept?["x"] as Int? }
    expect(.misuse) { try connection.row("SELECT 1 AS x") { row in try row["y"] as Int } }
    for index in [-1, 1] {
      expect(.misuse) { try connection.row("SELECT 1") { row in try row[index] as Int } }
    }
  }
}
