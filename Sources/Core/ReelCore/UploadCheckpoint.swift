import Synchronization

/// Where a session of a resumable upload can be resumed: the store's own identifier for it, such as a tus upload's
/// URL, a Cloud Storage session's URL or the id of an S3 multipart upload.
///
/// Whoever knows such a URL may write, and sometimes remove, without any other credential. It is therefore treated
/// like a password: it has no JSON form, and printing, interpolating or dumping a checkpoint shows `‹checkpoint›`.
public struct UploadCheckpoint: Hashable, Sendable {
  /// The maximum length of ``secret`` in bytes of UTF-8.
  public static let longest = 8192

  /// The store's identifier for the upload. Never put it into a message, an event or a log.
  public let secret: String
  /// The SHA-256 of what is being uploaded. The bytes that the store has so far belong to this content and no
  /// other.
  public let digest: ContentDigest

  /// Creates a checkpoint; nil if `secret` is empty, longer than ``longest``, or contains a control character.
  /// Whatever a store calls an upload, it fits on one line.
  public init?(_ secret: String, of digest: ContentDigest) {
    guard (1...Self.longest).contains(secret.utf8.count),
      secret.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    self.secret = secret
    self.digest = digest
  }
}

extension UploadCheckpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A placeholder that does not reveal the secret.
  public var description: String { "‹checkpoint›" }
  /// A placeholder that does not reveal the secret.
  public var debugDescription: String { description }
  /// An empty mirror, so that `dump` and anything else that prints values member by member reveals nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Remembers how far uploads have got, so that a crash in the middle of 2 GB costs only one part.
///
/// An uploader looks for a checkpoint before it begins an upload, and keeps a new one before it sends the first
/// byte of that upload. It forgets the checkpoint when the object is stored, or when the unfinished upload is
/// abandoned and removed from the store. In a store that names its objects itself (tus), that name is the only way
/// to find an object again, so the uploader keeps the checkpoint as long as the object exists.
///
/// There is one checkpoint for each key in a destination. A process that uploads under a key holds its intent
/// (``PostCatalog/claim(_:)``), so two processes rarely meet; if they do, the checkpoint kept last wins.
public protocol UploadCheckpoints: Sendable {
  /// The checkpoint that was kept last, by any process; nil if there is none.
  func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint?

  /// Replaces any earlier checkpoint with `checkpoint`; durable on return. Also works in a cancelled task.
  func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError)

  /// Replaces the checkpoint `old` (nil: none) with `new`, if `old` is still the current one; durable on return.
  /// The exchange is atomic: of several processes that begin an upload under one key, only one gets true. Also
  /// works in a cancelled task.
  func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool

  /// Forgets `checkpoint` if it is still the current one; durable on return. Also works in a cancelled task.
  func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError)

  /// Up to `limit` keys in `destination` that have a checkpoint and sort after `key`, sorted. An uploader uses them
  /// to find uploads that dead processes left unfinished.
  func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey]
}

extension UploadError {
  /// Creates the error for a checkpoint that could not be read or kept. The upload has not begun, and may be
  /// retried.
  public init(checkpoint error: CatalogError) {
    self.init(
      error.code == .cancelled ? .cancelled : .unavailable,
      "the progress of the upload could not be read or saved: " + error.text)
  }
}

/// The checkpoint of a single object's upload; catalog errors are thrown as upload errors.
public struct CheckpointLedger: Sendable {
  private let checkpoints: any UploadCheckpoints
  private let key: ObjectKey
  private let destination: Destination

  /// Creates the ledger of the object `key` in `destination`.
  public init(_ checkpoints: any UploadCheckpoints, of key: ObjectKey, in destination: Destination) {
    (self.checkpoints, self.key, self.destination) = (checkpoints, key, destination)
  }

  /// The checkpoint that was kept last, by any process; nil if there is none.
  public func kept() async throws(UploadError) -> UploadCheckpoint? {
    try await rethrowing(as: UploadError.init(checkpoint:)) { () async throws(CatalogError) in
      try await checkpoints.checkpoint(of: key, in: destination)
    }
  }

  /// Replaces `old` with `new`; false if another process has changed the checkpoint since.
  public func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint
  ) async throws(UploadError) -> Bool {
    try await rethrowing(as: UploadError.init(checkpoint:)) { () async throws(CatalogError) in
      try await checkpoints.exchange(old, for: new, of: key, in: destination)
    }
  }

  /// Forgets `checkpoint` if it is still the current one.
  public func forget(_ checkpoint: UploadCheckpoint) async throws(UploadError) {
    try await rethrowing(as: UploadError.init(checkpoint:)) { () async throws(CatalogError) in
      try await checkpoints.forget(checkpoint, of: key, in: destination)
    }
  }
}

/// Checkpoints that live only as long as this object: for tests, and for uploads that need not be remembered.
public final class MemoryCheckpoints: UploadCheckpoints {
  private struct Place: Hashable {
    let destination: Destination
    let key: ObjectKey
  }
  private let kept = Mutex<[Place: UploadCheckpoint]>([:])

  /// Creates an empty collection of checkpoints.
  public init() {}

  /// The checkpoint that was kept last; nil if there is none.
  /// - Throws: `cancelled` in a cancelled task, as a catalog does.
  public func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint? {
    try checkCancellation()
    return kept.withLock { $0[Place(destination: destination, key: key)] }
  }

  /// Replaces any earlier checkpoint.
  public func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    kept.withLock { $0[Place(destination: destination, key: key)] = checkpoint }
  }

  /// Replaces the checkpoint if `old` is the current one.
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

  /// Forgets the checkpoint if it is still the current one.
  public func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    let place = Place(destination: destination, key: key)
    kept.withLock { kept in
      if kept[place] == checkpoint { kept[place] = nil }
    }
  }

  /// The keys that have a checkpoint.
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
