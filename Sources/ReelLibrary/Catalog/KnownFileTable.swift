import ReelCore

/// Digests by the state of a file.
enum KnownFileTable {
  static func find(_ identity: FileIdentity, in db: Connection) throws -> ContentDigest? {
    let digest: [UInt8]? = try db.value(
      """
      SELECT digest FROM knownFile
      WHERE device = ? AND inode = ? AND size = ? AND modifiedAt = ? AND changedAt = ?
      """, arguments(identity))
    return digest.flatMap { ContentDigest(sha256: $0) }
  }

  /// Remembers this state of the inode in place of an older one.
  static func put(_ digest: ContentDigest, of identity: FileIdentity, in db: Connection) throws {
    try db.run(
      """
      INSERT OR REPLACE INTO knownFile (device, inode, size, modifiedAt, changedAt, digest)
      VALUES (?, ?, ?, ?, ?, ?)
      """, arguments(identity) + [digest.bytes])
  }

  static func clear(in db: Connection) throws {
    try db.run("DELETE FROM knownFile")
  }

  private static func arguments(_ identity: FileIdentity) -> [any SQLiteValue] {
    [
      Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size,
      identity.modifiedAt, identity.changedAt,
    ]
  }
}
