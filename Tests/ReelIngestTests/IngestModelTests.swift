import Dispatch
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

@Suite("The view model of a batch", .shortTime)
@MainActor
struct IngestModelTests {
  let catalog = MemoryCatalog()
  let store = MemoryUploader()
  private let keeper = Keeper()

  /// Keeps a test's folders until the test ends.
  private final class Keeper {
    var folders: [ClipFolder] = []
  }

  private func services(
    _ prober: ScriptedProber = ScriptedProber(), uploader: (any Uploader)? = nil
  ) -> IngestServices {
    IngestServices(prober: prober, uploader: uploader ?? store, catalog: catalog)
  }

  private func model(
    _ folder: ClipFolder, _ services: IngestServices, _ change: (inout IngestOptions) -> Void = { _ in }
  ) -> IngestModel {
    keeper.folders.append(folder)
    var options = IngestOptions()
    change(&options)
    return IngestModel(inputs: [folder.input], options: options, services: services)
  }

  private func posts() async throws -> [Post] {
    try await catalog.newestPosts(before: nil, limit: 1000).posts
  }

  @Test("publishes each file once, ends each with one event, and shows it in its state")
  func publishes() async throws {
    let folder = ClipFolder(["a.mp4", "b.mp4", "c.mp4"])
    let model = model(folder, services(ScriptedProber { ScriptedProber.video($0) }))
    #expect(model.state == IngestState())
    let (first, second) = (model.events(), model.events())
    let summary = await model.run()
    #expect(summary.published == 3 && summary.failed == 0 && summary.outcome == .completed)
    #expect(model.state.phase == .finished(summary) && model.state.published == 3)
    for events in [first, second] {
      var heard: [IngestEvent] = []
      for await event in events { heard.append(event) }
      #expect(heard.filter { $0.body.isTerminal }.count == 4)
      #expect(heard.last?.body == .runFinished(summary))
      #expect(heard.map(\.sequence) == heard.map(\.sequence).sorted())
    }
    #expect(try await posts().count == 3)
    #expect(try await posts().allSatisfy { $0.caption == "from the file" && $0.videoWidth == 1080 })

    let again = await self.model(folder, services()).run()
    #expect(again.duplicates == 3 && again.published == 0)
  }

  @Test("a file's failure ends only that file")
  func oneFailure() async throws {
    let prober = ScriptedProber { file throws(ProbeError) in
      if file.path.text.hasSuffix("b.mp4") { throw ProbeError(.corrupt, "it is broken") }
      return ScriptedProber.video(file)
    }
    let summary = await model(ClipFolder(["a.mp4", "b.mp4", "c.mp4"]), services(prober)).run()
    #expect(summary.published == 2 && summary.failed == 1 && summary.reasons == ["corrupt": 1])
    let failures = try await catalog.status().failures
    #expect(failures.map(\.failure.code) == ["corrupt"])
  }

  @Test("a file that the policy rejects is refused with every violated rule, and remembered")
  func refused() async throws {
    let prober = ScriptedProber { file throws(ProbeError) in
      var media = ScriptedProber.video(file)
      media.video = nil
      media.truncated = true
      return media
    }
    let folder = ClipFolder(["a.mp4"])
    let model = model(folder, services(prober))
    let events = model.events()
    let summary = await model.run()
    #expect(summary.refused == 1 && summary.reasons == ["unsupported": 1])
    var rules: [String] = []
    for await event in events {
      if case .fileRefused(_, let refusal) = event.body { rules = refusal.violations.map(\.rule) }
    }
    #expect(rules == ["video.none", "file.truncated"])
    #expect(try await posts().isEmpty && store.keys.isEmpty)
  }

  @Test("a file that refers to other files is refused, whether its facts could be read or not")
  func external() async throws {
    let prober = ScriptedProber { file throws(ProbeError) in
      if file.path.text.hasSuffix("b.mp4") { throw .externalMedia }
      var media = ScriptedProber.video(file)
      media.external = true
      return media
    }
    let model = model(ClipFolder(["a.mp4", "b.mp4"]), services(prober))
    let events = model.events()
    let summary = await model.run()
    #expect(summary.refused == 2 && summary.reasons == ["externalMedia": 2])
    for await event in events {
      guard case .fileRefused(_, let refusal) = event.body else { continue }
      #expect(refusal.violations.map(\.rule) == ["media.external"])
      #expect(refusal.message == ProbeError.externalMedia.message)
    }
    #expect(try await posts().isEmpty && store.keys.isEmpty)
  }

