import ReelCore

/// An uploader over another one, which does whatever this one does not do itself.
package protocol UploaderDecorator: Uploader {
  var base: any Uploader { get }
}

extension UploaderDecorator {
  /// As the base's.
  public var traits: UploadTraits { base.traits }
  /// As the base's.
  public var destination: Destination { base.destination }
  /// As the base's.
  public var staging: (any StagingArea)? { base.staging }
  /// As the base's.
  public var batches: (any BatchStore)? { base.batches }

  /// As the base's.
  public func prepare() async throws(UploadError) { try await base.prepare() }

  /// As the base's.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }

  /// As the base's.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    try await base.remove(key)
  }

  /// As the base's.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await base.readBack(key)
  }
}

/// Holds every upload of another uploader against what was to be stored: key, size, and the digest where the
/// store proves one. What differs is removed again, unless a catalog names it: then the run that does gives the name up
/// first (``UploadError/standing``).
public struct VerifyingUploader: UploaderDecorator {
  package let base: any Uploader

  /// - Parameter base: the uploader whose word is checked.
  public init(base: any Uploader) {
    self.base = base
  }

  /// As the base's, and checked.
  /// - Throws: `verificationFailed` when the store says that it holds something else; else as the base.
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
  /// What an upload fails with that has created an object under `key` which must not count.
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

/// In what a stored object differs from its source.
struct ObjectMismatch: Hashable, Sendable {
  /// Such as "3 bytes instead of 5".
  let words: String

  /// Nil when the two agree as far as the store tells.
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

/// Lets so many uploads through at once; the others wait their turn. Everything else passes.
///
/// More files may be worked on (hashed, probed) than are uploaded.
public struct ConcurrentUploader: UploaderDecorator {
  package let base: any Uploader
  private let places: AsyncSemaphore

  /// - Parameter uploads: at once, at least 1.
  public init(base: any Uploader, uploads: Int) {
    self.base = base
    places = AsyncSemaphore(count: max(1, uploads))
  }

  /// As the base's, when there is a place. One that is cancelled while it waits is told so by the base.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let place = await places.take()
    defer { places.giveBack(place) }
    return try await base.upload(source, to: key, reporting: reporting)
  }
}
