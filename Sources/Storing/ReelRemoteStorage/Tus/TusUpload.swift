import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization

/// One upload, begun or gone on with, in parts of which each is written down before it goes out.
struct TusUpload: Sendable {
  let source: UploadSource
  let key: ObjectKey
  let server: TusServer
  let client: TusClient
  let failure: TusFailure
  let ledger: CheckpointLedger
  let partSize: Int
  /// Bytes that one request may send.
  let requestSize: TusRequestSize
  let reporting: @Sendable (TransferProgress) -> Void

  private struct State {
    var checkpoint: UploadCheckpoint
    var place: TusUploadState
    /// Bytes that the server has acknowledged.
    var offset: Int64
  }

  /// Sends what is missing, and gives the object's address.
  func run() async throws(UploadError) -> TusURL {
    let found = try await earlier()
    var state = found.state
    reporting(TransferProgress(sent: state?.offset ?? 0, total: source.size))
    do throws(UploadError) {
      try await send(&state, insteadOf: found.gone)
    } catch {
      // What was sent is of other bytes: nobody can go on with it.
      if [.sourceChanged, .sourceUnreadable].contains(error.code), let state { await giveUp(state) }
      throw error
    }
    // An empty source has no part.
    guard let url = state?.place.url else {
      return try await begin(replacing: found.gone, first: [], hash: SHA256()).place.url
    }
    return url
  }

  // MARK: What is there

  /// What was written down of an earlier upload.
  private struct Earlier {
    /// One of these bytes that the server still has.
    var state: State?
    /// One that it has no more, or whose address can't be read. It stays written down until another is created in its
    /// place.
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
      // A key is one video's: whoever comes with another is a rival, and ends no upload but its own.
      guard kept.digest == source.digest else { throw failure.taken(key) }
      if length ?? source.size == source.size, isWithinItsPart(state) {
        return Earlier(state: state)
      }
      await giveUp(state)
      return Earlier()
    case .gone: return Earlier(gone: kept)
    }
  }

  /// Whether the server stands in the part that was written down last: what came before it was acknowledged, and what
  /// it is made of is known. Parts of another size are another version's, or another setting's.
  private func isWithinItsPart(_ state: State) -> Bool {
    let through = state.place.through
    guard through <= source.size, through % Int64(partSize) == 0 || through == source.size else {
      return false
    }
    let start = max(0, through - 1) / Int64(partSize) * Int64(partSize)
    return (start...through).contains(state.offset)
  }

  /// Removes what was begun where the server can (else it expires there), and forgets it. In a task of its own, as this
  /// one may be cancelled.
  private func giveUp(_ state: State) async {
    await Task {
      await end(state.place.url)
      try? await ledger.forget(state.checkpoint)
    }.value
  }

  /// Removes an upload where the server can.
  private func end(_ url: TusURL) async {
    if server.canTerminate { _ = try? await client.terminate(url, key) }
  }

  // MARK: Sending

  /// Reads the source from its beginning: what the server has already is only hashed, and held against what was
  /// written down of it.
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
        // Several uploads hold a part each: one that goes out whole is not copied.
        let missing = known == 0 ? part : Array(part.dropFirst(known))
        state = try await append(missing, through: read, hash, begun)
      } else {
        state = try await beginning(with: part, through: read, hash, insteadOf: gone)
      }
      reporting(TransferProgress(sent: state?.offset ?? read, total: source.size))
    }
  }

  /// The state, when the bytes that the server has are the source's; nil when they are others and were given up.
  /// - Throws: `interrupted` in the latter case, as what came before is not in memory any more.
  private func proven(_ state: State?, by hash: SHA256) async throws(UploadError) -> State? {
    guard let state, ContentDigest(sha256: hash.finalize()) != state.place.prefix else { return state }
    await giveUp(state)
    throw failure.interrupted("what was sent before is not of this file, and was given up")
  }

  private func beginning(
    with part: [UInt8], through: Int64, _ hash: SHA256, insteadOf gone: UploadCheckpoint?
  ) async throws(UploadError) -> State {
    // A creation never makes a whole object: if its answer were lost, nobody would know where that is.
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

  /// Creates an upload and writes down where it is.
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
      // Nothing names it, so nobody would find it again.
      await Task { await end(url) }.value
      throw error
    }
  }

  /// Sends `bytes`, which end at `through`, where the server stands.
  private func append(
    _ bytes: [UInt8], through: Int64, _ hash: SHA256, _ state: State
  ) async throws(UploadError) -> State {
    var state = state
    guard !bytes.isEmpty else { return state }
    let place = TusUploadState(state.place.url, through: through, prefix: try digest(hash))
    try await write(place, &state)
    var rest = bytes[...]
    while !rest.isEmpty {
      if Task.isCancelled { throw UploadError(.cancelled, "cancelled; try again to go on") }
      // One that goes out whole is not copied.
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
        throw failure.interrupted("the server stands at \(state.offset) bytes instead of \(end)")
      }
      rest = rest.dropFirst(piece.count)
    }
    return state
  }

  /// Writes down where the upload is, if that was not so yet.
  private func write(_ place: TusUploadState, _ state: inout State) async throws(UploadError) {
    guard place != state.place else { return }
    let checkpoint = try checkpoint(place)
    guard try await ledger.exchange(state.checkpoint, for: checkpoint) else { throw failure.taken(key) }
    (state.checkpoint, state.place) = (checkpoint, place)
  }

  /// The server has refused the last part. It may have taken its bytes, and refuse the whole (tusd: a hook's no, or a
  /// bucket that did not put it together): asked for it, it says then that all is there, as if it were stored. So its no
  /// is written down before it is asked.
  /// - Throws: where it refused the whole, which is given up.
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

/// How many bytes one request sends: fewer once a server, or what stands before it (nginx, whose limit is 1 MiB unless
/// somebody raises it), has said that they were too many. What an upload is resumed by does not depend on it.
final class TusRequestSize: Sendable {
  private let current: Mutex<Int>
  /// Who takes no more than this takes nothing.
  private static let least = 64 << 10
  /// What some servers want all but the last to be a multiple of.
  private static let granule = 256 << 10

  init(_ most: Int) { current = Mutex(most) }

  var most: Int { current.withLock { $0 } }

  /// Makes it less than `count`; false where that is as little as there is. Others may have done so meanwhile.
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
