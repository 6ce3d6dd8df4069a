import ReelCore
import ReelLibrary
import ReelStorage
import ReelTestSupport
import ReelTesting
import Synchronization
import Testing

@testable import ReelIngest

@Suite("Posters of posts", .shortTime)
@MainActor
struct PosterTests {
  /// Whether the store takes files one by one or in batches.
  enum Store: CaseIterable {
    case oneByOne, inBatches
  }

  private let catalog = MemoryCatalog()
  private let folder = ClipFolder(["a.mp4", "b.mp4", "c.mp4"])
  private let place = ClipFolder()

  private func uploader(_ store: Store) -> any Uploader {
    switch store {
    case .oneByOne: MemoryUploader()
    case .inBatches: FolderUploader(root: place.path + "/media")
    }
  }

  private func run(
    _ maker: ScriptedPosterMaker, _ uploader: any Uploader, _ posters: IngestOptions.Posters = .wanted
  ) async -> (summary: RunSummary, events: [IngestEvent.Body]) {
    var options = IngestOptions()
    options.posters = posters
    let services = IngestServices(
      prober: ScriptedProber(), posters: maker, uploader: uploader, catalog: catalog)
    let model = IngestModel(inputs: [folder.input], options: options, services: services)
    let events = model.events()
    let summary = await model.run()
    var bodies: [IngestEvent.Body] = []
    for await event in events { bodies.append(event.body) }
    return (summary, bodies)
  }

  private func posts() async throws -> [Post] {
    try await catalog.newestPosts(before: nil, limit: 10).posts
  }

  @Test("each post has its video's poster, which is stored beside the video", arguments: Store.allCases)
  func shown(_ store: Store) async throws {
    let uploader = uploader(store)
    let (summary, events) = await run(ScriptedPosterMaker(), uploader)
    #expect(summary.published == 3 && summary.postersFailed == 0)
    for post in try await posts() {
      let key = try #require(post.poster)
      #expect(key.rawValue.hasSuffix(".jpg") && key.rawValue.prefix(22) != post.video.rawValue.prefix(22))
      let stored = try #require(try await uploader.find(key))
      #expect(post.posterURL == stored.url && stored.size > 0)
      #expect(post.posterWidth == 16 && post.posterHeight == 9 && post.blurHash == "hash")
      let digest = try await uploader.readBack(key)
      #expect(digest == MadePoster(ScriptedPosterMaker.poster(size: post.size)).source.digest)
    }
    #expect(events.count { $0.type == "poster.made" } == 3)
    for file in 1...3 {
      let types = events.filter { $0.file?.number == file }.map(\.type)
      #expect(types.firstIndex(of: "poster.made") ?? 9 < types.firstIndex(of: "file.named") ?? 0)
    }
  }

  @Test("without posters, none is made")
  func none() async throws {
    let maker = ScriptedPosterMaker { _ throws(PosterError) in throw PosterError(.crashed, "asked") }
    #expect(await run(maker, MemoryUploader(), .none).summary.published == 3)
    #expect(maker.calls == 0)
    #expect(try await posts().allSatisfy { $0.poster == nil })
  }

  @Test("a duplicate's file is not read again for a poster")
  func known() async throws {
    let store = MemoryUploader()
    _ = await run(ScriptedPosterMaker(), store, .none)
    let maker = ScriptedPosterMaker()
    #expect(await run(maker, store).summary.duplicates == 3)
    #expect(maker.calls == 0 && store.keys.count == 3)
  }

  @Test("a video without a poster is published all the same, and reported", arguments: Store.allCases)
  func failing(_ store: Store) async throws {
    let maker = ScriptedPosterMaker { file throws(PosterError) in
      if file.path.text.hasSuffix("b.mp4") { throw PosterError(.noPicture, "it has no video") }
    }
    let (summary, events) = await run(maker, uploader(store))
    #expect(summary.published == 3 && summary.failed == 0 && summary.postersFailed == 1)
    #expect(summary.reasons.isEmpty)
    let told = events.compactMap { if case .posterFailed(_, let failure) = $0 { failure } else { nil } }
    #expect(told.map(\.code) == ["poster.noPicture"])
    #expect(told.map(\.message) == ["no poster could be made: it has no video"])
    #expect(try await posts().count { $0.poster == nil } == 1)
  }

