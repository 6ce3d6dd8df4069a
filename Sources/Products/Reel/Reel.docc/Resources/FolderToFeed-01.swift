import Reel

guard CommandLine.arguments.count == 3 else { fatalError("usage: folder-to-feed LIBRARY FOLDER") }

let folder = try await LibraryFolder.prepare(at: CommandLine.arguments[1])
let catalog = try await SQLiteCatalog.open(library: folder)
let prober = SandboxedProber(worker: .installed, workers: 4)
let store = FolderUploader(root: folder.mediaPath, temporaries: folder.temporaryPath)
let services = IngestServices(
  prober: prober, uploader: VerifyingUploader(base: RetryingUploader(base: store)), catalog: catalog)

await prober.close()
try await catalog.close()
