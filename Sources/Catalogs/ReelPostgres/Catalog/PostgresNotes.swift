import FoundationEssentials
import ReelCore

/// Notes whose writing no caller waits for, as rows. Of several about the same thing, it keeps the last.
struct PostgresNotes: Sendable {
  private struct Inode: Hashable {
    let device: UInt64
    let inode: UInt64
  }
  private struct Reading: Hashable {
    let digest: ContentDigest
    let reader: ReaderVersion
  }
  private var files: [Inode: (identity: FileIdentity, digest: ContentDigest)] = [:]
  private var readings: [Reading: String] = [:]
  private var failures: [SourcePath: FailureRecord?] = [:]
  private var told: [PostID] = []

  /// - Parameter now: by this machine's clock, like the times of its files.
  init(_ notes: [CatalogNote], now: Date) {
    for note in notes where note.isKept(at: now) {
      switch note {
      case .digest(let digest, let identity):
        files[Inode(device: identity.device, inode: identity.inode)] = (identity, digest)
      case .outcome(let outcome, let digest, let reader):
        guard let document = try? outcome.document() else { continue }
        readings[Reading(digest: digest, reader: reader)] = document
      case .failure(let failure, let path): failures[path] = .some(failure)
      case .announced(let posts): told += posts
      }
    }
  }

  var isEmpty: Bool { files.isEmpty && readings.isEmpty && failures.isEmpty && told.isEmpty }

  /// Writes them; each kind in the same order everywhere, so that two transactions
  /// that write the same rows can't deadlock.
  func write(in tx: PostgresTransaction, host: String, me: Int64) throws {
    try writeFiles(in: tx, host: host)
    try writeReadings(in: tx)
    try writeFailures(in: tx, host: host)
    if told.isEmpty { return }
    try tx.run(
      """
      DELETE FROM reel.outbox x
      USING (
        SELECT p.page_number FROM unnest($1::bytea[]) AS r(id)
        JOIN reel.intent i ON i.post_id = r.id JOIN reel.post p ON p.intent = i.number
        OFFSET 0
      ) q
      WHERE x.page_number = q.page_number AND x.owner = $2
      """, [.byteStrings(told.map(\.bytes)), .int(me)])
  }

  private func writeFiles(in tx: PostgresTransaction, host: String) throws {
    if files.isEmpty { return }
    let rows = files.values.sorted {
      ($0.identity.device, $0.identity.inode) < ($1.identity.device, $1.identity.inode)
    }
    let identities = rows.map(\.identity)
    try tx.run(
      """
      INSERT INTO reel.known_file (host, device, inode, size, modified_at, changed_at, digest)
      SELECT $1, r.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[]) AS r
      ON CONFLICT (host, device, inode) DO UPDATE SET size = excluded.size, modified_at = excluded.modified_at,
        changed_at = excluded.changed_at, digest = excluded.digest
      """, [.text(host)] + Self.columns(identities) + [.byteStrings(rows.map(\.digest.bytes))])
  }

  /// Returns the devices, inodes, sizes, and times of modification and change.
  static func columns(_ identities: [FileIdentity]) -> [PostgresValue] {
    [
      .ints(identities.map { Int64(bitPattern: $0.device) }),
      .ints(identities.map { Int64(bitPattern: $0.inode) }),
      .ints(identities.map(\.size)), .ints(identities.map(\.modifiedAt)), .ints(identities.map(\.changedAt)),
    ]
  }

  private func writeReadings(in tx: PostgresTransaction) throws {
    if readings.isEmpty { return }
    let rows = readings.sorted {
      let (left, right) = ($0.key, $1.key)
      return left.digest == right.digest
        ? (left.reader.reel, left.reader.ffmpeg) < (right.reader.reel, right.reader.ffmpeg)
        : left.digest.bytes.lexicographicallyPrecedes(right.digest.bytes)
    }
    try tx.run(
      """
      INSERT INTO reel.reading (digest, reel, ffmpeg, outcome)
      SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[])
      ON CONFLICT (digest, reel, ffmpeg) DO UPDATE SET outcome = excluded.outcome
        WHERE reading.outcome <> excluded.outcome
      """,
      [
        .byteStrings(rows.map(\.key.digest.bytes)), .texts(rows.map(\.key.reader.reel)),
        .texts(rows.map(\.key.reader.ffmpeg)), .texts(rows.map(\.value)),
      ])
  }

  private func writeFailures(in tx: PostgresTransaction, host: String) throws {
    let sorted = failures.sorted { $0.key < $1.key }
    let over = sorted.filter { $0.value == nil }.map(\.key)
    if !over.isEmpty {
      try tx.run(
        """
        DELETE FROM reel.failure f USING unnest($1::text[], $2::bytea[]) AS r(host, path)
        WHERE f.host = r.host AND f.path_digest = sha256(r.path)
        """, [.texts(over.map { Self.host($0, here: host) }), .byteStrings(over.map(\.bytes))])
    }
    let kept = sorted.compactMap { path, failure in failure.map { (path: path, failure: $0) } }
    if kept.isEmpty { return }
    try tx.run(
      """
      INSERT INTO reel.failure (host, path, code, message, refused, at)
      SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::boolean[], $6::bigint[])
      ON CONFLICT (host, path_digest) DO UPDATE SET code = excluded.code, message = excluded.message,
        refused = excluded.refused, at = excluded.at
      """,
      [
        .texts(kept.map { Self.host($0.path, here: host) }), .byteStrings(kept.map(\.path.bytes)),
        .texts(kept.map { $0.failure.code }), .texts(kept.map { $0.failure.message }),
        .bools(kept.map(\.failure.refused)), .ints(kept.map(\.failure.at.milliseconds)),
      ])
  }

  /// The host under which a path is remembered: this machine, or none for an address, which is the same everywhere.
  static func host(_ path: SourcePath, here: String) -> String {
    path.isAddress ? "" : here
  }
}
