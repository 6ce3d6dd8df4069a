/// Stores objects in a store.
///
/// Every implementation keeps the promises that `ReelStorageTesting` checks:
/// - on return, the whole object is visible under the key; on throw, none of it is, unless the error names what was
///   left there (``UploadError/standing``);
/// - an existing object is never overwritten: `alreadyExists`;
/// - a source that changes, shrinks, grows or fails midway leaves nothing behind;
/// - cancelling the task ends the upload with `cancelled`, and leaves nothing visible;
/// - a removed object is no longer found, its name can be used again, and no other object is touched.
public protocol Uploader: Sendable {
  /// What this store can do, as data for decorators, tests and messages.
  var traits: UploadTraits { get }

  /// The canonical name of the store: two uploaders of the same store have the same.
  var destination: Destination { get }

  /// Where to create private copies that may become objects of this store; nil if there is no such place. Read only
  /// after ``prepare()``.
  var staging: (any StagingArea)? { get }

  /// The store itself, if it accepts batches without waiting for a network; nil if each upload stands alone.
  var batches: (any BatchStore)? { get }

  /// Prepares the store, and removes what uploaders that died left unfinished. Called once before a run; nothing is
  /// uploaded before it returns.
  func prepare() async throws(UploadError)

  /// Stores `source` under `key`.
  ///
  /// - Parameter reporting: Called with growing numbers, at most a few times per megabyte, from any thread.
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject

  /// The object under `key`; nil if the store says that there is none.
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject?

  /// Removes the object under `key`, durably, and returns what is left of it. Removing an object that does not
  /// exist succeeds.
  ///
  /// If it throws, the object may or may not exist; removing it again settles that.
  /// - Throws: `rejected` if the store cannot remove it. The error says what stays, and where.
  @discardableResult
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval

  /// Reads the stored bytes back and returns their digest; nil if there is no such object.
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest?
}

extension Uploader {
  /// Nil: there is no such place.
  public var staging: (any StagingArea)? { nil }

  /// Nil: each upload stands alone.
  public var batches: (any BatchStore)? { nil }

  /// Reads back the object that ``find(_:)`` has just found.
  /// - Throws: `unavailable` if the object cannot be read. Two contradictory answers do not prove that the content
  ///   differs.
  package func readFound(_ key: ObjectKey) async throws(UploadError) -> ContentDigest {
    if let digest = try await readBack(key) { return digest }
    throw UploadError(
      .unavailable,
      "\(destination) says that it has \(key), but then that there is nothing to read: try again later")
  }
}

/// What a store can do.
public struct UploadTraits: Hashable, Sendable {
  /// Whether creating an existing object fails even if two processes create it at the same time.
  public var atomicCreate: Bool
  /// Whether an upload can be resumed from a checkpoint.
  public var resumable: Bool
  /// Whether the store proves the digest of what it holds.
  public var verifiesChecksums: Bool
  /// Whether Reel has only the store's acknowledgment that every byte arrived: nothing proves a digest, and nothing
  /// is read back when an object is stored (``StoredObject/clientDigest``).
  public var trustsClientDigest: Bool
  /// Whether an object is durable (on disk, not only in memory) when `upload` returns.
  public var durable: Bool
  /// The maximum size of an object in bytes; nil if no limit is known.
  public var largestObject: Int64?
  /// Whether an upload mostly waits, for a disk to sync or for a network, so that many at once take hardly longer
  /// than one.
  public var isLatencyBound: Bool
  /// Whether the store can remove objects; if not, ``Uploader/remove(_:)`` throws `rejected`.
  public var removes: Bool

  /// Creates the traits of a store; `largestObject` is nil if no limit is known.
  public init(
    atomicCreate: Bool, resumable: Bool, verifiesChecksums: Bool, durable: Bool, largestObject: Int64? = nil,
    isLatencyBound: Bool = false, trustsClientDigest: Bool = false, removes: Bool = true
  ) {
    self.atomicCreate = atomicCreate
    self.resumable = resumable
    self.verifiesChecksums = verifiesChecksums
    self.durable = durable
    self.largestObject = largestObject
    self.isLatencyBound = isLatencyBound
    self.trustsClientDigest = trustsClientDigest
    self.removes = removes
  }
}

/// The progress of a transfer.
public struct TransferProgress: Hashable, Sendable, Codable {
  /// The number of bytes sent; never decreases within an attempt.
  public let sent: Int64
  /// The total number of bytes.
  public let total: Int64
  /// Counted from 1. The first report of each later attempt says why the attempt before it failed.
  public let attempt: Int
  /// Why the previous attempt ended; set only in the first report of an attempt above 1.
  public let retrying: UploadError?

  /// Creates a report. `sent` and `total` are in bytes; `attempt` is counted from 1.
  public init(sent: Int64, total: Int64, attempt: Int = 1, retrying: UploadError? = nil) {
    self.sent = sent
    self.total = total
    self.attempt = attempt
    self.retrying = retrying
  }
}
