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

@Suite("The view model of one video", .shortTime)
@MainActor
struct MediaModelTests {
  let catalog = MemoryCatalog()
  let store = MemoryUploader()

  private func model(_ file: SourceInput, _ prober: ScriptedProber = ScriptedProber()) -> MediaModel {
    MediaModel(
      file: file, options: IngestOptions(),
      services: IngestServices(prober: prober, uploader: store, catalog: catalog))
  }

  @Test("publishes, and reports a video that already has a post")
  func twice() async throws {
    let folder = ClipFolder(["a.mp4"])
    let first = model(folder.file("a.mp4"))
    #expect(first.state == .idle)
    let result = await first.publish()
    guard case .published(let post) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(first.state == .ended(result))
    #expect(await model(folder.file("a.mp4")).publish() == .duplicate(post))
  }

  @Test("called twice, it gives the same result and publishes nothing more")
  func askedAgain() async throws {
    let folder = ClipFolder(["a.mp4"])
    let model = model(folder.file("a.mp4"))
    let first = await model.publish()
    #expect(await model.publish() == first)
    #expect(store.keys.count == 1)
  }

  @Test(
    "cancelled as its post is recorded, it returns the post that was made; cancelled before, it makes none")
  func cancelled() async throws {
    for isTooLate in [false, true] {
      let (catalog, folder) = (MemoryCatalog(), ClipFolder(["a.mp4"]))
      let cancel = Mutex<(@Sendable () -> Void)?>(nil)
      let uploader = ScriptedUploader(base: MemoryUploader()) { _ throws(UploadError) in
        if !isTooLate { cancel.withLock { $0?() } }
      }
      let recording = ScriptedCatalog(base: catalog) { call throws(CatalogError) in
        if isTooLate, call.isCompletion { cancel.withLock { $0?() } }
      }
      let model = MediaModel(
        file: folder.file("a.mp4"), options: IngestOptions(),
        services: IngestServices(prober: ScriptedProber(), uploader: uploader, catalog: recording))
      let publishing = Task { await model.publish() }
      cancel.withLock { $0 = { publishing.cancel() } }
      let result = await publishing.value
      let posts = try await catalog.newestPosts(before: nil, limit: 10).posts
      #expect(posts.count == (isTooLate ? 1 : 0))
      #expect(result == posts.first.map { .published($0) } ?? .cancelled)
      #expect(model.state == .ended(result))
    }
  }

  @Test("a failure, a refusal and a missing file each end it accordingly")
  func otherEnds() async {
    let folder = ClipFolder(["a.mp4", "b.mp4"])
    let broken = ScriptedProber { _ throws(ProbeError) in throw ProbeError(.corrupt, "broken") }
    #expect(
      await model(folder.file("a.mp4"), broken).publish()
        == .failed(FileFailure(code: "corrupt", message: "broken")))
    let unsupported = ScriptedProber { _ throws(ProbeError) in throw ProbeError(.unsupported, "an MP3") }
    guard case .refused(let refusal) = await model(folder.file("b.mp4"), unsupported).publish() else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == .unsupported)
    guard case .failed(let missing) = await model(folder.file("nothing.mp4")).publish() else {
      Issue.record("not failed")
      return
    }
    #expect(missing.code == "notFound")
  }

  @Test("a folder is not a video, whatever its name and contents")
  func folder() async {
    let folder = ClipFolder(["a.mp4", "b.mp4"])
    guard case .failed(let failure) = await model(folder.input).publish() else {
      Issue.record("a folder was published")
      return
    }
    #expect(failure.code == "isDirectory")
    #expect(store.keys.isEmpty)
  }
}

@Suite("The view model of the feed", .shortTime)
@MainActor
struct FeedModelTests {
  @Test("pages from the newest to the oldest, each post once")
  func pages() async throws {
    let catalog = MemoryCatalog()
    let names = (0..<25).map { "\($0).mp4" }
    let folder = ClipFolder(names)
    var options = IngestOptions()
    options.jobs = 1
    await IngestModel(
      inputs: [folder.input], options: options,
      services: IngestServices(prober: ScriptedProber(), uploader: MemoryUploader(), catalog: catalog)
    ).run()

    let feed = FeedModel(catalog: catalog, pageSize: 10)
    #expect(feed.posts.isEmpty && !feed.isLoading && !feed.isComplete)
    var sizes: [Int] = []
    while !feed.isComplete {
      await feed.loadNextPage()
      sizes.append(feed.posts.count)
    }
    #expect(sizes == [10, 20, 25])
    #expect(feed.posts.map(\.pageNumber) == (1...25).reversed().map { $0 })
    await feed.loadNextPage()
    #expect(feed.posts.count == 25)
    await feed.reload()
    #expect(feed.posts.count == 10 && feed.error == nil)
  }
}
