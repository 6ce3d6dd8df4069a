import FoundationEssentials
import GRDB
import ReelModel

/// Digests by the state of a file.
enum KnownFileTable {
  static func find(_ identity: FileIdentity, in db: Database) throws -> ContentDigest? {
    let row = try db.row(
      """
      SELECT digest FROM knownFile
      WHERE device = ? AND inode = ? AND size = ? AND modifiedAt = ? AND changedAt = ?
      """, arguments(identity))
    return row.flatMap { ContentDigest(sha256: $0["digest"] as Data) }
  }

  /// Remembers this state of the inode in place of an older one.
  static func put(_ digest: ContentDigest, of identity: FileIdentity, in db: Database) throws {
    try db.run(
      """
      INSERT OR REPLACE INTO knownFile (device, inode, size, modifiedAt, changedAt, digest)
      VALUES (?, ?, ?, ?, ?, ?)
      """, arguments(identity) + [Data(digest.bytes)])
  }

  static func clear(in db: Database) throws {
    try db.run("DELETE FROM knownFile")
  }

  private static func arguments(_ identity: FileIdentity) -> StatementArguments {
    [
      Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size,
      identity.modifiedAt, identity.changedAt,
    ]
  }
}
