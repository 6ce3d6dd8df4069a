import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization

/// A resumable upload, new or resumed, sent in parts. The state of each part is recorded before the part is sent.
struct TusUpload: Sendable {
  let source: UploadSource
  let key: ObjectKey
  let server: TusServer
  let client: TusClient
  let failure: TusFailure
  let ledger: CheckpointLedger
  let partSize: Int
  /// The number of bytes that one request may send.
  let requestSize: TusRequestSize
  let reporting: @Sendable (TransferProgress) -> Void

  private struct State {
    var checkpoint: UploadCheckpoint
    var place: TusUploadState
    /// The number of bytes that the server has acknowledged.
    var offset: Int64
  }

  /// Sends what is missing, and returns the object's address.
  func run() async throws(UploadError) -> TusURL {
    let found = try await earlier()
    var state = found.state
    reporting(TransferProgress(sent: state?.offset ?? 0, total: source.size))
    do throws(UploadError) {
      try await send(&state, insteadOf: found.gone)
    } catch {
      // The bytes sent so far belong to other content, so this upload can never be resumed.
      if [.sourceChanged, .sourceUnreadable].contains(error.code), let state { await giveUp(state) }
      throw error
    }
    // An empty source has no parts.
    guard let url = state?.place.url else {
      return try await begin(replacing: found.gone, first: [], hash: SHA256()).place.url
    }
    return url
  }

  // MARK: Earlier uploads

  /// What is recorded of an earlier upload.
  private struct Earlier {
    /// An upload of these bytes that the server still has.
    var state: State?
    /// An upload that the server no longer has, or whose address can't be read. It stays on record until another one
    /// has been created in its place.
    var gone: UploadCheckpoint?
  }

  private func earlier() async throws(UploadError) -> Earlier {
    guard let kept = try await ledger.kept() else { return Earlier() }
    guard let place = TusUploadState(kept.secret) else { return Earlier(gone: kept) }
    switch try await client.standing(of: place.url, key) {
    case .whole(let length):
      guard place.isRefused, kept.digest == source.digest else { throw failure.taken(key) }
      await giveUp(State(checkpoint: kept, place: place, offset: length))
      return Earlier()
    case .partial(let offset, let length):
      let state = State(checkpoint: kept, place: place, offset: offset)
      // A key belongs to one video. A process with another video is a rival, and may cancel only its own upload.
      guard kept.digest == source.digest else { throw failure.taken(key) }
      if length ?? source.size == source.size, isWithinItsPart(state) {
        return Earlier(state: state)
      }
      await giveUp(state)
      return Earlier()
    case .gone: return Earlier(gone: kept)
    }
  }

  /// Whether the server's offset is in the part recorded last: what precedes it was acknowledged, and its content is
  /// known. Parts of another size come from another version, or another setting.
  private func isWithinItsPart(_ state: State) -> Bool {
    let through = state.place.through
    guard through <= source.size, through % Int64(partSize) == 0 || through == source.size else {
      return false
    }
    let start = max(0, through - 1) / Int64(partSize) * Int64(partSize)
    return (start...through).contains(state.offset)
  }

  /// Removes the upload if the server can (otherwise it expires there), and forgets it. In a task of its own, as the
  /// current one may be cancelled.
  private func giveUp(_ state: State) async {
    await Task {
      await end(state.place.url)
      try? await ledger.forget(state.checkpoint)
    }.value
  }

  /// Removes an upload if the server can.
  private func end(_ url: TusURL) async {
    if server.canTerminate { _ = try? await client.terminate(url, key) }
  }

  // MARK: Sending

  /// Reads the source from its beginning. What the server has already is only hashed, and compared with what was
  /// recorded about it.
  private func send(_ state: inout State?, insteadOf gone: UploadCheckpoint?) async throws(UploadError) {
    var hash = SHA256()
    var read: Int64 = 0
    for try await part in SourceChunks(of: source, size: partSize) {
      let start = read
      read += Int64(part.count)
      hash.update(data: part)
      if state?.place.through == read { state = try await proven(state, by: hash) }
      if let begun = state {
        guard read > begun.offset else { continue }
        let known = Int(max(0, begun.offset - start))
        // Several uploads hold a part each, so a part that is sent as a whole is not copied.
        let missing = known == 0 ? part : Array(part.dropFirst(known))
        state = try await append(missing, through: read, hash, begun)
      } else {
        state = try await beginning(with: part, through: read, hash, insteadOf: gone)
      }
      reporting(TransferProgress(sent: state?.offset ?? read, total: source.size))
    }
  }

  /// Returns `state` if the bytes that the server has are the source's.
  /// - Throws: `interrupted` if they are others. The upload is then given up, as the preceding bytes are no longer
  ///   in memory.
  private func proven(_ state: State?, by hash: SHA256) async throws(UploadError) -> State? {
    guard let state, ContentDigest(sha256: hash.finalize()) != state.place.prefix else { return state }
    await giveUp(state)
    throw failure.interrupted("what was sent before is not of this file, and was given up")
  }

