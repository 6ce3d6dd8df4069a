import ReelCore
import ReelStorage

/// A resumable upload, new or resumed, sent in parts. Its session is recorded before the first part is sent.
struct FirebaseUpload: Sendable {
  let source: UploadSource
  let key: ObjectKey
  let client: StorageClient
  let ledger: CheckpointLedger
  let partSize: Int
  let downloadToken: String
  /// The generation of a damaged object that is to be replaced; nil if the name must be free.
  let replaced: String?
  let reporting: @Sendable (TransferProgress) -> Void

  private struct State: Sendable {
    let checkpoint: UploadCheckpoint
    let session: StorageSession
    /// The number of bytes that the store has acknowledged as permanent.
    var offset: Int64
  }

  /// Sends what is missing, and returns the object as the store then has it: complete, and with the source's checksums.
  func run() async throws(UploadError) -> StorageObject {
    var state: State
    if let earlier = try await earlier() { state = earlier } else { state = try await begin() }
    report(state.offset)
    var sums = SourceSums()
    do throws(UploadError) {
      let object = try await send(&state, &sums)
      return try await settled(object, state, sums)
    } catch {
      // The bytes sent so far belong to other content, or the name is taken, so this session can never be resumed.
      if [.sourceChanged, .sourceUnreadable, .alreadyExists].contains(error.code) { await giveUp(state) }
      throw error
    }
  }

  // MARK: Earlier uploads

  /// Returns an earlier upload of these bytes that the store still has.
  private func earlier() async throws(UploadError) -> State? {
    guard let kept = try await ledger.kept() else { return nil }
    guard let session = StorageSession(kept.secret) else {
      try await ledger.forget(kept)
      return nil
    }
    let isOurs = kept.digest == source.digest
    switch try await client.standing(of: session, size: isOurs ? source.size : nil, key) {
    case .whole:
      try await ledger.forget(kept)
      throw taken
    case .partial(let offset):
      // A key belongs to one video. A process with another video is a rival, and may cancel only its own upload.
      guard isOurs else { throw taken }
      let state = State(checkpoint: kept, session: session, offset: offset)
      if offset < max(1, source.size) { return state }
      await giveUp(state)
      return nil
    case .gone:
      try await ledger.forget(kept)
      return nil
    }
  }

  /// Begins an upload and records its session.
  private func begin() async throws(UploadError) -> State {
    // Check now rather than have the store refuse the object after its last byte.
    if let there = try await client.object(key), there.generation != replaced { throw taken }
    let object = NewStorageObject(
      key, in: client.bucket, source: source, crc32c: try await SourceSums.crc32c(of: source),
      downloadToken: downloadToken)
    let session = try await client.begin(object, key, size: source.size, replacing: replaced)
    do throws(UploadError) {
      guard let checkpoint = UploadCheckpoint(session.text, of: source.digest) else {
        throw interrupted("its address is too long to be kept")
      }
      guard try await ledger.exchange(nil, for: checkpoint) else { throw taken }
      return State(checkpoint: checkpoint, session: session, offset: 0)
    } catch {
      // No checkpoint names this session, so nothing could ever resume or cancel it.
      try? await shielded { () async throws(UploadError) in try await client.cancel(session, key) }
      throw error
    }
  }

  /// Cancels the session, and forgets it. In a task of its own, as the current one may be cancelled.
  private func giveUp(_ state: State) async {
    await Task {
      try? await client.cancel(state.session, key)
      try? await ledger.forget(state.checkpoint)
    }.value
  }

  // MARK: Sending

  /// Reads the source from its beginning. What the store has already only adds to the checksums. The last part is read
  /// only once all bytes have been compared with the source's digest.
  private func send(
    _ state: inout State, _ sums: inout SourceSums
  ) async throws(UploadError) -> StorageObject {
    var read: Int64 = 0
    // Bytes after the store's offset that were read, but not sent.
    var waiting: [UInt8] = []
    for try await part in SourceChunks(of: source, size: partSize) {
      let missing = state.offset + Int64(waiting.count) - read
      read += Int64(part.count)
      sums.update(part)
      // The store was told the checksum of another state of the file, which was being changed, and may have bytes
      // of that.
      if read == source.size, sums.crc32c.text != state.session.crc32c {
        throw await dropped(state, "what was sent before is not of this file, and was given up")
      }
      let fresh = missing <= 0 ? part : Array(part.dropFirst(Int(clamping: missing)))
      waiting = waiting.isEmpty ? fresh : waiting + fresh
      if let object = try await send(&waiting, isLast: read == source.size, &state) { return object }
    }
    guard source.size == 0 else { throw interrupted("the store has all bytes, and does not end it") }
    return try await sendNothing(state)
  }

