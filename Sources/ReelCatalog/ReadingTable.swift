import FoundationEssentials
import GRDB
import ReelModel

/// What readers found in which bytes, as JSON.
enum ReadingTable {
  static func find(_ digest: ContentDigest, by reader: ReaderVersion, in db: Database) throws -> String? {
    try db.row(
      "SELECT outcome FROM reading WHERE digest = ? AND reel = ? AND ffmpeg = ?",
      [Data(digest.bytes), reader.reel, reader.ffmpeg]
    ).map { $0["outcome"] }
  }

  static func put(
    _ outcome: String, of digest: ContentDigest, by reader: ReaderVersion, in db: Database
  ) throws {
    try db.run(
      "INSERT OR REPLACE INTO reading (digest, reel, ffmpeg, outcome) VALUES (?, ?, ?, ?)",
      [Data(digest.bytes), reader.reel, reader.ffmpeg, outcome])
  }

  static func clear(in db: Database) throws {
    try db.run("DELETE FROM reading")
  }
}