  @Test("a file that is too large is refused before it is opened to be read")
  func tooLarge() async throws {
    struct SizePolicy: IntakePolicy {
      func violations(in media: MediaInfo) -> [PolicyViolation] { [] }
      func violations(ofSize size: Int64, of path: SourcePath) -> [PolicyViolation] {
        path.text.hasSuffix("b.mp4") ? [PolicyViolation(rule: "bytes.max", message: "it is too large")] : []
      }
    }
    let steps = Mutex<[IntakeStep]>([])
    let prober = ScriptedProber()
    var services = services(prober)
    services.policy = SizePolicy()
    services.onStep = { step in steps.withLock { $0.append(step) } }
    let folder = ClipFolder()
    folder.add("a.mp4", String(repeating: "a", count: 1001))
    folder.add("b.mp4", "small")
    let model = model(folder, services) { $0.maxSize = 1000 }
    let events = model.events()
    let summary = await model.run()
    #expect(summary.refused == 2 && summary.reasons == ["policy": 2])
    for await event in events {
      guard case .fileRefused(_, let refusal) = event.body else { continue }
      #expect(refusal.violations.map(\.rule) == ["bytes.max"])
    }
    #expect(prober.calls == 0 && steps.withLock(\.isEmpty))
    #expect(await self.model(folder, self.services()) { $0.maxSize = 1001 }.run().published == 2)
  }

  @Test(
    "the message for a file that is too large states its size and its holes",
    arguments: [
      (
        70_000_000_000, nil,
        "it has 70 GB, more than the 64 GB that are accepted; raise `maxSize` to accept it"
      ),
      (
        64_000_000_001, 64_000_000_512,
        "it has 64000000001 bytes, more than the 64000000000 bytes that are accepted; raise `maxSize` to accept it"
      ),
      (
        16_000_000_000_000, 4096,
        "it has 16 TB, more than the 64 GB that are accepted; raise `maxSize` to accept it"
          + " (it is sparse: only 4.096 kB of its 16 TB is stored)"
      ),
      (
        Int64.max, 0,
        "it has 9223372.037 TB, more than the 64 GB that are accepted; raise `maxSize` to accept it"
          + " (it is sparse: only 0 B of its 9223372.037 TB is stored)"
      ),
    ] as [(Int64, Int64?, String)])
  func sizeInWords(size: Int64, stored: Int64?, sentence: String) throws {
    let most = try #require(IngestOptions().maxSize)
    let told =
      SizeWords.tooLarge(size, most: most).description + (SizeWords.holes(size, stored: stored) ?? "")
    #expect(told == sentence)
  }

  @Test("a missing reader ends the run at once, with its reason")
  func noReader() async {
    let prober = ScriptedProber(installation: ProbeError(.workerMissing, "no worker"))
    let summary = await model(ClipFolder(["a.mp4"]), services(prober)).run()
    #expect(summary.outcome == .aborted && summary.error?.code == "workerMissing")
  }

  @Test("an unusable store ends the run; a file that the store refuses does not")
  func storeErrors() async {
    let gone = ScriptedUploader(base: store) { _ throws(UploadError) in
      throw UploadError(.storeUnusable, "gone")
    }
    let names = (0..<20).map { "\($0).mp4" }
    let aborted = await model(ClipFolder(names), services(uploader: gone)) { $0.jobs = 2 }.run()
    #expect(aborted.outcome == .aborted && aborted.error?.code == "storeUnusable")
    #expect(aborted.failed <= 4)

    let full = ScriptedUploader(base: store) { _ throws(UploadError) in throw UploadError(.storeFull, "full")
    }
    let failed = await model(ClipFolder(names), services(uploader: full)).run()
    #expect(failed.outcome == .completed && failed.reasons == ["storeFull": 20])
  }