  private func beginning(
    with part: [UInt8], through: Int64, _ hash: SHA256, insteadOf gone: UploadCheckpoint?
  ) async throws(UploadError) -> State {
    // A creation never contains a whole object: if its reply were lost, nobody would know where the object is.
    let first =
      server.takesFirstPart && through < source.size && part.count <= requestSize.most ? part : []
    let begun: State
    do throws(UploadError) {
      begun = try await begin(replacing: gone, first: first, hash: hash)
    } catch {
      guard error.code == .tooLarge, requestSize.shrink(below: first.count) else { throw error }
      return try await beginning(with: part, through: through, hash, insteadOf: gone)
    }
    if !first.isEmpty {
      guard case .partial(let offset, _) = try await client.standing(of: begun.place.url, key),
        offset <= first.count
      else { throw failure.interrupted("the upload that was begun is not there") }
      return try await append(
        Array(part.dropFirst(Int(clamping: offset))), through: through, hash,
        State(checkpoint: begun.checkpoint, place: begun.place, offset: offset))
    }
    return try await append(part, through: through, hash, begun)
  }

  /// Creates an upload and records its address.
  private func begin(
    replacing old: UploadCheckpoint?, first: [UInt8], hash: SHA256
  ) async throws(UploadError) -> State {
    let url = try await client.create(on: server, key, source, first: first)
    do throws(UploadError) {
      let place = TusUploadState(
        url, through: Int64(first.count), prefix: try digest(first.isEmpty ? SHA256() : hash))
      let checkpoint = try checkpoint(place)
      guard try await ledger.exchange(old, for: checkpoint) else { throw failure.taken(key) }
      return State(checkpoint: checkpoint, place: place, offset: 0)
    } catch {
      // No checkpoint names this upload, so nothing could ever resume or remove it.
      await Task { await end(url) }.value
      throw error
    }
  }

  /// Sends `bytes`, which end at `through`, at the server's offset.
  private func append(
    _ bytes: [UInt8], through: Int64, _ hash: SHA256, _ state: State
  ) async throws(UploadError) -> State {
    var state = state
    guard !bytes.isEmpty else { return state }
    let place = TusUploadState(state.place.url, through: through, prefix: try digest(hash))
    try await write(place, &state)
    var rest = bytes[...]
    while !rest.isEmpty {
      if Task.isCancelled { throw UploadError(.cancelled, "cancelled; try again to resume") }
      // A piece that is the whole part is not copied.
      let piece =
        rest.count == bytes.count && rest.count <= requestSize.most
        ? bytes : Array(rest.prefix(requestSize.most))
      let (start, end) = (through - Int64(rest.count), through - Int64(rest.count - piece.count))
      do throws(UploadError) {
        switch try await client.append(
          piece, at: start, of: source.size, to: place.url, checksum: server.checksum, key)
        {
        case .taken(let offset): state.offset = offset
        case .lastRefused(let reply):
          try await settle(reply, &state)
          throw failure(refusing: key, reply)
        }
      } catch {
        guard error.code == .tooLarge, requestSize.shrink(below: piece.count) else { throw error }
        try await write(place, &state)
        continue
      }
      guard state.offset == end else {
        throw failure.interrupted("the server's offset is \(state.offset) bytes instead of \(end)")
      }
      rest = rest.dropFirst(piece.count)
    }
    return state
  }

  /// Records the upload's state, unless it is recorded already.
  private func write(_ place: TusUploadState, _ state: inout State) async throws(UploadError) {
    guard place != state.place else { return }
    let checkpoint = try checkpoint(place)
    guard try await ledger.exchange(state.checkpoint, for: checkpoint) else { throw failure.taken(key) }
    (state.checkpoint, state.place) = (checkpoint, place)
  }

  /// Handles the server's refusal of the last part. The server may have stored its bytes and refused the whole upload
  /// (tusd: a hook's refusal, or a bucket that did not put it together). When asked, it then says that everything is
  /// there, as if it were stored. So the refusal is recorded before the server is asked.
  /// - Throws: if it refused the whole upload, which is then given up.
  private func settle(_ reply: HTTPReply, _ state: inout State) async throws(UploadError) {
    var place = state.place
    place.isRefused = true
    try await write(place, &state)
    guard case .whole? = try? await client.standing(of: place.url, key) else { return }
    await giveUp(state)
    throw failure.refused(key, reply)
  }

  private func digest(_ hash: SHA256) throws(UploadError) -> ContentDigest {
    guard let digest = ContentDigest(sha256: hash.finalize()) else {
      throw UploadError(.rejected, "SHA-256 gave no digest: report this")
    }
    return digest
  }

  private func checkpoint(_ place: TusUploadState) throws(UploadError) -> UploadCheckpoint {
    guard let checkpoint = UploadCheckpoint(place.text, of: source.digest) else {
      throw failure.badLocation()
    }
    return checkpoint
  }
}

/// The number of bytes that one request sends. It is reduced once a server, or a proxy in front of it (nginx, whose
/// limit is 1 MiB unless somebody raises it), has said that they were too many. Resuming an upload does not depend
/// on it.
final class TusRequestSize: Sendable {
  private let current: Mutex<Int>
  /// The minimum. A server that refuses even this accepts nothing.
  private static let least = 64 << 10
  /// Some servers require all requests but the last to send a multiple of this.
  private static let granule = 256 << 10

  init(_ most: Int) { current = Mutex(most) }

  var most: Int { current.withLock { $0 } }

  /// Reduces it below `count`; false if it is at its minimum. Other uploads may have done so already.
  func shrink(below count: Int) -> Bool {
    current.withLock { most in
      if most < count { return true }
      guard count > Self.least else { return false }
      let half = count / 2
      most = max(Self.least, half < Self.granule ? half : half / Self.granule * Self.granule)
      return true
    }
  }
}
