import Synchronization

/// Where an upload that was begun can go on: what its store calls it, such as a tus upload's URL, a Cloud Storage
/// session's URL or the id of an S3 multipart upload.
///
/// Whoever knows such a URL may write, and sometimes remove, without any other credential. So it is kept like a
/// password: it has no JSON, and printing, interpolating or dumping a checkpoint shows `‹checkpoint›`.
public struct UploadCheckpoint: Hashable, Sendable {
  /// Bytes of the longest ``secret`` in UTF-8.
  public static let longest = 8192

  /// The store's own name for the upload. Never put it into a message, an event or a log.
  public let secret: String
  /// The SHA-256 of what is being uploaded: the bytes that the store has so far are of these and of no others.
  public let digest: ContentDigest

  /// Nil when `secret` is empty, longer than ``longest``, or holds a control character: whatever a store calls an
  /// upload, it fits a line.
  public init?(_ secret: String, of digest: ContentDigest) {
    guard (1...Self.longest).contains(secret.utf8.count),
      secret.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    self.secret = secret
    self.digest = digest
  }
}

extension UploadCheckpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Does not tell the secret.
  public var description: String { "‹checkpoint›" }
  /// Does not tell the secret.
  public var debugDescription: String { description }
  /// Shows no secret to `dump`, and to whatever prints values member by member.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Remembers how far uploads have come, so that a crash in the middle of 2 GB costs one part.
///
/// An uploader keeps a checkpoint before the first byte that belongs to it goes out, and looks for one before it
/// begins an upload. It forgets it when the object stands, or when what was begun is given up and removed from the
/// store. A store that names its objects itself (tus) gives no other way back to an object than this name: its
/// uploader keeps the checkpoint as long as the object stands.
///
/// There is one checkpoint for a key in a destination. Whoever uploads under a key holds its intent
/// (``PostCatalog/claim(_:)``), so two seldom meet; where they do, the last one that was kept counts.
public protocol UploadCheckpoints: Sendable {
  /// What was kept last, by whatever process.
  func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint?

  /// Keeps `checkpoint` in place of what was kept before; durable on return. Works in a cancelled task too.
  func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError)

  /// Keeps `new` if what is kept is `old` (nil: nothing); durable on return, and atomic: of several that begin an
  /// upload under one key only one is told true. Works in a cancelled task too.
  func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool

  /// Forgets `checkpoint` if it is still the one that is kept; durable on return. Works in a cancelled task too.
  func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError)

  /// Up to `limit` keys in `destination` that have a checkpoint, sorted, those behind `key`: for an uploader that
  /// looks for what dead ones left begun.
  func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey]
}

extension UploadError {
  /// A checkpoint could not be read or kept: the upload is not begun, and may be tried again.
  public init(checkpoint error: CatalogError) {
    self.init(
      error.code == .cancelled ? .cancelled : .unavailable,
      "how far the upload has come could not be looked up or written down: " + error.text)
  }
}

/// What is written down of one object's upload; the catalog's failures as the upload's.
public struct CheckpointLedger: Sendable {
  private let checkpoints: any UploadCheckpoints
  private let key: ObjectKey
  private let destination: Destination

  /// The ledger of the object `key` in `destination`.
  public init(_ checkpoints: any UploadCheckpoints, of key: ObjectKey, in destination: Destination) {
    (self.checkpoints, self.key, self.destination) = (checkpoints, key, destination)
  }

  /// What was kept last, by whatever process; nil when nothing was.
  public func kept() async throws(UploadError) -> UploadCheckpoint? {
    try await rethrowing(as: UploadError.init(checkpoint:)) { () async throws(CatalogError) in
      try await checkpoints.checkpoint(of: key, in: destination)
    }
  }

  /// Keeps `new` in place of `old`; false when somebody else has written since.
  public func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint
  ) async throws(UploadError) -> Bool {
    try await rethrowing(as: UploadError.init(checkpoint:)) { () async throws(CatalogError) in
      try await checkpoints.exchange(old, for: new, of: key, in: destination)
    }
  }

  /// Forgets `checkpoint` if it is still the one that is kept.
  public func forget(_ checkpoint: UploadCheckpoint) async throws(UploadError) {
    try await rethrowing(as: UploadError.init(checkpoint:)) { () async throws(CatalogError) in
      try await checkpoints.forget(checkpoint, of: key, in: destination)
    }
  }
}

/// Checkpoints that live as long as this object: for tests, and for uploads that nothing is to remember.
public final class MemoryCheckpoints: UploadCheckpoints {
  private struct Place: Hashable {
    let destination: Destination
    let key: ObjectKey
  }
  private let kept = Mutex<[Place: UploadCheckpoint]>([:])

  /// None yet.
  public init() {}

  /// What was kept last.
  /// - Throws: `cancelled` in a cancelled task, as a catalog does.
  public func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint? {
    try checkCancellation()
    return kept.withLock { $0[Place(destination: destination, key: key)] }
  }

  /// Keeps it.
  public func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    kept.withLock { $0[Place(destination: destination, key: key)] = checkpoint }
  }

  /// Keeps it, unless another one is kept than was thought.
  public func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool {
    let place = Place(destination: destination, key: key)
    return kept.withLock { kept in
      guard kept[place] == old else { return false }
      kept[place] = new
      return true
    }
  }

  /// Forgets it, unless another one was kept since.
  public func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    let place = Place(destination: destination, key: key)
    kept.withLock { kept in
      if kept[place] == checkpoint { kept[place] = nil }
    }
  }

  /// The keys that have one.
  /// - Throws: `cancelled` in a cancelled task, as a catalog does.
  public func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey] {
    try checkCancellation()
    let names = kept.withLock { kept in
      kept.keys.filter { $0.destination == destination }.map(\.key.rawValue)
    }
    let behind = names.filter { $0 > key?.rawValue ?? "" }.sorted()
    return behind.prefix(max(0, limit)).compactMap { ObjectKey($0) }
  }

  private func checkCancellation() throws(CatalogError) {
    if Task.isCancelled { throw CatalogError(.cancelled, "cancelled while it looked for a checkpoint") }
  }
}