  @Test("if posters are required, that video is not published and leaves nothing", arguments: Store.allCases)
  func required(_ store: Store) async throws {
    let maker = ScriptedPosterMaker { file throws(PosterError) in
      if file.path.text.hasSuffix("b.mp4") { throw PosterError(.noPicture, "it has no video") }
    }
    let (summary, _) = await run(maker, uploader(store), .required)
    #expect(summary.published == 2 && summary.reasons == ["poster.noPicture": 1])
    #expect(try await catalog.status().unfinished == 0)
    #expect(await run(ScriptedPosterMaker(), uploader(store), .required).summary.published == 1)
  }

  @Test(
    "a broken poster worker ends the run", arguments: [IngestOptions.Posters.wanted, .required])
  func broken(_ posters: IngestOptions.Posters) async throws {
    let maker = ScriptedPosterMaker { _ throws(PosterError) in
      throw PosterError(.workerBroken, "it is broken")
    }
    let summary = await run(maker, MemoryUploader(), posters).summary
    #expect(summary.outcome == .aborted && summary.error?.code == "poster.workerBroken")
  }

  @Test(
    "a poster that the store refuses does not keep its video from being published unless it is required",
    arguments: [UploadError.Code.rejected, .denied, .tooLarge, .storeFull],
    [IngestOptions.Posters.wanted, .required])
  func refused(_ code: UploadError.Code, _ posters: IngestOptions.Posters) async throws {
    let store = MemoryUploader()
    let picky = ScriptedUploader(base: store) { key throws(UploadError) in
      if key.rawValue.hasSuffix(".jpg") { throw UploadError(code, "in this test") }
    }
    let (summary, events) = await run(ScriptedPosterMaker(), picky, posters)
    let isPublished = posters == .wanted && code != .storeFull
    #expect(summary.published == (isPublished ? 3 : 0) && summary.postersFailed == (isPublished ? 3 : 0))
    #expect(summary.reasons == (isPublished ? [:] : [code.rawValue: 3]))
    #expect(events.count { $0.type == "poster.failed" } == (isPublished ? 3 : 0))
    // The next run continues where this one stopped.
    let again = await run(ScriptedPosterMaker(), store, posters).summary
    #expect(again.published == (isPublished ? 0 : 3) && again.duplicates == (isPublished ? 3 : 0))
    #expect(try await posts().allSatisfy { ($0.poster == nil) == isPublished })
    #expect(store.keys.count == (isPublished ? 3 : 6))
  }

  @Test(
    "in a batch, too, a refused poster is retried alone, and does not keep its video from being published",
    arguments: [IngestOptions.Posters.wanted, .required])
  func refusedInBatch(_ posters: IngestOptions.Posters) async throws {
    let store = PosterlessFolder(base: FolderUploader(root: place.path + "/media"))
    let (summary, events) = await run(ScriptedPosterMaker(), store, posters)
    let isWanted = posters == .wanted
    #expect(summary.published == (isWanted ? 3 : 0) && summary.postersFailed == (isWanted ? 3 : 0))
    #expect(summary.reasons == (isWanted ? [:] : ["rejected": 3]))
    #expect(events.count { $0.type == "poster.failed" } == (isWanted ? 3 : 0))
  }

  @Test("the summary counts posts without a poster, not files")
  func counted() async throws {
    for name in ["d.mp4", "e.mp4"] { folder.add(name, "bytes of a.mp4") }
    let maker = ScriptedPosterMaker { _ throws(PosterError) in
      throw PosterError(.noPicture, "it has no video")
    }
    let summary = await run(maker, MemoryUploader()).summary
    #expect(summary.published == 3 && summary.duplicates == 2 && summary.postersFailed == 3)
  }

