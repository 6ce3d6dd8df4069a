import Dispatch
import ReelCore
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Testing

/// Runs without a view model, started by an actor of the test's own. They never wait for the main actor.
@Suite("A run without a view model", .shortTime)
struct IngestRunTests {
  let catalog = MemoryCatalog()
  let store = MemoryUploader()

  private func services(
    _ prober: ScriptedProber = ScriptedProber(), uploader: (any Uploader)? = nil
  ) -> IngestServices {
    IngestServices(prober: prober, uploader: uploader ?? store, catalog: catalog)
  }

  /// Stands in for a server: an actor whose methods pass ordinary closures.
  private actor Server {
    let services: IngestServices
    var types: [String] = []

    init(_ services: IngestServices) { self.services = services }

    func upload(_ file: SourceInput) async -> PublishResult {
      await services.publish(file) { types.append($0.body.type) }
    }

    func takeIn(_ folder: SourceInput) async -> RunSummary {
      let run = services.ingest([folder])
      for await event in run { types.append(event.body.type) }
      return await run.summary
    }
  }

  @Test("observers of a run that never starts are released")
  func neverBegun() async {
    let events: IngestEvents
    do {
      let services = IngestServices(
        prober: ScriptedProber(), uploader: MemoryUploader(), catalog: MemoryCatalog())
      events = services.ingest([SourceInput(path: SourcePath("nothing"))]).events()
    }
    for await event in events { Issue.record("\(event)") }
  }

  @Test("publishing one video from an actor returns its outcome and delivers its events in order")
  func publish() async throws {
    let folder = ClipFolder(["a.mp4"])
    let server = Server(services())
    guard case .published(let post) = await server.upload(folder.file("a.mp4")) else {
      Issue.record("not published")
      return
    }
    let types = await server.types
    #expect(types.first == "run.started" && types.contains("post.published") && types.last == "run.finished")
    #expect(await services().publish(folder.file("a.mp4")) == .duplicate(post))
    guard case .failed(let failure) = await services().publish(folder.input) else {
      Issue.record("a folder was published")
      return
    }
    #expect(failure.code == "isDirectory")
  }

  @Test("a batch run from an actor delivers every event, and its summary is that of the last one")
  func ingest() async {
    let folder = ClipFolder(["a.mp4", "b.mp4"])
    let server = Server(services())
    let summary = await server.takeIn(folder.input)
    #expect(summary.published == 2 && summary.outcome == .completed)
    let types = await server.types
    #expect(types.filter { $0 == "post.published" }.count == 2 && types.last == "run.finished")
  }

  @Test("the summary can be had without events, and asking twice gives the same one")
  func summaryAlone() async {
    let folder = ClipFolder(["a.mp4"])
    let run = services().ingest([folder.input])
    #expect(run.state.phase == .idle)
    async let other = run.summary
    let summary = await run.summary
    #expect(summary.published == 1 && run.state.phase == .finished(summary))
    #expect(await other == summary)
  }

  @Test("a run cancelled before it begins ends as cancelled and ingests nothing")
  func cancelledFirst() async {
    let folder = ClipFolder(["a.mp4"])
    let run = services().ingest([folder.input])
    run.cancel()
    let summary = await run.summary
    #expect(summary.outcome == .cancelled && summary.published == 0 && store.keys.isEmpty)
  }

  @Test("a run cancelled while its store is prepared ends as cancelled, and so does publishing one video")
  func cancelledPreparing() async {
    let folder = ClipFolder(["a.mp4"])
    let services = services(uploader: SlowToPrepare(base: store))
    let run = services.ingest([folder.input])
    run.cancel()
    let summary = await run.summary
    #expect(summary.outcome == .cancelled && summary.error == nil)
    let input = folder.file("a.mp4")
    let publishing = Task { await services.publish(input) }
    publishing.cancel()
    #expect(await publishing.value == .cancelled)
  }

  @Test(
    "a task cancelled in its loop gets every event up to the last, and uploads in flight are rolled back"
  )
  func cancelledTask() async {
    let folder = ClipFolder(["a.mp4"])
    let begun = AsyncStream<Void>.makeStream()
    let endless = ScriptedUploader(base: store) { _ throws(UploadError) in
      begun.continuation.yield()
      do { try await Task.sleep(for: .seconds(3600)) } catch { throw UploadError(.cancelled, "cancelled") }
    }
    let server = Server(services(uploader: endless))
    let input = folder.input
    let task = Task { await server.takeIn(input) }
    for await _ in begun.stream { break }
    task.cancel()
    #expect(await task.value.outcome == .cancelled)
    #expect(await server.types.last == "run.finished")
    #expect(store.keys.isEmpty)
  }

  @Test("no more files are in flight than asked for, however many wait", arguments: [1, 3, 10, 40])
  func inFlight(_ most: Int) async {
    let folder = ClipFolder((0..<80).map { "\(100 + $0).mp4" })
    let slow = ScriptedUploader(base: store, isLatencyBound: true) { _ throws(UploadError) in
      for _ in 0..<10 { await Task.yield() }
    }
    var options = IngestOptions()
    options.maxInFlight = most
    let run = services(uploader: slow).ingest([folder.input], options: options)
    var (begun, highest) = (0, 0)
    for await event in run {
      if case .fileStarted = event.body { begun += 1 }
      if event.body.file != nil, event.body.isTerminal { begun -= 1 }
      highest = max(highest, begun)
    }
    #expect(highest <= most && highest > 0)
    #expect(await run.summary.published == 80)
  }

  @Test("an actor's ordinary closure gets the facts until it has enough")
  func facts() async throws {
    actor Reader {
      var paths: [SourcePath] = []

      func read(_ run: ProbeRun) async throws {
        try await run.run { file in
          paths.append(file.path)
          return paths.count < 2
        }
      }
    }
    let folder = ClipFolder(["a.mp4", "b.mp4", "c.mp4"])
    let reader = Reader()
    try await reader.read(ProbeRun(inputs: [folder.input], prober: ScriptedProber(), width: 2))
    #expect(await reader.paths.map(\.lastComponent.text) == ["a.mp4", "b.mp4"])
  }

  @Test("leaving the loop cancels the run; its summary waits for its end")
  func left() async {
    let folder = ClipFolder(["a.mp4"])
    let begun = DispatchSemaphore(value: 0)
    let prober = ScriptedProber(cancellable: { _, cancellation throws(ProbeError) in
      let end = DispatchSemaphore(value: 0)
      let waking = cancellation.onSet { end.signal() }
      begun.signal()
      end.wait()
      cancellation.clear(waking)
      throw ProbeError(.cancelled, "cancelled")
    })
    let run = services(prober).ingest([folder.input])
    for await event in run where event.body.type == "run.scanned" {
      await DispatchQueue(label: "test").run { begun.wait() }
      break
    }
    #expect(await run.summary.outcome == .cancelled)
  }
}

/// A store whose preparation lasts until its task is cancelled.
private struct SlowToPrepare: UploaderDecorator {
  let base: any Uploader

  func prepare() async throws(UploadError) {
    for await _ in AsyncStream<Void>.makeStream().stream {}
    throw UploadError(.cancelled, "cancelled")
  }
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await base.upload(source, to: key, reporting: reporting)
  }
}

extension DispatchQueue {
  fileprivate func run(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      async {
        body()
        continuation.resume()
      }
    }
  }
}
