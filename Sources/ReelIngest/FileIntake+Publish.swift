import ReelModel

// Steps 4 to 8: the intent, the upload, the verification, the record beside the object, the post.

extension FileIntake {
  func publish(
    _ source: UploadSource, as draft: PostDraft, _ publication: Publication, _ file: FileReference
  ) async throws(StepFailure) -> Ending {
    // Again when the drawn name is taken by something else, or when somebody took the intent over meanwhile.
    for _ in 0..<3 {
      switch try await claim(publication, size: source.size, container: draft.media.container) {
      case .published(let existing): return ending(of: existing)
      case .held: continue
      case .granted(let intent):
        services.onStep(.intended)
        hub.emit(.fileNamed(file, FileNamed(id: intent.id, key: intent.key, attempt: intent.attempt)))
        if let ending = try await publish(source, as: draft, under: intent, file) { return ending }
      }
    }
    throw .failed(
      FileFailure(
        code: UploadError.Code.conflict.rawValue,
        message:
          "something else writes into \(services.uploader.destination) under the names that Reel draws; "
          + "give Reel a destination of its own"))
  }

  /// One attempt; nil when its name or its lease is lost and another attempt is due.
  private func publish(
    _ source: UploadSource, as draft: PostDraft, under intent: Intent, _ file: FileReference
  ) async throws(StepFailure) -> Ending? {
    let stored: StoredObject
    do throws(UploadError) {
      stored = try await store(source, under: intent, file)
      try stillTheSame(source)
      services.onStep(.verified)
      try await record(draft, under: intent, stored)
      services.onStep(.recorded)
    } catch {
      guard error.code == .conflict else {
        try await release(intent, because: .retryLater)
        throw StepFailure(error)
      }
      try await withdraw(intent)
      try await release(intent, because: .keyUnusable)
      return nil
    }
    switch await complete(intent, draft: draft, stored: stored) {
    case .success(let post):
      services.onStep(.published)
      return .published(post)
    case .failure(let error) where error.code == .leaseLost: return nil
    case .failure(let error):
      try? await release(intent, because: .retryLater)
      throw StepFailure(error)
    }
  }

  /// What was hashed is what was uploaded, whatever the uploader looked at.
  private func stillTheSame(_ source: UploadSource) throws(UploadError) {
    do throws(SourceError) {
      try source.bytes.checkUnchanged()
    } catch {
      throw UploadError(
        error.code == .sourceChanged ? .sourceChanged : .sourceUnreadable, error.message)
    }
  }

  /// Asks until the intent is ours or the video is a post; somebody alive who holds it gets time to finish.
  private func claim(
    _ publication: Publication, size: Int64, container: MediaContainer
  ) async throws(StepFailure) -> Claim {
    let request = ClaimRequest(
      publication: publication, duplicates: options.duplicates, size: size,
      newID: PostID(at: services.clock.now(), random: services.randomness),
      newKey: ObjectKey(random: services.randomness, container: container, length: options.nameLength))
    var pause = Duration.milliseconds(5)
    while true {
      do throws(CatalogError) {
        let claim = try await services.catalog.claim(request)
        guard case .held = claim else { return claim }
      } catch {
        throw StepFailure(error)
      }
      do {
        try await Task.sleep(for: pause)
      } catch {
        throw .failed(.cancelled)
      }
      pause = min(pause * 2, .milliseconds(250))
    }
  }

  private func store(
    _ source: UploadSource, under intent: Intent, _ file: FileReference
  ) async throws(UploadError) -> StoredObject {
    if intent.mayBeStored, let stored = try await services.uploader.find(intent.key) {
      return try await proven(stored, is: source)
    }
    do throws(UploadError) {
      let hub = hub
      let stored = try await services.uploader.upload(source, to: intent.key) { progress in
        hub.emit(
          progress.retrying == nil ? .uploadProgress(file, progress) : .uploadRetrying(file, progress))
      }
      services.onStep(.uploaded)
      return try await ours(stored, is: source)
    } catch {
      guard error.code == .alreadyExists else { throw error }
    }
    guard let stored = try await services.uploader.find(intent.key) else {
      throw UploadError(
        .unavailable,
        "\(services.uploader.destination) says that \(intent.key) exists, and then that it doesn't")
    }
    return try await proven(stored, is: source)
  }

