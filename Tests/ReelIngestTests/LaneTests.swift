import Dispatch
import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTesting
import Synchronization
import ReelTestSupport
import Testing

@testable import ReelIngest

/// The files of one batch do not affect one another.
@Suite("A lane", .shortTime)
@MainActor
struct LaneTests {
  let catalog = MemoryCatalog()
  let folder = ClipFolder()
  let library = ClipFolder()

  private func run(
    _ prober: any MediaProber = ScriptedProber(), jobs: Int = 1, isLatencyBound: Bool = true,
    onStep: @escaping @Sendable (IntakeStep) -> Void = { _ in }
  ) async -> (summary: RunSummary, types: [Int: [String]]) {
    let folder = FolderUploader(root: library.path + "/media")
    var services = IngestServices(
      prober: prober, uploader: isLatencyBound ? folder : OneByOne(base: folder), catalog: catalog)
    services.onStep = onStep
    var options = IngestOptions()
    options.jobs = jobs
    let model = IngestModel(inputs: [self.folder.input], options: options, services: services)
    let stream = model.events()
    let summary = await model.run()
    var types: [Int: [String]] = [:]
    for await event in stream {
      if let file = event.body.file { types[file.number, default: []].append(event.body.type) }
    }
    return (summary, types)
  }

  private var stored: Int {
    let names = try? FileManager.default.contentsOfDirectory(atPath: library.path + "/media")
    return (names ?? []).filter { $0.hasSuffix(".mp4") }.count
  }

