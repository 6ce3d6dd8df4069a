import FoundationEssentials
import GRDB

// The same few statements run for every file, so each is prepared once for each connection.
extension Database {
  func run(_ sql: String, _ arguments: StatementArguments = []) throws {
    try cachedStatement(sql: sql).execute(arguments: arguments)
  }

  func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
    try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
  }

  func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
    try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
  }

  func number(_ sql: String, _ arguments: StatementArguments = []) throws -> Int64? {
    try Int64.fetchOne(cachedStatement(sql: sql), arguments: arguments)
  }
}

extension Date {
  /// Milliseconds since 1970, as the catalog keeps times.
  var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded(.down)) }

  init(milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }

  /// This moment as the catalog gives it back.
  var wholeMilliseconds: Date { Date(milliseconds: milliseconds) }
}