  @Test("with on-error stop, nothing further is started")
  func stops() async {
    let prober = ScriptedProber { _ throws(ProbeError) in throw ProbeError(.corrupt, "broken") }
    let summary = await model(ClipFolder((0..<50).map { "\($0).mp4" }), services(prober)) {
      $0.onError = .stop
      $0.jobs = 1
    }.run()
    #expect(summary.outcome == .stopped && summary.failed == 1)
  }

  @Test("a dry run plans, but writes nothing")
  func dryRun() async throws {
    let folder = ClipFolder(["a.mp4"])
    folder.add("b.mp4", "bytes of a.mp4")
    let summary = await model(folder, services()) { $0.dryRun = true }.run()
    #expect(summary.planned == 1 && summary.duplicates == 1)
    #expect(try await posts().isEmpty && store.keys.isEmpty)
    #expect(try await catalog.cacheStatus().files == 0)
  }

  @Test("cancelling rolls back uploads in flight; the next run publishes the file under the same name")
  func cancelled() async throws {
    let started = AsyncStream<ObjectKey>.makeStream()
    let slow = ScriptedUploader(base: store) { key throws(UploadError) in
      started.continuation.yield(key)
      do {
        try await Task.sleep(for: .seconds(3600))
      } catch {
        throw UploadError(.cancelled, "cancelled")
      }
    }
    let folder = ClipFolder(["a.mp4"])
    let model = model(folder, services(uploader: slow))
    let run = Task { await model.run() }
    var keys = started.stream.makeAsyncIterator()
    let drawn = await keys.next()
    run.cancel()
    let summary = await run.value
    #expect(summary.outcome == .cancelled && summary.cancelled == 1)
    #expect(summary.failed == 0 && summary.reasons.isEmpty)
    #expect(store.keys.isEmpty)

    let again = await self.model(folder, services()).run()
    #expect(again.published == 1)
    #expect(try await posts().map(\.video) == [drawn].compactMap { $0 })
  }

  @Test("an intent whose completion fails is released, and the next run takes it up")
  func completionFails() async throws {
    let folder = ClipFolder(["a.mp4"])
    let onceFull = ScriptedCatalog.fullOnce(catalog) { $0.isCompletion }
    var mine = services()
    mine.catalog = onceFull
    let first = await model(folder, mine).run()
    #expect(first.outcome == .aborted && first.error?.code == "catalog.diskFull")
    let second = await model(folder, mine).run()
    #expect(second.published == 1)
    #expect(store.keys.count == 1)
  }

  @Test("an intent that is lost every time is reported as lost, and the store is not blamed")
  func leaseLost() async throws {
    let folder = ClipFolder(["a.mp4"])
    var mine = services()
    mine.catalog = ScriptedCatalog.losingLeases(catalog)
    let summary = await model(folder, mine).run()
    #expect(summary.reasons == ["catalog.leaseLost": 1])
    #expect(store.keys.count == 1)
    #expect(await model(folder, services()).run().published == 1)
  }

  @Test("an intent that can't be released ends the run, as a copy of the same video would wait forever")
  func releaseFails() async throws {
    let folder = ClipFolder(["a.mp4", "b.mp4"])
    let full = ScriptedUploader(base: store) { _ throws(UploadError) in throw UploadError(.storeFull, "full")
    }
    var mine = services(uploader: full)
    mine.catalog = ScriptedCatalog.fullOnce(catalog) { $0 == .release }
    let summary = await model(folder, mine).run()
    #expect(summary.outcome == .aborted && summary.error?.code == "catalog.diskFull")
  }

  @Test(
    "if the reader acknowledges events, a post counts as delivered only once acknowledged",
    arguments: [true, false])
  func acknowledged(_ passesOn: Bool) async throws {
    let folder = ClipFolder(["a.mp4"])
    let mortal = catalog.another()
    var mine = services()
    mine.catalog = mortal
    let model = model(folder, mine) { $0.isAcknowledged = true }
    let events = model.events()
    #expect(await model.run().published == 1)
    for await batch in events.batches() where passesOn { await model.acknowledge(batch) }
    // Closing waits until the acknowledgments are written.
    try await mortal.close()
    let second = await self.model(folder, services()).run()
    #expect(second.published == (passesOn ? 0 : 1) && second.duplicates == (passesOn ? 1 : 0))
    #expect(store.keys.count == 1)
  }

