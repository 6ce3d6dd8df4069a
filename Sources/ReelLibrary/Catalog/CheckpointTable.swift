import FoundationEssentials
import ReelCore

/// Checkpoints of uploads by object.
enum CheckpointTable {
  static func find(
    _ key: ObjectKey, in store: StoreName, db: Connection
  ) throws -> UploadCheckpoint? {
    try db.row(
      """
      SELECT digest, secret FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ?
      """, [store.text, key.rawValue]
    ) { row in
      // One that makes no sense is none: the upload begins anew.
      let (digest, secret) = (try row["digest"] as [UInt8], try row["secret"] as String)
      return ContentDigest(sha256: digest).flatMap { UploadCheckpoint(secret, of: $0) }
    }
  }

  static func put(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in store: StoreName, at now: Int64,
    db: Connection
  ) throws {
    try db.run(
      """
      INSERT OR REPLACE INTO checkpoint (destination, objectKey, digest, secret, changedAt)
      VALUES (?, ?, ?, ?, ?)
      """,
      [
        try DestinationTable.id(of: store, in: db), key.rawValue, checkpoint.digest.bytes,
        checkpoint.secret, now,
      ])
  }

  static func remove(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in store: StoreName, db: Connection
  ) throws {
    try db.run(
      """
      DELETE FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ?
        AND secret = ? AND digest = ?
      """, [store.text, key.rawValue, checkpoint.secret, checkpoint.digest.bytes])
  }

  static func keys(
    in store: StoreName, after key: ObjectKey?, limit: Int, db: Connection
  ) throws -> [ObjectKey] {
    try db.values(
      """
      SELECT objectKey FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey > ?
      ORDER BY objectKey LIMIT ?
      """, [store.text, key?.rawValue ?? "", max(0, limit)]
    ).compactMap(ObjectKey.init)
  }
}