  /// As ``proven(_:is:)``, of what this very attempt has created: if that is not `source`, it does not stay.
  private func ours(_ stored: StoredObject, is source: UploadSource) async throws(UploadError) -> StoredObject
  {
    do throws(UploadError) {
      return try await proven(stored, is: source)
    } catch {
      guard error.code == .conflict else { throw error }
      let isGone = (try? await services.uploader.remove(stored.key)) != nil
      throw UploadError(
        .verificationFailed,
        "\(services.uploader.destination) holds something else than was sent as \(stored.key): "
          + (isGone
            ? "it was removed; run the same command again, and look at the store if it stays so"
            : "remove it there, then run the same command again"))
    }
  }

  /// `stored` with a proven digest, or with the one that a store was handed and acknowledges, which proves nothing more;
  /// `conflict` when it is not `source`.
  private func proven(_ stored: StoredObject, is source: UploadSource) async throws(UploadError)
    -> StoredObject
  {
    var digest = stored.digest ?? stored.handedOver
    // A digest that the store tells may be of something else than the bytes: only these prove a difference.
    if stored.size == source.size, digest != source.digest {
      digest = try await services.uploader.readBack(stored.key)
    }
    guard stored.size == source.size, digest == source.digest else {
      throw UploadError(.conflict, "\(stored.key) in \(services.uploader.destination) is not what was sent")
    }
    return StoredObject(key: stored.key, url: stored.url, size: stored.size, digest: digest)
  }

  /// In a store that keeps posts: the object is whole, and the catalog does not say yet that it is published. Whoever
  /// dies or fails here leaves an intent that names the object and the post; the next attempt finds both.
  private func record(
    _ draft: PostDraft, under intent: Intent, _ stored: StoredObject
  ) async throws(UploadError) {
    guard let recorder = services.recorder else { return }
    var post = Post(
      draft: draft, intent: intent, stored: stored, pageNumber: 0, createdAt: services.clock.now())
    // Its place in the store's feed is the recorder's to say.
    post.pageNumber = nil
    _ = try await recorder.record(post)
  }

  /// What an earlier attempt recorded of an object that is something else now is not left behind.
  private func withdraw(_ intent: Intent) async throws(StepFailure) {
    guard intent.mayBeStored, let recorder = services.recorder else { return }
    do throws(UploadError) {
      try await recorder.withdraw(intent.id)
    } catch {
      try await release(intent, because: .retryLater)
      throw StepFailure(error)
    }
  }

  /// T2. It runs to its end even when the run is cancelled meanwhile: the object is stored and proven.
  private func complete(
    _ intent: Intent, draft: PostDraft, stored: StoredObject
  ) async -> Result<Post, CatalogError> {
    let catalog = services.catalog
    return await Task(executorPreference: threads) { () async -> Result<Post, CatalogError> in
      do throws(CatalogError) {
        return .success(try await catalog.complete(intent, draft: draft, stored: stored))
      } catch {
        return .failure(error)
      }
    }.value
  }

  /// Gives the intent up, also in a cancelled task.
  /// - Throws: what ends the run, when that can't be written down: a copy of the same video would wait for this process,
  ///   which lives on.
  private func release(_ intent: Intent, because reason: ReleaseReason) async throws(StepFailure) {
    let catalog = services.catalog
    let failure = await Task(executorPreference: threads) { () async -> CatalogError? in
      do throws(CatalogError) {
        try await catalog.release(intent, because: reason)
        return nil
      } catch {
        return error
      }
    }.value
    if let failure { throw StepFailure(failure) }
  }
}