  @Test("publishes a hundred files, and reports each one's steps in order")
  func publishes() async throws {
    for number in 0..<100 { folder.add("\(number).mp4", "bytes of \(number)") }
    let (summary, types) = await run()
    #expect(summary.published == 100 && stored == 100)
    let steps = ["file.started", "file.probed", "file.named", "upload.progress", "post.published"]
    for (_, told) in types { #expect(told == steps || told == steps.filter { $0 != "upload.progress" }) }
    #expect(try await catalog.status().unfinished == 0)
  }

  @Test("equal files in one batch become one post, and the others are its duplicates")
  func equal() async {
    for number in 0..<20 { folder.add("\(number).mp4", "the same") }
    let (summary, types) = await run()
    #expect(summary.published == 1 && summary.duplicates == 19 && stored == 1)
    #expect(types.values.filter { $0.last == "post.published" }.count == 1)
  }

  @Test("pairs of equal files in full batches keep no lane waiting for an intent that it holds itself")
  func pairs() async {
    for number in 0..<150 {
      folder.add("\(1000 + number).mp4", "bytes of \(number)")
      folder.add("\(1000 + number) (1).mp4", "bytes of \(number)")
    }
    // Only one file at a time proceeds alone here: the others of the batch wait for intents that their own lane holds.
    let (summary, _) = await run(isLatencyBound: false)
    #expect(summary.published == 150 && summary.duplicates == 150 && stored == 150)
  }

  @Test("what is learned of files that become no posts is remembered during the run")
  func notes() async throws {
    for number in 0..<800 { folder.add("\(1000 + number).mp4", "bytes of \(number)") }
    let first = try #require(ContentDigest(sha256: SHA256.hash(data: Array("bytes of 0".utf8))))
    let seen = Mutex((hashed: 0, isRemembered: false))
    let (summary, _) = await run(FailingProber()) { [catalog] step in
      guard step == .hashed else { return }
      seen.withLock { seen in
        seen.hashed += 1
        guard seen.hashed == 800 else { return }
        let outcomes = try? catalog.probeOutcomes(of: [first], by: SlowProber.version)
        seen.isRemembered = outcomes?.first.flatMap { $0 } != nil
      }
    }
    #expect(summary.failed == 800)
    let isRemembered = seen.withLock { $0.isRemembered }
    #expect(isRemembered)
  }

  @Test("what is learned of a file that becomes no post is remembered while no other file comes")
  func idle() async throws {
    folder.add("bad.mp4", "bytes of bad")
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: Array("bytes of bad".utf8))))
    let isRemembered = Mutex(false)
    let tick = DispatchSemaphore(value: 0)
    // The next file comes only once the outcome is remembered.
    let feed = WaitingFeed(folder.input) { [catalog] in
      for _ in 0..<60_000 {
        let outcomes = try? catalog.probeOutcomes(of: [digest], by: SlowProber.version)
        if outcomes?.first.flatMap({ $0 }) != nil {
          isRemembered.withLock { $0 = true }
          return
        }
        _ = tick.wait(timeout: .now() + .milliseconds(10))
      }
    }
    let services = IngestServices(prober: FailingProber(), uploader: MemoryUploader(), catalog: catalog)
    let summary = await IngestRun(feed: feed, options: IngestOptions(), services: services).summary
    #expect(summary.failed == 1)
    #expect(isRemembered.withLock { $0 })
    #expect(try await catalog.status().failures.map(\.failure.code) == ["corrupt"])
  }

  @Test("every event about a file carries its feed's ticket, even if the run has skipped other files")
  func tickets() async {
    for number in 0..<40 {
      folder.add("\(number).mp4", "bytes of \(number % 30)")
      folder.add("\(number).txt", "no video")
    }
    let feed = TicketFeed(folder.input)
    let services = IngestServices(
      prober: ScriptedProber(), uploader: MemoryUploader(), catalog: catalog)
    let model = IngestModel(feed: feed, options: IngestOptions(), services: services)
    let stream = model.events()
    let summary = await model.run()
    #expect(summary.published == 30 && summary.duplicates == 10)
    var files: Set<SourcePath> = []
    for await event in stream {
      guard let file = event.body.file else { continue }
      files.insert(file.path)
      #expect(file.ticket == TicketFeed.ticket(of: file.path))
    }
    #expect(files.count == 40)
  }

  @Test("each file is counted once, even if the walk that counts ahead judged it differently")
  func countedAhead() async {
    folder.add("a.mp4", "bytes of a")
    // The walk that looks first finds the file settled; the other one finds it recently changed.
    let looks = Mutex(0)
    var walk = WalkOptions()
    walk.settle = .seconds(3600)
    walk.now = {
      looks.withLock { looks in
        looks += 1
        return looks == 1 ? Date() + 86_400 : Date()
      }
    }
    var options = IngestOptions()
    options.countsAhead = true
    let services = IngestServices(prober: ScriptedProber(), uploader: MemoryUploader(), catalog: catalog)
    let run = IngestRun(inputs: [folder.input], walkOptions: walk, options: options, services: services)
    let summary = await run.summary
    #expect(looks.withLock { $0 } == 2)
    #expect(summary.published + summary.leftAlone == 1, "\(summary)")
  }

  @Test("a run that a lane aborts does not wait for its feed")
  func aborted() async {
    folder.add("a.mp4", "bytes of a")
    let cancelled = DispatchSemaphore(value: 0)
    // Stays false as well if the run ends before its feed is asked again.
    let isLate = Mutex(false)
    let feed = WaitingFeed(folder.input, onCancel: { cancelled.signal() }) {
      if cancelled.wait(timeout: .now() + 600) == .timedOut { isLate.withLock { $0 = true } }
    }
    let full = ScriptedCatalog.fullOnce(catalog) { $0 == .claim }
    let services = IngestServices(prober: ScriptedProber(), uploader: MemoryUploader(), catalog: full)
    let summary = await IngestRun(feed: feed, options: IngestOptions(), services: services).summary
    #expect(summary.outcome == .aborted && summary.error?.code == "catalog.diskFull")
    #expect(!isLate.withLock { $0 })
  }

  @Test("a file that is slow to probe delays no other, and becomes a post as well")
  func slowReader() async {
    for number in 0..<40 { folder.add("\(number).mp4", "bytes of \(number)") }
    // Answers once all the others are posts. If they waited for it, that would never happen.
    let others = Countdown(39)
    let prober = SlowProber(slow: "/7.mp4") { () throws(ProbeError) in others.wait() }
    let (summary, _) = await run(prober, jobs: 2) { if $0 == .published { others.count() } }
    #expect(summary.published == 40 && stored == 40)
  }

  @Test("files that are all slow to probe become posts, even if more than can be left for the end")
  func slowReaders() async {
    for number in 0..<80 { folder.add("\(number).mp4", "bytes of \(number)") }
    for bound in [true, false] {
      let prober = SlowProber(slow: ".mp4") { () throws(ProbeError) in }
      let (summary, _) = await run(prober, jobs: 2, isLatencyBound: bound)
      #expect(summary.published == (bound ? 80 : 0) && stored == 80)
    }
  }

  @Test("a slow probe's result is the file's own outcome")
  func slowFailure() async throws {
    for number in 0..<4 { folder.add("\(number).mp4", "bytes of \(number)") }
    let prober = SlowProber(slow: "/2.mp4") { () throws(ProbeError) in
      throw ProbeError(.timeout, "it took too long")
    }
    let (summary, types) = await run(prober, jobs: 2)
    #expect(summary.published == 3 && summary.reasons == ["timeout": 1])
    #expect(types[3] == ["file.started", "file.failed"])
    #expect(try await catalog.status().failures.map(\.failure.code) == ["timeout"])
  }
}

