import ReelCore

/// Finds out whether a store that refuses one object refuses every object, which ends the run: no other file will fare
/// better.
///
/// Why a store refuses an object only the store knows (a quota, a rule of the bucket, a proxy in between). What decides is
/// a canary: a few bytes that Reel knows to be in order, stored under a name of their own and removed again. One that is
/// taken says nothing against the file, either.
package struct RefusalCheckingUploader: UploaderDecorator {
  package let base: any Uploader
  private let canary: Canary
  private let size: Int64

  /// - Parameters:
  ///   - canary: a few bytes.
  ///   - now: the time; a test's own.
  ///   - randomness: draws the canary's name.
  package init(
    base: any Uploader, canary: UploadSource,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    randomness: any Randomness = SystemRandomness()
  ) {
    self.base = base
    size = canary.size
    self.canary = Canary(canary, in: base, now: now, randomness: randomness)
  }

  /// As the base's.
  /// - Throws: `storeUnusable` where the store refuses the canary, too; else as the base.
  package func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    do throws(UploadError) {
      return try await base.upload(source, to: key, reporting: reporting)
    } catch {
      guard error.isRefusal else { throw error }
      guard case .refused(let refusal) = await canary.answer() else { throw error }
      throw UploadError(
        .storeUnusable, refusal + "; it refuses every object, a test of \(size) bytes, too")
    }
  }
}

extension UploadError {
  /// Whether it is the store's own no to an object, and not a file's fault, the network's, or of the moment.
  fileprivate var isRefusal: Bool { !isOfTheFile && [.rejected, .tooLarge, .denied].contains(code) }
}

/// A test object, sent at most once in a while, whoever asks.
private actor Canary {
  enum Answer: Sendable {
    case taken
    /// In words that name no object: whatever is refused next, the reason is the same.
    case refused(ErrorMessage)
    case unknown
  }

  private let store: any Uploader
  private let bytes: UploadSource
  private let now: @Sendable () -> ContinuousClock.Instant
  private let randomness: any Randomness
  private var last: (answer: Task<Answer, Never>, at: ContinuousClock.Instant)?
  /// Where it can't be removed, it is not sent again.
  private var wasLeft = false

  /// How long an answer counts.
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
    // Of a run that ends, nothing is to be kept.
    if task.isCancelled, case .unknown = answer { last = nil }
    return answer
  }

  private func send() async -> Answer {
    let key = ObjectKey(random: randomness, container: .mp4)
    do throws(UploadError) {
      _ = try await store.upload(bytes, to: key) { _ in }
    } catch {
      if error.isRefusal || error.code.endsTheRun {
        // An answer that can't be read is none: the store may have it all the same.
        if let found = try? await store.find(key), found.size == bytes.size {
          await remove { [store] () async throws(UploadError) in try await store.remove(key) }
        }
        return .refused(error.text.replacing(key.description, with: "an object"))
      }
      // The store may have it all the same, if it is not another's. Not shielded: it may be down.
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
