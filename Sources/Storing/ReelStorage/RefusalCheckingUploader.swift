import ReelCore

/// Finds out whether a store that refuses one object refuses every object. That ends the run, as no other file would
/// fare better.
///
/// Only the store knows why it refuses an object (a quota, a rule of the bucket, a proxy in between). What decides is a
/// canary: a few bytes that Reel knows to be valid, stored under a name of their own and removed again. If the store
/// accepts it, that does not put the blame on the file, either.
package struct RefusalCheckingUploader: UploaderDecorator {
  package let base: any Uploader
  private let canary: Canary
  private let size: Int64

  /// - Parameters:
  ///   - canary: a few bytes.
  ///   - now: returns the time; a test passes its own.
  ///   - randomness: makes the canary's name.
  package init(
    base: any Uploader, canary: UploadSource,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    randomness: any Randomness = SystemRandomness()
  ) {
    self.base = base
    size = canary.size
    self.canary = Canary(canary, in: base, now: now, randomness: randomness)
  }

  /// Uploads through the base uploader.
  /// - Throws: `storeUnusable` if the store refuses the canary as well; otherwise the base's error.
  package func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    do throws(UploadError) {
      return try await base.upload(source, to: key, reporting: reporting)
    } catch {
      guard error.isRefusal else { throw error }
      guard case .refused(let refusal) = await canary.answer() else { throw error }
      throw UploadError(
        .storeUnusable, refusal + "; it refuses every object, even a test of \(size) bytes")
    }
  }
}

extension UploadError {
  /// Whether the store itself refuses the object; the cause is not the file, the network, or a passing condition.
  fileprivate var isRefusal: Bool { !isOfTheFile && [.rejected, .tooLarge, .denied].contains(code) }
}

/// A test object, sent at most once a minute, however many uploads ask.
private actor Canary {
  enum Answer: Sendable {
    case taken
    /// The store's reason, without an object's name: it is the same for whatever is refused next.
    case refused(ErrorMessage)
    case unknown
  }

  private let store: any Uploader
  private let bytes: UploadSource
  private let now: @Sendable () -> ContinuousClock.Instant
  private let randomness: any Randomness
  private var last: (answer: Task<Answer, Never>, at: ContinuousClock.Instant)?
  /// Whether a canary could not be removed; then no other is sent.
  private var wasLeft = false

  /// How long an answer is valid.
  private static let age = Duration.seconds(60)

  init(
    _ bytes: UploadSource, in store: any Uploader, now: @escaping @Sendable () -> ContinuousClock.Instant,
    randomness: any Randomness
  ) {
    (self.bytes, self.store, self.now, self.randomness) = (bytes, store, now, randomness)
  }

  func answer() async -> Answer {
    if let last, wasLeft || now() - last.at < Self.age { return await last.answer.value }
    let task = Task { await send() }
    last = (task, now())
    let answer = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    // An answer that was cut short by the end of the run is not kept.
    if task.isCancelled, case .unknown = answer { last = nil }
    return answer
  }

  private func send() async -> Answer {
    let key = ObjectKey(random: randomness, container: .mp4)
    do throws(UploadError) {
      _ = try await store.upload(bytes, to: key) { _ in }
    } catch {
      if error.isRefusal || error.code.endsTheRun {
        // The store's reply may have been unreadable, and the object stored all the same.
        if let found = try? await store.find(key), found.size == bytes.size {
          await remove { [store] () async throws(UploadError) in try await store.remove(key) }
        }
        return .refused(error.text.replacing(key.description, with: "an object"))
      }
      // The object may be stored all the same, unless the name was another's. Not shielded, as the store may be down.
      if error.code != .alreadyExists {
        await remove { [store] () async throws(UploadError) in try await store.remove(key) }
      }
      return .unknown
    }
    await remove { [store] () async throws(UploadError) in
      try await shielded { () async throws(UploadError) in try await store.remove(key) }
    }
    return .taken
  }

  private func remove(_ removal: () async throws(UploadError) -> ObjectRemoval) async {
    do throws(UploadError) {
      if !(try await removal().isGone) { wasLeft = true }
    } catch {
      wasLeft = true
    }
  }
}