/// The files of a folder, followed by a wait.
private final class WaitingFeed: FileFeed {
  private let walk: SourceWalk
  private let wait: @Sendable () -> Void
  private let onCancel: @Sendable () -> Void

  init(
    _ folder: SourceInput, onCancel: @escaping @Sendable () -> Void = {}, wait: @escaping @Sendable () -> Void
  ) {
    walk = SourceWalk(inputs: [folder], options: WalkOptions())
    (self.wait, self.onCancel) = (wait, onCancel)
  }

  func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem] {
    let items = walk.next(upTo: count, until: isOver)
    if items.isEmpty { wait() }
    return items
  }

  func begin(_ files: [FileReference]) {}

  func cancel() { onCancel() }
}

/// The files of a folder, with tickets derived from their paths.
private struct TicketFeed: FileFeed {
  private let walk: SourceWalk

  init(_ folder: SourceInput) { walk = SourceWalk(inputs: [folder], options: WalkOptions()) }

  static func ticket(of path: SourcePath) -> FeedTicket { FeedTicket(path.hashValue) }

  func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem] {
    walk.next(upTo: count).map { item in
      guard case .candidate(let file) = item else { return FeedItem(item) }
      return FeedItem(item, ticket: Self.ticket(of: file.path))
    }
  }

  func begin(_ files: [FileReference]) {
    for file in files { #expect(file.ticket == Self.ticket(of: file.path)) }
  }

  func cancel() {}
}

/// A folder store in which only one file at a time proceeds alone.
private struct OneByOne: Uploader {
  let base: FolderUploader

  var traits: UploadTraits {
    var traits = base.traits
    traits.isLatencyBound = false
    return traits
  }
  var destination: Destination { base.destination }
  var staging: (any StagingArea)? { base.staging }
  var batches: (any BatchStore)? { base.batches }

  func prepare() async throws(UploadError) { try await base.prepare() }
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await base.upload(source, to: key, reporting: reporting)
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval { try await base.remove(key) }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { try await base.readBack(key) }
}

/// Reports every file as damaged.
private struct FailingProber: MediaProber {
  func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    throw ProbeError(.corrupt, "it is damaged")
  }

  func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    SlowProber.version
  }
}

/// Is slow for some files: those whose path ends in `slow`.
private struct SlowProber: MediaProber {
  let slow: String
  let wait: @Sendable () throws(ProbeError) -> Void

  private struct Pending: PendingProbe {
    let report: ProbeReport
    let wait: @Sendable () throws(ProbeError) -> Void

    func finish() throws(ProbeError) -> ProbeReport {
      try wait()
      return report
    }
  }

  init(slow: String, wait: @escaping @Sendable () throws(ProbeError) -> Void) {
    (self.slow, self.wait) = (slow, wait)
  }

  func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    let report = ProbeReport(
      media: ScriptedProber.video(file),
      provenance: ProbeProvenance(method: .full, isolation: .none, ffmpeg: "0.0.0"))
    if patience != nil, file.path.text.hasSuffix(slow) {
      return .pending(Pending(report: report, wait: wait))
    }
    return .done(report)
  }

  static let version = ReaderVersion(reel: "test", ffmpeg: "0.0.0")

  func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion { Self.version }
}

/// Blocks `wait()` until it has counted down.
private final class Countdown: Sendable {
  private let left: Mutex<Int>
  private let isOver = DispatchSemaphore(value: 0)

  init(_ count: Int) { left = Mutex(count) }

  func count() {
    let isLast = left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { isOver.signal() }
  }

  func wait() { isOver.wait() }
}
