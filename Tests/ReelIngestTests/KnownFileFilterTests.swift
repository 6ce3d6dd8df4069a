import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Synchronization
import Testing

@testable import ReelIngest

/// Files that are known already are not read again.
@Suite("Known files", .shortTime)
@MainActor
struct KnownFileFilterTests {
  let catalog = MemoryCatalog(clock: LaterClock())
  let folder = ClipFolder((0..<40).map { "\($0).mp4" })

  private func run(
    _ prober: ScriptedProber, _ change: (inout IngestOptions) -> Void = { _ in }
  ) async -> (summary: RunSummary, opened: Int, events: [IngestEvent.Body]) {
    var services = IngestServices(
      prober: prober, uploader: store, catalog: catalog, clock: LaterClock())
    let opened = Counter()
    services.onStep = { if $0 == .opened { opened.add() } }
    var options = IngestOptions()
    change(&options)
    let model = IngestModel(inputs: [folder.input], options: options, services: services)
    let stream = model.events()
    let summary = await model.run()
    var events: [IngestEvent.Body] = []
    for await event in stream { events.append(event.body) }
    return (summary, opened.count, events)
  }

  let store = MemoryUploader()

  @Test("duplicates are reported without a reader and without opening a file")
  func posts() async {
    #expect(await run(ScriptedProber()).summary.published == 40)
    let nobody = ScriptedProber(installation: ProbeError(.workerMissing, "no worker"))
    let again = await run(nobody)
    #expect(again.summary.outcome == .completed && again.summary.duplicates == 40)
    #expect(again.opened == 0 && nobody.calls == 0)
    for number in 1...40 {
      let told = again.events.filter { $0.file?.number == number }.map(\.type)
      #expect(told == ["file.started", "file.duplicate"])
    }
    folder.add("new.mp4", "something new")
    #expect(await run(nobody).summary.error?.code == "workerMissing")
  }

  @Test("known failures and refusals are repeated without opening the file, with the same code and time")
  func failures() async throws {
    let prober = ScriptedProber { file throws(ProbeError) in
      if file.path.text.hasSuffix("7.mp4") { throw ProbeError(.notMedia, "it is not a video") }
      var media = ScriptedProber.video(file)
      if file.path.text.hasSuffix("8.mp4") { media.video = nil }
      return media
    }
    let first = await run(prober)
    #expect(first.summary.reasons == ["notMedia": 4, "unsupported": 4] && first.summary.published == 32)
    let remembered = try await catalog.status().failures.map(\.failure)
    let calls = prober.calls
    let again = await run(prober)
    #expect(again.summary.reasons == first.summary.reasons && again.summary.duplicates == 32)
    #expect(again.opened == 0 && prober.calls == calls)
    #expect(try await catalog.status().failures.map(\.failure) == remembered)
    let refused = again.events.filter { $0.type == "file.refused" }.count
    #expect(refused == 4 && again.events.filter { $0.type == "file.probed" }.count == 4)
  }

  @Test("a file refused for its first bytes fails again without being opened and without a reader")
  func firstLook() async throws {
    let look: ScriptedProber.Look = { _ throws(ProbeError) in throw ProbeError(.notMedia, "it is a letter") }
    let nobody = ProbeError(.workerMissing, "no worker")
    let first = await run(ScriptedProber(installation: nobody, look: look))
    #expect(first.summary.reasons == ["notMedia": 40] && first.opened == 40)
    let again = await run(ScriptedProber(installation: nobody, look: look))
    #expect(again.summary.reasons == ["notMedia": 40] && again.opened == 0)
    let told = Set(
      again.events.compactMap { if case .fileFailed(_, let why) = $0 { why.message } else { nil } })
    #expect(told == ["it is a letter"])
  }

  @Test("a reader that can't report its version just now does not end the run: each file gets the reason")
  func shortage() async {
    let refusing = ScriptedProber { _ throws(ProbeError) in throw ProbeError(.corrupt, "it is broken") }
    _ = await run(refusing)
    let again = await run(ScriptedProber(installation: ProbeError(.noReader, "no memory for a reader")))
    #expect(again.summary.outcome == .completed && again.summary.reasons == ["noReader": 40])
  }

  @Test("a file that was modified is read again")
  func changed() async {
    _ = await run(ScriptedProber())
    folder.add("3.mp4", "other bytes")
    let again = await run(ScriptedProber())
    #expect(again.summary.published == 1 && again.summary.duplicates == 39 && again.opened == 1)
  }

  @Test("another post is made of each file if duplicates are allowed")
  func allowed() async {
    _ = await run(ScriptedProber())
    #expect(await run(ScriptedProber()) { $0.duplicates = .allow }.summary.published == 40)
  }

  @Test("stopping at the first failure applies to known failures, too")
  func stops() async {
    let prober = ScriptedProber { _ throws(ProbeError) in throw ProbeError(.notMedia, "it is not a video") }
    _ = await run(prober)
    let again = await run(prober) {
      $0.onError = .stop
      $0.jobs = 1
    }
    #expect(again.summary.outcome == .stopped && again.summary.failed == 1)
  }
}

private final class Counter: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .relaxed) }
  func add() { value.add(1, ordering: .relaxed) }
}
