// The examples of docs/library.md. Each part between two markers is a block of that page, word for word:
// DocumentationTests compares them, and LibraryExampleTests runs them.

// example: imports
import Foundation
import Observation
import Reel
// end

// example: services
/// What Reel works with, put together once and closed at the end.
struct VideoLibrary: Sendable {
  let prober: SandboxedProber
  let uploader: any Uploader
  let catalog: SQLiteCatalog

  static func open(at path: String) async throws -> VideoLibrary {
    let folder = try await LibraryFolder.prepare(at: path)
    let store = FolderUploader(root: folder.mediaPath, temporaries: folder.temporaryPath)
    return VideoLibrary(
      prober: SandboxedProber(worker: .installed, workers: 4),
      uploader: VerifyingUploader(base: RetryingUploader(base: store)),
      catalog: try await SQLiteCatalog.open(library: folder))
  }

  var services: IngestServices {
    IngestServices(prober: prober, uploader: uploader, catalog: catalog)
  }

  func close() async throws {
    await prober.close()
    try await catalog.close()
  }
}
// end

// example: publish
func share(
  _ path: String, saying caption: String, with services: IngestServices,
  tell: (String) -> Void = { print($0) }
) async -> Post? {
  var options = IngestOptions()
  options.metadata = PostMetadata(authorID: "ada", caption: caption)
  switch await services.publish(SourceInput(path: SourcePath(path)), options: options) {
  case .published(let post):
    return post
  case .duplicate(let post):  // The same author has published the same video before.
    return post
  case .removed(let removed):  // Its post was removed, and it is not to come back.
    tell("\(path): \(removed.text.description)")
    return nil
  case .planned:  // Only in a dry run.
    return nil
  case .refused(let refusal):
    tell("\(path) is not wanted: \(refusal) [\(refusal.code)]")
    return nil
  case .failed(let failure):
    tell("\(path) failed: \(failure) [\(failure.code)]")
    return nil
  case .cancelled:
    return nil
  }
}
// end

// example: ingest
func takeIn(
  _ folder: String, with services: IngestServices, tell: (String) -> Void = { print($0) }
) async -> RunSummary {
  let run = services.ingest([SourceInput(path: SourcePath(folder))])
  for await event in run {
    switch event.body {
    case .postPublished(let file, let post):
      tell("\(file.path) is \(post.videoURL)")
    case .fileRefused(let file, let refusal):
      tell("\(file.path) is not wanted: \(refusal) [\(refusal.code)]")
    case .fileFailed(let file, let failure):
      tell("\(file.path): \(failure) [\(failure.code)]")
    default:
      break
    }
  }
  return await run.summary
}
// end

// example: cancel
func takeInForAWhile(_ folder: String, with services: IngestServices) async -> RunSummary {
  let run = Task { await takeIn(folder, with: services) }
  try? await Task.sleep(for: .milliseconds(500))
  run.cancel()  // No further file is started; those in flight are finished or rolled back.
  return await run.value  // Its `outcome` is `.cancelled`, unless all was done by then.
}
// end

// example: state
@MainActor
func watch(_ model: MediaModel, show: (String) -> Void) async {
  for await state in Observations({ model.state }) {
    switch state {
    case .idle:
      show("ready")
    case .working(let file):
      if case .uploading(let progress) = file?.step {
        show("\(progress.sent) of \(progress.total) bytes")
      }
    case .ended(let result):
      if case .published(let post) = result { show("published as \(post.video)") }
      return
    }
  }
}
// end

// example: feed
@MainActor
func everyPost(in catalog: any PostCatalog) async throws -> [Post] {
  let feed = FeedModel(catalog: catalog, pageSize: 20)
  while !feed.isComplete {
    await feed.loadNextPage()
    if let error = feed.error { throw error }
  }
  return feed.posts  // The newest first.
}
// end

// example: change
@MainActor
func takeDown(_ post: PostID, because reason: String, with services: IngestServices, in feed: FeedModel)
  async throws -> Bool
{
  let removal = Removal(reason: reason, by: "the app", at: .now)
  let outcomes = try await services.remove([post], removal) { event in
    await feed.follow(event)
  }
  switch outcomes.first {
  case .changed, .removed: return true  // `removed`: it was so already.
  default: return false
  }
}
// end

// example: facts
func tellFacts(
  of paths: [String], readBy prober: any MediaProber, tell: (String) -> Void
) async throws(ProbeError) {
  let run = ProbeRun(
    inputs: paths.map { SourceInput(path: SourcePath($0)) }, prober: prober, width: 4)
  try await run.run { file in
    switch file.result {
    case .success(let report):
      let size = report.media.video.flatMap { video in
        video.width.flatMap { width in video.height.map { "\(width)x\($0)" } }
      }
      tell("\(file.path): \(report.media.container.contentType), \(size ?? "size unknown")")
    case .failure(let failure):
      tell("\(file.path): \(failure) [\(failure.code)]")
    }
    return true  // False: no more.
  }
}
// end

// example: fakes
import Foundation
import ReelTesting
import Testing

@Test func aVideoIsPublishedOnceThereIsRoom() async throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  try Data("a video".utf8).write(to: folder.appendingPathComponent("clip.mov"))
  let prober = ScriptedProber { .sample(width: 1080, height: 1920, size: $0.size) }
  let store = MemoryUploader()
  let full = ScriptedUploader(base: store) { _ throws(UploadError) in
    throw UploadError(.storeFull, "no space left")
  }
  var services = IngestServices(prober: prober, uploader: full, catalog: MemoryCatalog())
  #expect(await share(folder.path + "/clip.mov", saying: "First light", with: services) == nil)

  services.uploader = store
  let post = await share(folder.path + "/clip.mov", saying: "First light", with: services)
  #expect(post?.videoHeight == 1920 && post?.caption == "First light")
  let again = await share(folder.path + "/clip.mov", saying: "Again", with: services)
  #expect(again == post)
  #expect(store.keys == [post?.video])
}

@Test func theFeedShowsTheNewestFirst() async throws {
  let catalog = MemoryCatalog()
  catalog.add([.sample(1, caption: "First light"), .sample(2, caption: "Harbour")])
  #expect(try await everyPost(in: catalog).map(\.caption) == ["Harbour", "First light"])
}
// end

// example: failure
func isWorthAnotherTry(_ failure: FileFailure) -> Bool {
  switch failure.code {
  case .upload(let code): code.isWorthARetry
  case .catalog(let code): code == .locked
  default: false
  }
}
// end