  @Test("if a publisher died before it could send the event, the event is sent once")
  func untold() async throws {
    let folder = ClipFolder(["a.mp4"])
    let dead = catalog.another()
    let post = try await publishUntold(folder.file("a.mp4"), by: dead)
    dead.die()
    let model = model(folder, services())
    let events = model.events()
    let summary = await model.run()
    #expect(summary.published == 1 && summary.duplicates == 0 && store.keys.isEmpty)
    var told: [PostID] = []
    for await event in events {
      if case .postPublished(_, let post) = event.body { told.append(post.id) }
    }
    #expect(told == [post.id])
    #expect(await self.model(folder, services()).run().duplicates == 1)
  }

  /// Leaves what a process leaves that dies between T2 and its event.
  private func publishUntold(_ input: SourceInput, by catalog: MemoryCatalog) async throws -> Post {
    let file = try FoundFile.named(input.path, followLinks: false).open()
    let digest = try #require(try SourceDigest.sha256(of: file))
    let key = ObjectKey(random: SystemRandomness(), container: .mp4)
    let claim = try await catalog.claim(
      ClaimRequest(
        publication: Publication(digest: digest, destination: store.destination, authorID: nil),
        duplicates: .skip,
        size: file.size, newID: PostID(at: Date(), random: SystemRandomness()), newKey: key))
    guard case .granted(let intent) = claim else { throw FileFailure(code: "test", message: "not granted") }
    let report = try ScriptedProber().probe(file, cancellation: CancellationFlag())
    return try await catalog.complete(
      intent,
      draft: PostDraft(
        media: report.media, provenance: report.provenance, metadata: PostMetadata(), commentID: "c"),
      stored: StoredObject(key: key, url: "memory:x", size: file.size, digest: digest))
  }

  @Test("an object that another program put under our name is never touched: another name is drawn")
  func conflict() async throws {
    let taken = Mutex<ObjectKey?>(nil)
    let store = store
    let intruder = ScriptedUploader(base: store) { key throws(UploadError) in
      let isFirst = taken.withLock { held in
        defer { held = held ?? key }
        return held == nil
      }
      if isFirst { _ = try await store.upload(MemoryBytes.source("not ours"), to: key) { _ in } }
    }
    let summary = await model(ClipFolder(["a.mp4"]), services(uploader: intruder)).run()
    #expect(summary.published == 1)
    #expect(store.keys.count == 2)
    let first = try #require(taken.withLock { $0 })
    #expect(try await posts().map(\.video).contains(first) == false)
  }

  @Test("another digest reported by the store is no proof of a difference: the bytes decide")
  func otherDigest() async throws {
    let summary = await model(ClipFolder(["a.mp4"]), services(uploader: OtherDigests(base: store))).run()
    #expect(summary.published == 1)
    #expect(try await posts().map(\.video) == store.keys)
  }

  @Test("the caption comes from the flag, then the list, then the sidecar, then the file itself")
  func words() async throws {
    let folder = ClipFolder(["a.mp4"])
    folder.add("a.json", #"{"caption":"side","music":"side","author":"stranger"}"#)
    await model(folder, services()) { $0.metadata.caption = "flag" }.run()
    let post = try #require(try await posts().first)
    #expect(post.caption == "flag" && post.music == "side" && post.authorID == nil)
  }
}

/// Stores the object, then says that it was there already, and reports a wrong digest for every object.
private struct OtherDigests: UploaderDecorator {
  let base: any Uploader
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    _ = try await base.upload(source, to: key, reporting: reporting)
    throw UploadError(.alreadyExists, "it is there (a test)")
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    guard let found = try await base.find(key) else { return nil }
    return StoredObject(
      key: found.key, url: found.url, size: found.size, digest: try MemoryBytes.source("of parts").digest)
  }
}
