import FoundationEssentials
import ReelCore

/// The checkpoints lie in the catalog, beside the intents without which they are of no use. Whoever may read the table
/// may go on with the uploads: docs/fleet.md says who needs to.
extension PostgresCatalog: UploadCheckpoints {
  private static let ofObject =
    "destination = (SELECT id FROM reel.destination WHERE name = $1) AND object_key = $2"

  /// What was kept last.
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

  /// Keeps it, committed on return.
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

  /// Compares and keeps in one transaction, committed on return.
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
      // Nobody was told whether an earlier attempt at the same was committed.
      guard tx.mayBeDone else { return false }
      return try tx.row(
        "SELECT digest, secret FROM reel.checkpoint WHERE \(Self.ofObject)", Array(values.prefix(2))
      ) { try Self.checkpoint($0) } ?? nil == new
    }
  }

  /// Forgets it, committed on return.
  package func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    try await change { tx, _ in
      try tx.run(
        "DELETE FROM reel.checkpoint WHERE \(Self.ofObject) AND digest = $3 AND secret = $4",
        Self.values(checkpoint, key, destination))
    }
  }

  /// The keys that have one, by the primary key's order.
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

  /// One that makes no sense is none: the upload begins anew.
  private static func checkpoint(_ row: PostgresRow) throws -> UploadCheckpoint? {
    let (digest, secret): ([UInt8], String) = (try row["digest"], try row["secret"])
    return ContentDigest(sha256: digest).flatMap { UploadCheckpoint(secret, of: $0) }
  }
}
