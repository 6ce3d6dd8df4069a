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

/// Once they have their intents, the files of one batch share one transaction, and nothing else.
@Suite("A batch with its intents", .shortTime)
@MainActor
struct BatchPublisherTests {
  let catalog = MemoryCatalog()
  let store = MemoryUploader()
  let folder = ClipFolder()

  init() {
    for number in 0..<200 { folder.add("\(number).mp4", "bytes of \(number)") }
  }

  /// Runs the folder and checks that every file has exactly one terminal event.
  private func run(
    _ uploader: any Uploader, _ catalog: any PostCatalog,
    onStep: @escaping @Sendable (IntakeStep) -> Void = { _ in }
  ) async -> RunSummary {
    var services = IngestServices(prober: ScriptedProber(), uploader: uploader, catalog: catalog)
    services.onStep = onStep
    var options = IngestOptions()
    options.jobs = 1
    let model = IngestModel(inputs: [folder.input], options: options, services: services)
    let stream = model.events()
    let summary = await model.run()
    var ends: [Int: Int] = [:]
    for await event in stream where PublishResult(event.body) != nil {
      if let file = event.body.file { ends[file.number, default: 0] += 1 }
    }
    #expect(ends.count == 200 && ends.values.allSatisfy { $0 == 1 })
    return summary
  }

  private func uploader(
    _ onUpload: @escaping @Sendable (ObjectKey) async throws(UploadError) -> Void = {
      _ throws(UploadError) in
    }
  ) -> ScriptedUploader {
    ScriptedUploader(base: store, isLatencyBound: true, onUpload: onUpload)
  }

  @Test("a slow upload keeps neither its batch nor any other from being published")
  func slowUpload() async throws {
    let published = Mutex(0)
    let uploads = Mutex(0)
    // One upload in the middle ends only once all the others are posts.
    let slow = uploader { _ throws(UploadError) in
      let isChosen = uploads.withLock { count in
        count += 1
        return count == 50
      }
      guard isChosen else { return }
      while published.withLock({ $0 }) < 199 {
        do {
          try await Task.sleep(for: .milliseconds(1))
        } catch {
          throw UploadError(.cancelled, "cancelled")
        }
      }
    }
    let summary = await run(slow, catalog) { if $0 == .published { published.withLock { $0 += 1 } } }
    #expect(summary.published == 200 && store.keys.count == 200)
  }

  @Test("an object that the store can't read back is neither published nor removed; the next run finds it")
  func unreadable() async throws {
    #expect(await run(UnreadableStore(base: store), catalog).published == 0)
    #expect(store.keys.count == 200)
    #expect(await run(uploader(), catalog).published == 200)
    #expect(store.keys.count == 200)
  }

  @Test("the catalog is called per batch, not per file")
  func transactions() async throws {
    let calls = Mutex((claims: 0, completions: 0))
    let counting = ScriptedCatalog(base: catalog) { call throws(CatalogError) in
      calls.withLock { calls in
        if call == .claim { calls.claims += 1 }
        if call.isCompletion { calls.completions += 1 }
      }
    }
    #expect(await run(uploader(), counting).published == 200)
    let (claims, completions) = calls.withLock { $0 }
    // Batches grow to 32, by one for every four files.
    #expect(claims <= 30 && completions <= 2 * claims, "\(claims) claims, \(completions) completions")
  }

  @Test("a batch that the catalog can't write is written file by file")
  func onePoisons() async throws {
    let refusing = ScriptedCatalog(base: catalog) { call throws(CatalogError) in
      guard case .complete(let intents) = call, intents.count > 1 else { return }
      throw CatalogError(.corrupt, "one of them can't be written")
    }
    #expect(await run(uploader(), refusing).published == 200)
    #expect(try await catalog.status().unfinished == 0)
  }

  @Test("files whose intents were lost before their posts were written are published once")
  func lostLeases() async throws {
    let mine = catalog.another()
    mine.die()
    let lost = Mutex<Set<PostID>>([])
    let losing = ScriptedCatalog(base: mine) { [catalog] call throws(CatalogError) in
      guard case .complete(let intents) = call, intents.count > 1 else { return }
      let fresh = lost.withLock { lost in intents.filter { lost.insert($0.id).inserted } }
      let other = catalog.another()
      for intent in fresh {
        let request = ClaimRequest(
          publication: intent.publication, duplicates: .skip, size: 1,
          newID: PostID(at: Date(), random: SystemRandomness()), newKey: intent.key)
        _ = try other.claim([request], noting: [])
      }
      other.die()
    }
    #expect(await run(uploader(), losing).published == 200)
    #expect(lost.withLock { $0.count } > 100 && store.keys.count == 200)
    #expect(try await catalog.status().unfinished == 0)
  }
}

/// Stores everything, reports no digest, and can't be read back.
private struct UnreadableStore: UploaderDecorator {
  let base: any Uploader
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let stored = try await base.upload(source, to: key, reporting: reporting)
    return StoredObject(key: stored.key, url: stored.url, size: stored.size, digest: nil)
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    try await base.find(key).map { StoredObject(key: $0.key, url: $0.url, size: $0.size, digest: nil) }
  }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { nil }
}
