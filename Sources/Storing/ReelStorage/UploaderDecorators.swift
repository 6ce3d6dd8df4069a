import ReelCore

/// An uploader that wraps another one, and forwards to it whatever it does not do itself.
package protocol UploaderDecorator: Uploader {
  var base: any Uploader { get }
}

extension UploaderDecorator {
  /// The base uploader's traits.
  public var traits: UploadTraits { base.traits }
  /// The base uploader's destination.
  public var destination: Destination { base.destination }
  /// The base uploader's staging area.
  public var staging: (any StagingArea)? { base.staging }
  /// The base uploader's batches.
  public var batches: (any BatchStore)? { base.batches }

  /// Prepares the base uploader.
  public func prepare() async throws(UploadError) { try await base.prepare() }

  /// Asks the base uploader.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }

  /// Removes through the base uploader.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    try await base.remove(key)
  }

  /// Reads back through the base uploader.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await base.readBack(key)
  }
}

/// Compares every upload of another uploader with what was to be stored: key, size, and the digest if the store proves
/// one. What differs is removed again, unless a catalog names it: then the run that named it first gives up the name
/// (``UploadError/standing``).
public struct VerifyingUploader: UploaderDecorator {
  package let base: any Uploader

  /// - Parameter base: the uploader whose results are checked.
  public init(base: any Uploader) {
    self.base = base
  }

  /// Uploads through the base uploader, and checks the result.
  /// - Throws: `verificationFailed` if the store says that it holds something else; otherwise the base's error.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let object = try await base.upload(source, to: key, reporting: reporting)
    guard let difference = ObjectMismatch(object, key: key, source: source) else { return object }
    let error = UploadError(
      .verificationFailed,
      "the store \(destination) holds something other than what was sent: \(difference.words)")
    throw await source.disowning(key, error) { [base] () async throws(UploadError) in
      try await base.remove(key)
    }
  }
}

extension UploadSource {
  /// Removes an object that an upload has created under `key` but that must not count, unless a catalog names it.
  /// Returns the error with which the upload fails.
  package func disowning(
    _ key: ObjectKey, _ error: UploadError,
    _ remove: @escaping @Sendable () async throws(UploadError) -> ObjectRemoval
  ) async -> UploadError {
    if isIntended { return error.leaving(key) }
    do throws(UploadError) {
      let removal = try await shielded(remove)
      return error.adding(
        removal.remains.map { ErrorMessage($0) }
          ?? "it was removed; try again, and check the store if it happens again")
    } catch let failure {
      return error.adding("\(key) could not be removed (" + failure.text + "): remove it by hand")
    }
  }
}

/// How a stored object differs from its source.
struct ObjectMismatch: Hashable, Sendable {
  /// The difference, such as "3 bytes instead of 5".
  let words: String

  /// Returns nil if the two agree as far as the store says.
  init?(_ object: StoredObject, key: ObjectKey, source: UploadSource) {
    if object.key != key {
      words = "the name \(object.key) instead of \(key)"
    } else if object.size != source.size {
      words = "\(object.size) bytes instead of \(source.size)"
    } else if let digest = object.digest ?? object.clientDigest, digest != source.digest {
      words = "\(digest) instead of \(source.digest)"
    } else {
      return nil
    }
  }
}

/// Limits how many uploads run at once; the others wait their turn. Other calls are not limited.
///
/// More files may be worked on (hashed, probed) than are uploaded.
public struct ConcurrentUploader: UploaderDecorator {
  package let base: any Uploader
  private let places: AsyncSemaphore

  /// - Parameter uploads: how many may run at once, at least 1.
  public init(base: any Uploader, uploads: Int) {
    self.base = base
    places = AsyncSemaphore(count: max(1, uploads))
  }

  /// Uploads through the base uploader once there is a place. If the task is cancelled while it waits, the base reports
  /// that.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let place = await places.take()
    defer { places.giveBack(place) }
    return try await base.upload(source, to: key, reporting: reporting)
  }
}
