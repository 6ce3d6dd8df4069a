/// Puts objects into a store.
///
/// Every implementation keeps the promises that `ReelStorageTesting` checks:
/// - on return the whole object is visible under the key; on throw none of it is, unless the error names what stands
///   there (``UploadError/standing``);
/// - an object that exists is never overwritten: `alreadyExists`;
/// - a source that changes, shrinks, grows or fails midway leaves nothing behind;
/// - cancelling the task ends the upload with `cancelled` and leaves nothing visible.
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

  /// Removes the object under `key`; one that is not there is removed already.
  func remove(_ key: ObjectKey) async throws(UploadError)

  /// Reads the stored bytes back and gives their digest, or nil when there is no such object.
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest?
}

extension Uploader {
  /// There is none.
  public var staging: (any StagingArea)? { nil }

  /// Each upload is on its own.
  public var batches: (any BatchStore)? { nil }
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

  /// The traits of a store; `largestObject` nil is "no limit that we know".
  public init(
    atomicCreate: Bool, resumable: Bool, verifiesChecksums: Bool, durable: Bool, largestObject: Int64? = nil,
    isLatencyBound: Bool = false, trustsClientDigest: Bool = false
  ) {
    self.atomicCreate = atomicCreate
    self.resumable = resumable
    self.verifiesChecksums = verifiesChecksums
    self.durable = durable
    self.largestObject = largestObject
    self.isLatencyBound = isLatencyBound
    self.trustsClientDigest = trustsClientDigest
  }
}

/// A store's settled name, such as `file:///srv/media`; in JSON that string. Uniqueness of posts is counted
/// within one destination.
public struct Destination: Hashable, Sendable, CustomStringConvertible {
  /// The name itself. An uploader settles its spelling, so that one store has one name.
  public let name: String

  /// A destination by its settled name. Two spellings are two destinations.
  public init(_ name: String) { self.name = name }

  /// ``name``.
  public var description: String { name }
}

extension Destination: Codable {
  /// Reads a string; any is a name.
  public init(from decoder: any Decoder) throws {
    name = try decoder.singleValueContainer().decode(String.self)
  }

  /// Writes ``name`` as one string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

/// An object as the store holds it.
public struct StoredObject: Hashable, Sendable, Codable {
  /// The name that it is stored under.
  public let key: ObjectKey
  /// An address that a viewer can open.
  public let url: String
  /// Bytes.
  public let size: Int64
  /// The digest that the store, or the copy into it, has proved; nil when nothing proves it.
  public let digest: ContentDigest?
  /// The digest of the bytes that this very upload handed over, each acknowledged by a store that proves no digest: what
  /// was sent, not what is stored. Nil for what was found, and where ``digest`` says more.
  public let clientDigest: ContentDigest?

  /// An object as the store tells it.
  public init(
    key: ObjectKey, url: String, size: Int64, digest: ContentDigest?, clientDigest: ContentDigest? = nil
  ) {
    self.key = key
    self.url = url
    self.size = size
    self.digest = digest
    self.clientDigest = clientDigest
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

/// Why a store did not take, find or remove an object.
public struct UploadError: ReelError, Hashable, Sendable, Codable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The connection or the transfer broke.
    case interrupted
    /// The store is busy or down.
    case unavailable
    /// No permission.
    case denied
    /// The store does not take this object. Why, only the store knows: another one may fare no better, and this one may be
    /// taken tomorrow.
    case rejected
    /// Larger than the store takes, or than what stands before it lets through.
    case tooLarge
    /// An object is there under this key. The caller finds out whether it is ours.
    case alreadyExists
    /// An object is there under this key, and it is not ours.
    case conflict
    /// The bytes changed while they were read.
    case sourceChanged
    /// The source could not be read.
    case sourceUnreadable
    /// What the store holds is not what was sent.
    case verificationFailed
    /// No space left in the store.
    case storeFull
    /// The store is not there, is not a folder, or cannot be written.
    case storeUnusable
    /// The task was cancelled.
    case cancelled

    /// Whether the same upload may succeed a moment later.
    public var isWorthARetry: Bool { self == .interrupted || self == .unavailable }

    /// Whether no other file will fare better: the run ends.
    public var endsTheRun: Bool { self == .storeUnusable }
  }
  /// What it is, for programs.
  public let code: Code
  /// What went wrong, with which store, and what to do; one sentence for people.
  public private(set) var text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }
  /// How long the store asked us to wait, in seconds.
  public let retryAfter: Double?
  /// Seconds without any sign of life from the store (no byte taken, no answer) before it was given up; nil when that is
  /// not why. For whoever tries again; it is not encoded.
  public private(set) var silence: Double?
  /// A name under which the upload has left something that must not count: it differs from what was sent, or may not
  /// survive a power cut. Whoever holds the name gives it up first, durably, and removes the object only then: until then
  /// another machine, which thinks this one dead, may publish what it finds there. Nil where nothing stands; it is not
  /// encoded.
  public internal(set) var standing: ObjectKey?
  /// Whether Reel itself has found the file to be other than what the store says that it takes. A store's refusal of
  /// one object is not that: a quota, a rule or a proxy refuses good files, too. It is not encoded.
  package private(set) var isOfTheFile = false

  private enum CodingKeys: String, CodingKey {
    case code, retryAfter
    case text = "message"
  }

  /// An error. `retryAfter` is in seconds, nil when the store asked for no pause; `silence` too, nil when it was none.
  public init(_ code: Code, _ message: ErrorMessage, retryAfter: Double? = nil, silence: Double? = nil) {
    self.code = code
    text = message
    self.retryAfter = retryAfter
    self.silence = silence
  }

  /// An error that is the file's own.
  package init(ofTheFile code: Code, _ message: ErrorMessage) {
    self.init(code, message)
    isOfTheFile = true
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String, retryAfter: Double? = nil, silence: Double? = nil) {
    self.init(code, ErrorMessage(message), retryAfter: retryAfter, silence: silence)
  }
}

extension UploadError {
  /// The same, of an upload that has left something under `key`.
  public func leaving(_ key: ObjectKey) -> UploadError {
    var error = self
    error.standing = key
    return error
  }

  /// The same, with `advice` behind its sentence.
  package func adding(_ advice: String) -> UploadError {
    var error = self
    error.text = text + ErrorMessage("; \(advice)")
    return error
  }

  /// Whether the same upload, to the same name, may succeed a moment later.
  package var isWorthARetry: Bool { code.isWorthARetry && standing == nil }

  /// The same, in the words that `wording` has for it.
  package func worded(_ wording: (ErrorMessage) -> String) -> UploadError {
    var error = self
    error.text = ErrorMessage(wording(text))
    return error
  }
}
