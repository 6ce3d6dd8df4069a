import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import Reel
import Synchronization

/// Publishes complete uploads and reports what became of them: each once, whoever asks, and however often.
///
/// A publication continues whether or not its sender still listens. If the process dies in the middle, the next
/// judgement of the same upload continues it: its post is reported as published until the verdict is on disk
/// (``IngestOptions/isAcknowledged``).
/// (``IngestOptions/isAcknowledged``).
final class Judge: Sendable {
  private let services: IngestServices
  private let store: UploadStore
  private let maxSize: Int64
  private let posters: IngestOptions.Posters
  private let metrics: ServerMetrics
  private let logger: Logger
  private let outbox: EventOutbox?
  private let addresses: SharedAddresses?
  private let places: Places
  private let running = Mutex<[UploadID: Task<Judgement, Never>]>([:])
  /// How often each doubtful video was tried, and when a try was last counted.
  private let doubts = Mutex<[ContentDigest: (tries: Int, at: Date)]>([:])
  /// Verdicts that could not be saved yet. If this process judged these uploads again, a post would be called a
  /// duplicate of itself.
  private let unwritten = Mutex<[UploadID: Ending]>([:])

  private struct Ending {
    let verdict: Verdict
    /// What the run reported about posts.
    var told: [IngestEvent] = []
    /// Nil where none was needed.
    var run: IngestRun?
    var isAnnounced = false
  }

  /// How often a video is tried when it is in doubt whether the video or the server is to blame.
  private static let mostTries = 3
  /// Seconds after which another try counts: the server's trouble may last for a while, in which a sender asks again
  /// and again.
  private static let tryPause = 50.0
  /// Seconds after which a try no longer counts.
  private static let tryMemory = 3_600.0
  private static let mostDoubts = 1_000

  /// - Parameters:
  ///   - atOnce: the number of uploads judged at a time.
  ///   - outbox: where events of posts wait for the webhook; nil where there is none.
  ///   - addresses: the record of addresses for one upload, for servers that share the catalog; nil where the catalog
  ///     is this server's own.
  init(
    _ services: IngestServices, _ store: UploadStore, maxSize: Int64, posters: IngestOptions.Posters,
    atOnce: Int, outbox: EventOutbox? = nil, addresses: SharedAddresses? = nil, metrics: ServerMetrics,
    logger: Logger
  ) {
    (self.services, self.store, self.maxSize, self.posters) = (services, store, maxSize, posters)
    (self.outbox, self.addresses, self.metrics, self.logger) = (outbox, addresses, metrics, logger)
    places = Places(atOnce)
  }

  /// Prepares for an upload that will soon be complete. Starting a reader takes longer than all that is done after the
  /// last byte.
  func expectOne() async {
    async let preparation: Void? = try? services.uploader.prepare()
    await services.prober.warmUp(for: 1)
    await preparation
  }

  /// Judges an upload whose bytes are all there.
  func judgement(of upload: Upload) async -> Judgement {
    if let verdict = upload.state.verdict { return .verdict(verdict) }
    let id = upload.id
    let task = running.withLock { running in
      if let task = running[id] { return task }
      let task = Task { [self] in
        defer { self.running.withLock { _ = $0.removeValue(forKey: id) } }
        return await judge(id)
      }
      running[id] = task
      return task
    }
    return await task.value
  }

  /// The upload with its verdict, if it is complete and the client waits for one.
  /// - Parameter place: the headers that say where the upload stands, for an error.
  /// - Throws: why there is no verdict yet: the client would take anything else for one.
  func told(_ upload: Upload, _ request: Request, place: HTTPFields) async throws(Problem) -> Upload {
    guard upload.isComplete, !request.headers.prefers("respond-async") else { return upload }
    switch await judgement(of: upload) {
    case .verdict(let verdict):
      var upload = upload
      upload.state.verdict = verdict
      return upload
    case .postponed(var problem), .unwritten(var problem):
      problem.headers = place
      throw problem
    }
  }

  /// Saves a verdict that could not be saved earlier. To be called before its upload is removed, as its post may still
  /// have to be reported.
  /// - Throws: when the verdict still can't be saved.
  func concludeUnwritten(_ id: UploadID) async throws(Problem) {
    guard unwritten.withLock({ $0[id] }) != nil else { return }
    let judgement = try await store.holding(id, waits: true) { () async throws(Problem) -> Judgement? in
      guard let ending = unwritten.withLock({ $0[id] }) else { return nil }
      return await conclude(id, ending)
    }
    if case .unwritten(let problem) = judgement { throw problem }
  }

  /// Saves all verdicts that could not be saved earlier.
  func concludeUnwritten() async {
    for id in unwritten.withLock({ Array($0.keys) }) { try? await concludeUnwritten(id) }
  }

  /// Waits for all uploads that are being judged.
  func drain() async {
    while let task = running.withLock({ $0.values.first }) { _ = await task.value }
  }

  private func judge(_ id: UploadID) async -> Judgement {
    do {
      return try await store.holding(id, waits: true) { () throws(Problem) in
        if let ending = unwritten.withLock({ $0[id] }) { return await conclude(id, ending) }
        // The upload may have changed since the caller looked.
        let upload = try await store.find(id)
        if let verdict = upload.state.verdict { return .verdict(verdict) }
        guard upload.isComplete else { throw .busy }
        return try await publish(upload)
      }
    } catch {
      return .postponed(error)
    }
  }

