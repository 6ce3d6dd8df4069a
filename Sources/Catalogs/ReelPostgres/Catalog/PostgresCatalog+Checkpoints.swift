import FoundationEssentials
import ReelCore

/// The checkpoints are in the catalog, beside the intents without which they are useless. Anyone who can read the table
/// can resume the uploads: docs/fleet.md says who needs to.
extension PostgresCatalog: UploadCheckpoints {
  private static let ofObject =
    "destination = (SELECT id FROM reel.destination WHERE name = $1) AND object_key = $2"

  /// Returns the checkpoint that was kept last.
  package func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint? {
    try await look { db in
      try db.row(
        "SELECT digest, secret FROM reel.checkpoint WHERE \(Self.ofObject)",
        [.text(destination.name), .text(key.rawValue)]
      ) { try Self.checkpoint($0) } ?? nil
    }
  }

  /// Keeps the checkpoint, committed on return.
  package func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    try await change { tx, _ in
      try tx.run(
        "INSERT INTO reel.destination (name) VALUES ($1) ON CONFLICT DO NOTHING", [.text(destination.name)])
      try tx.run(
        """
        INSERT INTO reel.checkpoint (destination, object_key, digest, secret, changed_at)
        SELECT id, $2, $3, $4, \(PostgresSchema.now) FROM reel.destination WHERE name = $1
        ON CONFLICT (destination, object_key) DO UPDATE SET digest = excluded.digest, secret = excluded.secret,
          changed_at = excluded.changed_at
        """, Self.values(checkpoint, key, destination))
    }
  }

  /// Compares and replaces the checkpoint in one transaction, committed on return.
  package func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool {
    try await change { tx, _ in
      try tx.run(
        "INSERT INTO reel.destination (name) VALUES ($1) ON CONFLICT DO NOTHING", [.text(destination.name)])
      let values = Self.values(new, key, destination)
      let changed =
        if let old {
          try tx.run(
            """
            UPDATE reel.checkpoint SET digest = $3, secret = $4, changed_at = \(PostgresSchema.now)
            WHERE \(Self.ofObject) AND digest = $5 AND secret = $6
            """, values + [.bytes(old.digest.bytes), .text(old.secret)])
        } else {
          try tx.run(
            """
            INSERT INTO reel.checkpoint (destination, object_key, digest, secret, changed_at)
            SELECT id, $2, $3, $4, \(PostgresSchema.now) FROM reel.destination WHERE name = $1
            ON CONFLICT DO NOTHING
            """, values)
        }
      if changed > 0 { return true }
      // An earlier attempt at the same may have been committed although its answer was lost.
      guard tx.mayBeDone else { return false }
      return try tx.row(
        "SELECT digest, secret FROM reel.checkpoint WHERE \(Self.ofObject)", Array(values.prefix(2))
      ) { try Self.checkpoint($0) } ?? nil == new
    }
  }

  /// Forgets the checkpoint, committed on return.
  package func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    try await change { tx, _ in
      try tx.run(
        "DELETE FROM reel.checkpoint WHERE \(Self.ofObject) AND digest = $3 AND secret = $4",
        Self.values(checkpoint, key, destination))
    }
  }

  /// Returns the keys that have a checkpoint, in the order of the primary key.
  package func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey] {
    try await look { db in
      try db.rows(
        """
        SELECT object_key FROM reel.checkpoint
        WHERE destination = (SELECT id FROM reel.destination WHERE name = $1) AND object_key > $2
        ORDER BY object_key LIMIT $3
        """, [.text(destination.name), .text(key?.rawValue ?? ""), .int(Int64(max(0, limit)))]
      ) { try $0[0] as String }
    }.compactMap(ObjectKey.init)
  }

  private static func values(
    _ checkpoint: UploadCheckpoint, _ key: ObjectKey, _ destination: Destination
  ) -> [PostgresValue] {
    [
      .text(destination.name), .text(key.rawValue), .bytes(checkpoint.digest.bytes), .text(checkpoint.secret),
    ]
  }

  /// Returns nil for an invalid checkpoint, so that the upload starts again.
  private static func checkpoint(_ row: PostgresRow) throws -> UploadCheckpoint? {
    let (digest, secret): ([UInt8], String) = (try row["digest"], try row["secret"])
    return ContentDigest(sha256: digest).flatMap { UploadCheckpoint(secret, of: $0) }
  }
}
