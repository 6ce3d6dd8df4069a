import FoundationEssentials
import GRDB
import ReelModel

/// Checkpoints of uploads by object.
enum CheckpointTable {
  static func find(
    _ key: ObjectKey, in store: StoreName, db: Database
  ) throws -> UploadCheckpoint? {
    let row = try db.row(
      """
      SELECT digest, secret FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ?
      """, [store.text, key.rawValue])
    // One that makes no sense is none: the upload begins anew.
    return row.flatMap { row in
      ContentDigest(sha256: row["digest"] as Data).flatMap { UploadCheckpoint(row["secret"], of: $0) }
    }
  }

  static func put(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in store: StoreName, at now: Int64,
    db: Database
  ) throws {
    try db.run(
      """
      INSERT OR REPLACE INTO checkpoint (destination, objectKey, digest, secret, changedAt)
      VALUES (?, ?, ?, ?, ?)
      """,
      [
        try DestinationTable.id(of: store, in: db), key.rawValue, Data(checkpoint.digest.bytes),
        checkpoint.secret, now,
      ])
  }

  static func remove(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in store: StoreName, db: Database
  ) throws {
    try db.run(
      """
      DELETE FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ?
        AND secret = ? AND digest = ?
      """, [store.text, key.rawValue, checkpoint.secret, Data(checkpoint.digest.bytes)])
  }

  static func keys(
    in store: StoreName, after key: ObjectKey?, limit: Int, db: Database
  ) throws -> [ObjectKey] {
    try db.rows(
      """
      SELECT objectKey FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey > ?
      ORDER BY objectKey LIMIT ?
      """, [store.text, key?.rawValue ?? "", max(0, limit)]
    ).compactMap { ObjectKey($0["objectKey"]) }
  }
}