  private func publish(_ upload: Upload) async throws(Problem) -> Judgement {
    await places.take()
    defer { places.giveBack() }
    let (id, state) = (upload.id, upload.state)
    let file = try await store.seal(upload)
    // If the power fails once it is a post, the next server has to report it.
    if outbox != nil, !state.isDurable { try await store.keep(upload) }
    guard try await spendAddress(of: upload, for: file.digest) else {
      return await conclude(id, Ending(verdict: .spent))
    }
    var options = IngestOptions()
    options.metadata = state.words
    options.maxSize = min(state.most ?? maxSize, maxSize)
    options.posters = posters
    options.jobs = 1
    // The upload's own name means nothing.
    options.keepsSourceName = false
    options.isAcknowledged = true
    let run = services.ingest([SourceInput(file)], options: options)
    var result: PublishResult?
    var told: [IngestEvent] = []
    for await event in run {
      result = result ?? PublishResult(event.body)
      if case .postPublished = event.body { told.append(event) }
    }
    let error = await run.summary.error
    let end = result ?? error.map(PublishResult.failed) ?? .cancelled
    let judgement = Judgement(end)
    switch judgement {
    case .verdict(let verdict):
      doubts.withLock { $0[file.digest] = nil }
      return await conclude(id, Ending(verdict: verdict, told: told, run: run))
    case .postponed(let problem), .unwritten(let problem):
      log(problem, id)
      guard let doubt = end.doubt, isTriedEnough(file.digest) else { return judgement }
      return await conclude(id, Ending(verdict: .refused(doubt), run: run))
    }
  }

  /// Counts a try along with those of the last hour. The bytes identify the video, because a client that uses `PUT`
  /// makes a new upload each time.
  private func isTriedEnough(_ digest: ContentDigest) -> Bool {
    let now = store.now
    return doubts.withLock { doubts in
      let last = doubts[digest].flatMap { abs(now.timeIntervalSince($0.at)) < Self.tryMemory ? $0 : nil }
      if let last, abs(now.timeIntervalSince(last.at)) < Self.tryPause { return false }
      let tries = (last?.tries ?? 0) + 1
      if doubts.count >= Self.mostDoubts { doubts.removeAll() }
      doubts[digest] = tries < Self.mostTries ? (tries, now) : nil
      return tries >= Self.mostTries
    }
  }

  /// Spends the upload's address, if it came by one, for these bytes; false where other bytes came by it before.
  @discardableResult
  private func spendAddress(
    of upload: Upload, for digest: ContentDigest
  ) async throws(Problem) -> Bool {
    guard let addresses, let end = upload.state.rememberedUntil else { return true }
    do throws(CatalogError) {
      return try await addresses.spend(upload.id, until: end, for: digest, now: Date())
    } catch {
      var problem = Problem(
        .serviceUnavailable, "catalog.\(error.code.rawValue)", "the server can't publish it just now",
        retryAfter: 10)
      problem.detail = error.message
      log(problem, upload.id)
      throw problem
    }
  }

  /// Refuses an upload because of its first bytes. The caller must hold it.
  func refuse(_ upload: Upload, _ verdict: Verdict) async throws(Problem) {
    // Its address is spent all the same. There are no bytes to spend it for, hence zeros.
    if let digest = ContentDigest(sha256: [UInt8](repeating: 0, count: 32)) {
      try await spendAddress(of: upload, for: digest)
    }
    try await settle(upload.id, verdict)
  }

  /// Saves a verdict. Events are saved first: if the process dies in between, the upload is judged, and reported,
  /// again.
  private func conclude(_ id: UploadID, _ ending: Ending) async -> Judgement {
    var ending = ending
    do throws(Problem) {
      if !ending.isAnnounced { try await announce(ending.told) }
      ending.isAnnounced = true
      try await settle(id, ending.verdict)
    } catch .noSuchUpload {
      // The upload's time is over, and nobody asks for it any more. Its post has been announced.
    } catch {
      unwritten.withLock { $0[id] = ending }
      log(error, id)
      return .unwritten(error)
    }
    unwritten.withLock { $0[id] = nil }
    await ending.run?.acknowledge(ending.told)
    return .verdict(ending.verdict)
  }

  private func announce(_ events: [IngestEvent]) async throws(Problem) {
    guard let outbox, !events.isEmpty else { return }
    do {
      try await store.disk.run { () throws(Problem) in _ = try outbox.add(events.map(\.withoutUpload)) }
    } catch {
      guard error != .diskFull else { throw error }
      var problem = Problem(
        .serviceUnavailable, "events", "the server can't tell of it just now", retryAfter: 10)
      problem.detail = "events can't be kept: \(error.message)"
      throw problem
    }
  }

  private func log(_ problem: Problem, _ id: UploadID) {
    metrics.count(problem: problem.code)
    logger.error(
      "not judged",
      metadata: [
        "upload": "\(id)", "code": "\(problem.code)", "message": "\(problem.detail ?? problem.message)",
      ])
  }

  /// Records a verdict. The caller must hold the upload.
  private func settle(_ id: UploadID, _ verdict: Verdict) async throws(Problem) {
    try await store.settle(id, verdict)
    metrics.count(verdict)
    var metadata: Logger.Metadata = ["upload": "\(id)", "verdict": "\(verdict.word.rawValue)"]
    if let post = verdict.post { metadata["post"] = "\(post.id)" }
    if let problem = verdict.problem { metadata["code"] = "\(problem.code)" }
    logger.info("judged", metadata: metadata)
  }
}

/// A number of places, which are given out first come, first served.
private final class Places: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: max(1, count))) }

  func take() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.free > 0 {
          state.free -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func giveBack() {
    let next: CheckedContinuation<Void, Never>? = state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}
