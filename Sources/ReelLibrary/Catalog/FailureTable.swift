import FoundationEssentials
import ReelCore

/// Files that were not published, by path.
enum FailureTable {
  /// Remembers the path's failure in place of an older one, or (nil) forgets it.
  static func put(_ failure: FailureRecord?, at path: SourcePath, in db: Connection) throws {
    guard let failure else {
      try db.run("DELETE FROM failure WHERE path = ?", [path.bytes])
      return
    }
    try db.run(
      "INSERT OR REPLACE INTO failure (path, code, message, refused, at) VALUES (?, ?, ?, ?, ?)",
      [path.bytes, failure.code, failure.message, failure.refused, failure.at.milliseconds])
  }

  /// The code of what is remembered of the path.
  static func code(at path: SourcePath, in db: Connection) throws -> String? {
    try db.value("SELECT code FROM failure WHERE path = ?", [path.bytes])
  }

  static func newest(_ limit: Int, in db: Connection) throws -> [(path: SourcePath, failure: FailureRecord)] {
    try db.rows(
      "SELECT path, code, message, refused, at FROM failure ORDER BY at DESC, path LIMIT ?", [limit]
    ) { row in
      let failure = FailureRecord(
        code: try row["code"], message: try row["message"], refused: try row["refused"],
        at: Date(milliseconds: try row["at"]))
      return (path: SourcePath(bytes: try row["path"] as [UInt8]), failure: failure)
    }
  }
}
