import Reel
import ServiceLifecycle

/// A library folder, for as long as the server runs: given back when it is told to stop.
struct Library: Service {
  let folder: LibraryFolder
  let prober: SandboxedProber
  let catalog: SQLiteCatalog
  let services: IngestServices

  /// - Parameter address: where viewers find the server, without a slash at its end.
  init(at path: String, seenAs address: String) async throws {
    folder = try await LibraryFolder.prepare(at: path)
    prober = SandboxedProber(worker: .installed, workers: 4)
    catalog = try await SQLiteCatalog.open(library: folder)
    let store = FolderUploader(
      root: folder.mediaPath, temporaries: folder.temporaryPath, publicBaseURL: address + "/media/")
    services = IngestServices(
      prober: prober, uploader: VerifyingUploader(base: RetryingUploader(base: store)), catalog: catalog)
  }

  func run() async throws {
    try? await gracefulShutdown()
    await prober.close()
    try await catalog.close()
  }
}