  @Test("a poster stored before a crash is found by the next attempt, not stored twice")
  func takenOver() async throws {
    let store = MemoryUploader()
    var mine = IngestServices(
      prober: ScriptedProber(), posters: ScriptedPosterMaker(), uploader: store,
      catalog: ScriptedCatalog.fullOnce(catalog) { $0.isCompletion })
    var options = IngestOptions()
    options.posters = .wanted
    let first = await IngestModel(inputs: [folder.file("a.mp4")], options: options, services: mine).run()
    #expect(first.outcome == .aborted && store.keys.count == 2)
    let names = store.keys
    mine.catalog = catalog
    let second = await IngestModel(inputs: [folder.file("a.mp4")], options: options, services: mine).run()
    #expect(second.published == 1 && store.keys == names)
    let post = try #require(try await posts().first)
    #expect(Set([post.video, try #require(post.poster)]) == Set(names))
  }

  @Test("if something else has the poster's name, another is drawn where posters are required")
  func conflict() async throws {
    let store = MemoryUploader()
    let taken = Mutex<ObjectKey?>(nil)
    let stranger = try MemoryBytes.source("a stranger's")
    let crowded = ScriptedUploader(base: store) { key throws(UploadError) in
      guard key.rawValue.hasSuffix(".jpg"), taken.withLock({ $0 == nil }) else { return }
      taken.withLock { $0 = key }
      _ = try await store.upload(stranger, to: key) { _ in }
    }
    let services = IngestServices(
      prober: ScriptedProber(), posters: ScriptedPosterMaker(), uploader: crowded, catalog: catalog)
    var options = IngestOptions()
    options.posters = .required
    let summary = await IngestModel(
      inputs: [folder.file("a.mp4")], options: options, services: services
    ).run()
    #expect(summary.published == 1)
    let key = try #require(taken.withLock { $0 })
    let post = try #require(try await posts().first)
    #expect(post.poster != key && store.bytes(of: key) == Array("a stranger's".utf8))
    // The video was stored only once.
    #expect(store.keys.count == 3 && store.keys.contains(post.video))
  }
}

/// Makes a poster of the requested size for every file, unless the script throws.
final class ScriptedPosterMaker: PosterMaker {
  typealias Script = @Sendable (SourceFile) throws(PosterError) -> Void
  private let script: Script
  private let count = Mutex(0)

  var calls: Int { count.withLock { $0 } }

  init(_ script: @escaping Script = { _ throws(PosterError) in }) { self.script = script }

  static func poster(size: Int64?) -> Poster {
    Poster(
      jpeg: Array("poster of \(size ?? 0) bytes".utf8), width: 16, height: 9, blurHash: "hash",
      isCover: false, time: 1)
  }

  func poster(
    of file: SourceFile, sniffed container: MediaContainer?, options: PosterOptions,
    cancellation: CancellationFlag
  ) throws(PosterError) -> Poster {
    count.withLock { $0 += 1 }
    try script(file)
    return Self.poster(size: file.size)
  }
}

/// A folder that refuses posters.
private struct PosterlessFolder: Uploader, BatchStore {
  let base: FolderUploader

  var traits: UploadTraits { base.traits }
  var destination: Destination { base.destination }
  var staging: (any StagingArea)? { base.staging }
  var batches: (any BatchStore)? { self }

  private static let refusal = UploadError(.rejected, "in this test")

  func prepare() async throws(UploadError) { try await base.prepare() }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    if key.isPoster { throw Self.refusal }
    return try await base.upload(source, to: key, reporting: reporting)
  }

  func store(
    _ uploads: [BatchUpload], cancellation: CancellationFlag
  ) -> [Result<StoredObject, UploadError>] {
    var taken = base.store(uploads.filter { !$0.key.isPoster }, cancellation: cancellation)[...]
    return uploads.map {
      $0.key.isPoster ? .failure(Self.refusal) : taken.popFirst() ?? .failure(Self.refusal)
    }
  }

  func remove(_ keys: [ObjectKey]) -> [Result<ObjectRemoval, UploadError>] { base.remove(keys) }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval { try await base.remove(key) }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { try await base.readBack(key) }
}
