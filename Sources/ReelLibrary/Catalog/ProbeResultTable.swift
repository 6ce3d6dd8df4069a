import FoundationEssentials
import ReelCore

/// What readers found in which bytes, as JSON.
enum ProbeResultTable {
  static func find(_ digest: ContentDigest, by reader: ReaderVersion, in db: Connection) throws -> String? {
    try db.value(
      "SELECT outcome FROM reading WHERE digest = ? AND reel = ? AND ffmpeg = ?",
      [digest.bytes, reader.reel, reader.ffmpeg])
  }

  /// By every reader that there was.
  static func all(of digest: ContentDigest, in db: Connection) throws -> [(ReaderVersion, String)] {
    try db.rows("SELECT reel, ffmpeg, outcome FROM reading WHERE digest = ?", [digest.bytes]) { row in
      (ReaderVersion(reel: try row["reel"], ffmpeg: try row["ffmpeg"]), try row["outcome"])
    }
  }

  static func put(
    _ outcome: String, of digest: ContentDigest, by reader: ReaderVersion, in db: Connection
  ) throws {
    try db.run(
      "INSERT OR REPLACE INTO reading (digest, reel, ffmpeg, outcome) VALUES (?, ?, ?, ?)",
      [digest.bytes, reader.reel, reader.ffmpeg, outcome])
  }

  static func clear(in db: Connection) throws {
    try db.run("DELETE FROM reading")
  }
}

/// A reading as it is kept. What was kept with other facts, by an earlier build of the same version, is not
/// understood, and so it is found out anew.
struct StoredProbeResult: Codable {
  /// Counts the changes of what ``MediaInfo`` and ``ProbeError`` say of the same bytes. Readings without a number
  /// are of a time when warnings were sentences.
  private static let facts = 2

  let outcome: ProbeOutcome

  private enum CodingKeys: String, CodingKey { case facts, outcome }

  init(_ outcome: ProbeOutcome) {
    self.outcome = outcome
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard try container.decode(Int.self, forKey: .facts) == Self.facts else {
      throw DecodingError.dataCorruptedError(
        forKey: .facts, in: container, debugDescription: "kept by another build")
    }
    outcome = try container.decode(ProbeOutcome.self, forKey: .outcome)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.facts, forKey: .facts)
    try container.encode(outcome, forKey: .outcome)
  }
}
