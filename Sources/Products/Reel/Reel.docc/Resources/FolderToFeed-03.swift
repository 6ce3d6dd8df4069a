import Reel

guard CommandLine.arguments.count == 3 else { fatalError("usage: folder-to-feed LIBRARY FOLDER") }

let folder = try await LibraryFolder.prepare(at: CommandLine.arguments[1])
let catalog = try await SQLiteCatalog.open(library: folder)
let prober = SandboxedProber(worker: .installed, workers: 4)
let store = FolderUploader(root: folder.mediaPath, temporaries: folder.temporaryPath)
let services = IngestServices(
  prober: prober, uploader: VerifyingUploader(base: RetryingUploader(base: store)), catalog: catalog)

let model = IngestModel(
  inputs: [SourceInput(path: SourcePath(CommandLine.arguments[2]))], options: IngestOptions(),
  services: services)
let events = model.events()
async let summary = model.run()
for await event in events {
  switch event.body {
  case .postPublished(let file, let post): print("\(file.path) is \(post.video)")
  case .fileRefused(let file, let refusal): print("\(file.path) is not wanted: \(refusal.message)")
  case .fileFailed(let file, let failure): print("\(file.path) failed: \(failure.message)")
  default: break
  }
}
print("\(await summary.published) new posts")

let feed = FeedModel(catalog: catalog)
while !feed.isComplete {
  await feed.loadNextPage()
  if let error = feed.error { throw error }
}
for post in feed.posts {
  print(post.pageNumber ?? 0, post.caption ?? post.sourceName ?? post.video.rawValue, post.videoURL)
}

await prober.close()
try await catalog.close()
