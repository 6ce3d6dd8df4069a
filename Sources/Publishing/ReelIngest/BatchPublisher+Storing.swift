import ReelCore

/// The results for one file when its batch was stored together.
struct BatchAttempt: Sendable {
  let video: Result<StoredObject, UploadError>
  let poster: Result<StoredObject, UploadError>?
  /// Whether the source was unchanged afterwards.
  let source: Result<Void, UploadError>
}

// Stores the objects of a file, proves them, and settles what the result means for the file's intent.
extension BatchPublisher {
  enum StoreResult {
    case proven(ProvenFile)
    case lost(LostAttempt)
  }

  /// Stores the batch in one call if the store takes batches. The result is nil for a file that an earlier attempt may
  /// have stored, because that object must be looked up first.
  func storeTogether(_ batch: [ClaimedFile]) async -> [BatchAttempt?] {
    let fresh = batch.filter { !$0.intent.mayBeStored }
    guard let store = services.uploader.batches, !fresh.isEmpty else { return batch.map { _ in nil } }
    let watch = context.watch(.store)
    defer { watch.end() }
    let (uploads, cancellation) = (fresh.map(\.video) + fresh.compactMap(\.poster), context.stop.cancellation)
    let (results, sources) = await stores.run {
      (store.store(uploads, cancellation: cancellation), fresh.map { $0.accepted.unchanged() })
    }
    var (videos, posters) = (results.prefix(fresh.count), results.dropFirst(fresh.count))
    var unchanged = sources[...]
    return batch.map { file in
      guard !file.intent.mayBeStored, let video = videos.popFirst(), let source = unchanged.popFirst() else {
        return nil
      }
      return BatchAttempt(
        video: video, poster: file.poster.flatMap { _ in posters.popFirst() }, source: source)
    }
  }

  /// Stores, proves and records one file.
  /// - Throws: also the error that kept the intent from being released. It ends the run: otherwise a copy of the same
  ///   video would wait for this process, which is still alive.
  func store(_ file: ClaimedFile, after tried: BatchAttempt?) async throws -> StoreResult {
    var (accepted, intent) = (file.accepted, file.intent)
    let object: StoredObject
    var isPosterNamed = true
    do throws(UploadError) {
      let (hub, reference) = (context.hub, accepted.file)
      object = try await store(accepted.source, as: intent.key, under: intent, after: tried?.video) {
        progress in
        hub.emit(
          progress.retrying == nil
            ? .uploadProgress(reference, progress) : .uploadRetrying(reference, progress))
      }
      isPosterNamed = try await storePoster(of: &accepted, under: intent, after: tried?.poster)
      if isPosterNamed {
        try await checkUnchanged(accepted, tried)
        services.onStep(.verified)
        try await record(accepted.draft, under: intent, object)
        services.onStep(.recorded)
      }
    } catch {
      if error.standing != nil {
        try await withdraw(intent, after: error)
        return .lost(.name)
      }
      guard error.code == .conflict else {
        try await services.catalog.release(intent, because: .retryLater)
        throw error
      }
      return .lost(try await giveUp(intent))
    }
    guard isPosterNamed else {
      try await services.catalog.release(intent, because: .posterUnusable)
      return .lost(.name)
    }
    return .proven(ProvenFile(claimed: ClaimedFile(accepted: accepted, intent: intent), object: object))
  }

  private func store(
    _ source: UploadSource, as key: ObjectKey, under intent: Intent,
    after tried: Result<StoredObject, UploadError>?,
    reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let watch = context.watch(.store)
    defer { watch.end() }
    let source = source.intended
    if intent.mayBeStored, let stored = try await services.uploader.find(key) {
      return try await proven(stored, is: source)
    }
    do throws(UploadError) {
      let stored: StoredObject
      if let tried, !tried.isWorthARetry {
        stored = try tried.get()
        reporting(TransferProgress(sent: source.size, total: source.size))
      } else {
        stored = try await services.uploader.upload(source, to: key, reporting: reporting)
      }
      services.onStep(.uploaded)
      return try await ours(stored, is: source)
    } catch {
      guard error.code == .alreadyExists else { throw error }
    }
    guard let stored = try await services.uploader.find(key) else {
      throw UploadError(
        .unavailable, "\(services.uploader.destination) says that \(key) exists, and then that it doesn't")
    }
    return try await proven(stored, is: source)
  }

  private func checkUnchanged(_ accepted: AcceptedFile, _ tried: BatchAttempt?) async throws(UploadError) {
    if let tried, case .success = tried.video { return try tried.source.get() }
    try await stores.run { () throws(UploadError) in try accepted.unchanged().get() }
  }

