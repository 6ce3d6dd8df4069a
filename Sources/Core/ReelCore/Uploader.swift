/// Puts objects into a store.
///
/// Every implementation keeps the promises that `ReelStorageTesting` checks:
/// - on return the whole object is visible under the key; on throw none of it is, unless the error names what stands
///   there (``UploadError/standing``);
/// - an object that exists is never overwritten: `alreadyExists`;
/// - a source that changes, shrinks, grows or fails midway leaves nothing behind;
/// - cancelling the task ends the upload with `cancelled` and leaves nothing visible;
/// - what was removed is not found any more, its name can be used again, and no other object is touched.
public protocol Uploader: Sendable {
  /// What this store can do; data for decorators, tests and messages.
  var traits: UploadTraits { get }

  /// Where this uploader stores, as one settled name: two uploaders of the same store have the same.
  var destination: Destination { get }

  /// Where private copies that may become objects of this store are made; nil when it has no such place. Asked for
  /// after ``prepare()``.
  var staging: (any StagingArea)? { get }

  /// The store itself where it takes batches without waiting for a network; nil where each upload is on its own.
  var batches: (any BatchStore)? { get }

  /// Makes the store ready and removes what dead uploaders left half done. Called once before a run; nothing
  /// is uploaded before it has returned.
  func prepare() async throws(UploadError)

  /// Stores `source` under `key`.
  ///
  /// - Parameter reporting: called with growing numbers, at most a few times a megabyte, from any thread.
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject

  /// The object under `key`, or nil when the store says that there is none.
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject?

  /// Removes the object under `key`, durably, and says what is left of it; one that is not there is removed already.
  ///
  /// When it throws, the object may be there or not, and removing it again tells.
  /// - Throws: `rejected` when the store can't remove it, saying what stays where.
  @discardableResult
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval

  /// Reads the stored bytes back and gives their digest, or nil when there is no such object.
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest?
}

extension Uploader {
  /// There is none.
  public var staging: (any StagingArea)? { nil }

  /// Each upload is on its own.
  public var batches: (any BatchStore)? { nil }

  /// Reads back what ``find(_:)`` has just found.
  /// - Throws: `unavailable` where nothing is there to be read: two answers that contradict each other prove no difference.
  package func readFound(_ key: ObjectKey) async throws(UploadError) -> ContentDigest {
    if let digest = try await readBack(key) { return digest }
    throw UploadError(
      .unavailable,
      "\(destination) says that it has \(key), and then that there is nothing to be read: try again later")
  }
}

/// What a store can do.
public struct UploadTraits: Hashable, Sendable {
  /// Whether creating an object that exists fails even when two create it at once.
  public var atomicCreate: Bool
  /// Whether an upload can go on from a checkpoint.
  public var resumable: Bool
  /// Whether the store proves the digest of what it holds.
  public var verifiesChecksums: Bool
  /// Whether what stands in it rests on its word that every byte arrived: nothing proves a digest, and nothing is read
  /// back when it is stored (``StoredObject/clientDigest``).
  public var trustsClientDigest: Bool
  /// Whether it is durable (on disk, not only in memory) when `upload` returns.
  public var durable: Bool
  /// Bytes; nil when there is no limit that we know.
  public var largestObject: Int64?
  /// Whether an upload mostly waits, for a disk to sync or for a network, so that many at once take hardly longer than
  /// one.
  public var isLatencyBound: Bool
  /// Whether it removes objects; where it does not, ``Uploader/remove(_:)`` throws `rejected`.
  public var removes: Bool

  /// The traits of a store; `largestObject` nil is "no limit that we know".
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

/// How far a transfer has come.
public struct TransferProgress: Hashable, Sendable, Codable {
  /// Bytes sent; never falls within one attempt.
  public let sent: Int64
  /// Bytes in all.
  public let total: Int64
  /// Counted from 1. An attempt above 1 is announced with what the one before it died of.
  public let attempt: Int
  /// Why the attempt before this one ended; set once, on the first report of an attempt above 1.
  public let retrying: UploadError?

  /// A report. `sent` and `total` are bytes; `attempt` is counted from 1.
  public init(sent: Int64, total: Int64, attempt: Int = 1, retrying: UploadError? = nil) {
    self.sent = sent
    self.total = total
    self.attempt = attempt
    self.retrying = retrying
  }
}