  /// Sends the waiting bytes: whole granules, and the rest with the last part. Returns the object after its last byte.
  private func send(
    _ waiting: inout [UInt8], isLast: Bool, _ state: inout State
  ) async throws(UploadError) -> StorageObject? {
    while true {
      let count = isLast ? waiting.count : waiting.count / StorageClient.granule * StorageClient.granule
      guard count > 0 else { return nil }
      if Task.isCancelled { throw UploadError(.cancelled, "cancelled; try again to resume") }
      let bytes = count == waiting.count ? waiting : Array(waiting.prefix(count))
      switch try await append(bytes, state.offset, state) {
      case .whole(let object):
        report(source.size)
        return object
      case .partial(let offset):
        let taken = offset - state.offset
        // The store may keep less than was sent. If it keeps nothing, or more, the upload can't continue.
        guard taken > 0, taken <= Int64(count) else {
          throw interrupted("the store's offset is \(offset) bytes instead of \(state.offset + Int64(count))")
        }
        waiting = taken == waiting.count ? [] : Array(waiting.dropFirst(Int(taken)))
        state.offset = offset
        report(offset)
      case .gone: throw await dropped(state, "it does not know the upload any more (it may have expired)")
      }
    }
  }

  private func append(
    _ bytes: [UInt8], _ offset: Int64, _ state: State
  ) async throws(UploadError) -> StorageClient.UploadStatus {
    do throws(UploadError) {
      let isLast = offset + Int64(bytes.count) == source.size
      guard isLast else {
        return try await client.append(bytes, at: offset, of: source.size, to: state.session, key)
      }
      return try await shielded { () async throws(UploadError) in
        try await client.append(bytes, at: offset, of: source.size, to: state.session, key)
      }
    } catch {
      // The offset differs, or the bytes do not have the stated checksum, so the session can never be resumed.
      guard error.code == .rejected else { throw error }
      throw await dropped(state, error.message)
    }
  }

  /// Completes the upload of an empty source. Nothing of it is read when it is sent, so it is proved here.
  private func sendNothing(_ state: State) async throws(UploadError) -> StorageObject {
    let source = source
    try await BlockingQueue(label: "reel.firebase-source", width: 1).run { () throws(UploadError) in
      try source.proveEnd()
    }
    if Task.isCancelled { throw UploadError(.cancelled, "cancelled before it was stored") }
    guard case .whole(let object) = try await append([], 0, state) else {
      throw interrupted("the store did not take an empty object")
    }
    report(0)
    return object
  }

  // MARK: Ending

  /// Returns the object if it is what was sent. Otherwise removes it, unless it has been replaced by now.
  private func settled(
    _ object: StorageObject, _ state: State, _ sums: SourceSums
  ) async throws(UploadError) -> StorageObject {
    try await ledger.forget(state.checkpoint)
    let name = client.bucket.objectName(of: key)
    let other = object.name == name ? nil : "the name \(HTTPReply.oneLine(object.name)) instead of \(name)"
    guard let difference = other ?? sums.difference(of: object, from: source) else { return object }
    let error = UploadError(
      .verificationFailed,
      "the store \(client.google.store) holds something other than what was sent as \(key): \(difference)")
    throw await source.disowning(key, error) { () async throws(UploadError) in
      try await client.remove(key, generation: object.generation)
    }
  }

  /// Forgets the upload, so that the next attempt begins another.
  private func dropped(_ state: State, _ reason: String) async -> UploadError {
    await giveUp(state)
    return interrupted(reason)
  }

  private func report(_ sent: Int64) { reporting(TransferProgress(sent: sent, total: source.size)) }

  private var taken: UploadError {
    UploadError(
      .alreadyExists,
      "the store \(client.google.store) has an object named \(key) already, or somebody stores it now")
  }

  private func interrupted(_ what: String) -> UploadError {
    UploadError(
      .interrupted,
      "the upload of \(key) to the store \(client.google.store) broke: \(what); try again to resume"
    )
  }
}