  /// Stores the poster and makes the post show it. If the store does not take the poster, the video is published
  /// without it, unless posters are required. Returns false if a poster is required and another object has its name.
  private func storePoster(
    of accepted: inout AcceptedFile, under intent: Intent, after tried: Result<StoredObject, UploadError>?
  ) async throws(UploadError) -> Bool {
    accepted.draft.poster = nil
    guard let made = accepted.poster, let key = intent.poster else { return true }
    do throws(UploadError) {
      accepted.show(try await store(made.source, as: key, under: intent, after: tried) { _ in })
    } catch {
      guard context.options.posters == .wanted else {
        if error.code == .conflict { return false }
        throw error
      }
      let isItsFault = [.rejected, .denied, .tooLarge, .conflict, .verificationFailed].contains(error.code)
      guard isItsFault else { throw error }
      context.hub.emit(.posterFailed(accepted.file, FileFailure(error)))
    }
    return true
  }

  /// Like ``proven(_:is:)``, for an object that this very attempt has created.
  private func ours(_ stored: StoredObject, is source: UploadSource) async throws(UploadError) -> StoredObject
  {
    do throws(UploadError) {
      return try await proven(stored, is: source)
    } catch {
      guard error.code == .conflict else { throw error }
      throw UploadError(
        .verificationFailed,
        "\(services.uploader.destination) holds something other than what was sent as \(stored.key)"
      ).leaving(stored.key)
    }
  }

  /// Returns `stored` with a proven digest, or with the digest that the client sent and the store acknowledged, which
  /// proves no more than that. Throws `conflict` if the object is not `source`.
  private func proven(_ stored: StoredObject, is source: UploadSource) async throws(UploadError)
    -> StoredObject
  {
    var digest = stored.digest ?? stored.clientDigest
    // The digest that the store reports may not be that of the bytes. Only the bytes themselves prove a difference.
    if stored.size == source.size, digest != source.digest {
      digest = try await services.uploader.readFound(stored.key)
    }
    guard stored.size == source.size, digest == source.digest else {
      throw UploadError(.conflict, "\(stored.key) in \(services.uploader.destination) is not what was sent")
    }
    return StoredObject(key: stored.key, url: stored.url, size: stored.size, digest: digest)
  }

  /// Records the post in a store that keeps posts. The object is whole by now, and the catalog does not call it
  /// published yet. A process that dies or fails here leaves an intent that names both the object and the post, and the
  /// next attempt finds both.
  private func record(
    _ draft: PostDraft, under intent: Intent, _ stored: StoredObject
  ) async throws(UploadError) {
    guard let recorder = services.recorder else { return }
    let watch = context.watch(.record)
    defer { watch.end() }
    var post = Post(
      draft: draft, intent: intent, stored: stored, pageNumber: 0, createdAt: services.clock.now())
    // The recorder assigns the place in the store's own feed.
    post.pageNumber = nil
    _ = try await recorder.record(post)
  }

  /// Records the post again, because an attempt that had lost its lease may have replaced the post's poster with its
  /// own.
  func recordAgain(_ post: Post) async {
    _ = try? await services.recorder?.record(post)
  }

  /// Gives up an intent whose name is taken by another object, and withdraws what an earlier attempt has recorded for
  /// it. If another attempt has continued with the intent meanwhile, its post is recorded again.
  private func giveUp(_ intent: Intent) async throws -> LostAttempt {
    if intent.mayBeStored, let recorder = services.recorder {
      do throws(UploadError) {
        try await recorder.withdraw(intent.id)
      } catch {
        try await services.catalog.release(intent, because: .retryLater)
        throw error
      }
    }
    guard try await !services.catalog.giveUp(intent) else { return .name }
    return .lease(CatalogError.leaseLost(intent, at: services.uploader.destination.name))
  }

  /// Removes an object under the intent's name that must not count. The intent is given up first, so that nothing can
  /// be published under it any more. Only then may the object go: a process that took this one for dead may have found
  /// the object and published it.
  /// - Throws: `error`, unless another attempt under another name may succeed.
  private func withdraw(_ intent: Intent, after error: UploadError) async throws {
    let isGone = try await services.catalog.giveUp(intent) ? await clear(intent) : false
    if error.code.isWorthARetry { return }
    throw error.adding(
      isGone
        ? "it was removed; try again, and check the store if it happens again"
        : "it may still be there: run reel doctor to find out")
  }

  /// Removes the objects under the names of an intent that was given up, even in a cancelled task.
  private func clear(_ intent: Intent) async -> Bool {
    let (uploader, recorder) = (services.uploader, intent.mayBeStored ? services.recorder : nil)
    return await Task { () async -> Bool in
      do throws(UploadError) {
        try await recorder?.withdraw(intent.id)
        for key in [intent.key, intent.poster].compactMap(\.self) { try await uploader.remove(key) }
        return true
      } catch {
        return false
      }
    }.value
  }
}

extension Result where Success == StoredObject, Failure == UploadError {
  /// Whether the upload is retried on its own, like any single upload. An object that was left in the store must be
  /// removed first.
  fileprivate var isWorthARetry: Bool {
    guard case .failure(let error) = self else { return false }
    return error.standing == nil && error.code.isWorthARetry
  }
}
