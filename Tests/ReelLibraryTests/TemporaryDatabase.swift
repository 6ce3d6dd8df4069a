import Glibc
import Testing

@testable import ReelLibrary

/// A folder for a database, removed when the test releases it.
final class TemporaryDatabase: Sendable {
  let folder: String
  let path: String

  init(name: String = "a.sqlite") throws {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/reel-sqlite-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
    }
    folder = try #require(made)
    path = folder + "/" + name
  }

  deinit {
    for ending in ["", "-wal", "-shm", "-journal"] { unlink(path + ending) }
    rmdir(folder)
  }

  func isThere(_ ending: String = "") -> Bool { access(path + ending, F_OK) == 0 }

  /// Creates the database with a write-ahead log and a table `t (n)` that has the numbers 1 to 3.
  func filled(checkpoints: CheckpointRule = .ofThisProcess) throws -> Connection {
    let connection = try Connection(path, checkpoints: checkpoints)
    try connection.execute(
      """
      PRAGMA journal_mode = WAL;
      CREATE TABLE t (n INTEGER) STRICT;
      INSERT INTO t VALUES (1), (2), (3);
      """)
    return connection
  }

  /// Creates that database, and opens it with one writing connection and `readers` reading ones.
  func database(readers: Int) throws -> Database {
    let path = path
    return Database(writer: try filled(), readers: readers) { try Connection(path, .readOnly) }
  }
}

extension Connection {
  static func inMemory(_ script: String = "") throws -> Connection {
    let connection = try Connection(":memory:")
    try connection.execute(script)
    return connection
  }
}

/// Expects `body` to fail with `code`.
@discardableResult
func expect<Value>(
  _ code: SQLiteError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Value
) -> SQLiteError? {
  let error = #expect(throws: SQLiteError.self, sourceLocation: sourceLocation) { _ = try body() }
  #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
  return error
}
