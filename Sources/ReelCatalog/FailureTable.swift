import FoundationEssentials
import GRDB
import ReelModel

/// Files that were not published, by path.
enum FailureTable {
  /// Remembers the path's failure in place of an older one, or (nil) forgets it.
  static func put(_ failure: FailureRecord?, at path: SourcePath, in db: Database) throws {
    guard let failure else {
      try db.run("DELETE FROM failure WHERE path = ?", [Data(path.bytes)])
      return
    }
    try db.run(
      "INSERT OR REPLACE INTO failure (path, code, message, refused, at) VALUES (?, ?, ?, ?, ?)",
      [Data(path.bytes), failure.code, failure.message, failure.refused, failure.at.milliseconds])
  }

  /// The code of what is remembered of the path.
  static func code(at path: SourcePath, in db: Database) throws -> String? {
    try db.row("SELECT code FROM failure WHERE path = ?", [Data(path.bytes)]).map { $0["code"] }
  }

  static func newest(_ limit: Int, in db: Database) throws -> [(path: SourcePath, failure: FailureRecord)] {
    let rows = try db.rows(
      "SELECT path, code, message, refused, at FROM failure ORDER BY at DESC, path LIMIT ?", [limit])
    return rows.map { row in
      let failure = FailureRecord(
        code: row["code"], message: row["message"], refused: row["refused"],
        at: Date(milliseconds: row["at"]))
      return (path: SourcePath(bytes: row["path"] as Data), failure: failure)
    }
  }
}
