import FoundationEssentials
import ReelCore
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Testing

@Suite("The examples of docs/library.md do what they say", .shortTime)
struct LibraryExampleTests {
  let store = MemoryUploader()
  let catalog = MemoryCatalog()

  /// Takes `.txt` files for text, and everything else for a video.
  private let prober = ScriptedProber { file throws(ProbeError) in
    if file.path.text.hasSuffix(".txt") { throw ProbeError(.notMedia, "it is text, not a video") }
    return .sample(size: file.size)
  }

  private var services: IngestServices {
    IngestServices(prober: prober, uploader: store, catalog: catalog)
  }

  @Test("the services of a library folder publish into it, and the feed returns the post")
  func library() async throws {
    let place = ClipFolder(["clip.mov"])
    let library = try await VideoLibrary.open(at: place.path + "/library")
    // The worker is not built for the tests of this target.
    let services = IngestServices(
      prober: prober, uploader: library.uploader, catalog: library.catalog)
    var told: [String] = []
    let shared = await share(place.path + "/clip.mov", saying: "hello", with: services) { told.append($0) }
    let post = try #require(shared, "\(told)")
    #expect(try await everyPost(in: library.catalog) == [post])
    #expect(FileManager.default.fileExists(atPath: place.path + "/library/media/\(post.video)"))
    try await library.close()
  }

  @Test("a batch returns its summary, and the feed has all its posts, newest first")
  func batch() async throws {
    let folder = ClipFolder((0..<45).map { "\($0).mp4" })
    folder.add("z.mp4", "one more")
    var told: [String] = []
    let summary = await takeIn(folder.path, with: services) { told.append($0) }
    #expect(summary.published == 46 && summary.outcome == .completed)
    #expect(told.count == 46)
    let posts = try await everyPost(in: catalog)
    #expect(posts.compactMap(\.pageNumber) == (1...46).reversed())
  }

  @Test("cancelling ends a run that would not end by itself")
  func cancelling() async {
    let folder = ClipFolder(["a.mp4"])
    let endless = ScriptedUploader(base: store) { _ throws(UploadError) in
      do { try await Task.sleep(for: .seconds(3600)) } catch { throw UploadError(.cancelled, "cancelled") }
    }
    var services = services
    services.uploader = endless
    let summary = await takeInForAWhile(folder.path, with: services)
    #expect(summary.outcome == .cancelled && summary.published == 0)
    #expect(store.keys.isEmpty)
  }

  @Test("the state of one video can be observed to its end")
  @MainActor func watching() async throws {
    let folder = ClipFolder(["a.mp4"])
    let model = MediaModel(file: folder.file("a.mp4"), options: IngestOptions(), services: services)
    let watching = Task {
      var shown: [String] = []
      await watch(model) { shown.append($0) }
      return shown
    }
    let result = await model.publish()
    guard case .published(let post) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(await watching.value.last == "published as \(post.video)")
  }

  @Test("facts are reported for good files, and errors for bad ones")
  func facts() async throws {
    let folder = ClipFolder(["a.mp4", "b.txt"])
    let paths = [folder.path + "/a.mp4", folder.path + "/b.txt"]
    var told: [String] = []
    try await tellFacts(of: paths, readBy: prober) { told.append($0) }
    #expect(
      told == [
        "\(paths[0]): video/mp4, 1080x1920", "\(paths[1]): it is text, not a video [notMedia]",
      ])
  }
}
