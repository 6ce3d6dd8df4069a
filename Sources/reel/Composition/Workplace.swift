import Foundation
import ReelCatalog
import ReelIngest
import ReelModel
import ReelSandbox
import ReelSource
import ReelUploading
import ReelValidation

/// What a command works with, put together from the settings: the one place that knows every implementation.
struct Workplace: Sendable {
  let services: IngestServices
  let prober: SandboxedProber
  /// The library and the destination: never taken in.
  let ownDirectories: [DirectoryIdentity]

  /// Everything for a run. A dry run opens what there is and creates nothing.
  /// - Parameter policy: `--policy`; nil for the default.
  /// - Throws: ``CommandFailure``.
  static func open(
    _ settings: Settings, dryRun: Bool, jobs: Int, policy: String? = nil
  ) async throws -> Workplace {
    // What can be wrong in the settings is found out before anything is made.
    let policy = try policy.map { PolicyIntake(try PolicyFiles.policy($0)) }
    let prober = try prober(settings, workers: min(jobs, processors))
    let path = try libraryPath(settings)
    let (uploader, folder) = try uploader(settings, library: path)
    let catalog: any PostCatalog =
      dryRun ? try await reading(settings) ?? MemoryCatalog() : try await writing(at: path)
    var services = IngestServices(
      prober: prober, uploader: VerifyingUploader(base: RetryingUploader(base: uploader)), catalog: catalog)
    services.onStep = DebugSteps.observer()
    if let policy { services.policy = policy }
    return Workplace(
      services: services, prober: prober,
      ownDirectories: [path, folder].compactMap { DirectoryIdentity(at: SourcePath($0)) })
  }

  /// Ends the workers and gives the library back. What was promised to be durable is so already; this flushes the
  /// rest.
  func close() async throws {
    await prober.close()
    do throws(CatalogError) {
      try await services.catalog.close()
    } catch {
      throw CommandFailure(error)
    }
  }

  // MARK: The library

  static func libraryPath(_ settings: Settings) throws -> String {
    let environment = ProcessInfo.processInfo.environment
    guard let path = LibraryFolder.location(explicit: settings.library, environment: environment) else {
      throw CommandFailure(
        .couldNotRun, "there is no place for the library: give --library DIR, or set REEL_LIBRARY or HOME")
    }
    return path
  }

  /// The catalog for a command that only reads; nil when there is none yet.
  static func reading(_ settings: Settings) async throws -> (any PostCatalog)? {
    let path = try libraryPath(settings)
    return try await orCommandFailure { () async throws(CatalogError) in
      guard let library = try await LibraryFolder.existing(at: path) else { return nil }
      return try await SQLiteCatalog.openReadOnly(library: library)
    }
  }

  /// The catalog for a command that changes what is there; nil when there is none yet.
  static func existing(_ settings: Settings) async throws -> (any PostCatalog)? {
    guard try await reading(settings) != nil else { return nil }
    return try await writing(at: try libraryPath(settings))
  }

  private static func writing(at path: String) async throws -> any PostCatalog {
    try await orCommandFailure { () async throws(CatalogError) in
      let lease = DebugSteps.lease ?? .seconds(60)
      return try await SQLiteCatalog.open(
        library: try await LibraryFolder.prepare(at: path), lease: lease, heartbeat: lease / 6,
        onWait: { hold in LongWait.tell(hold) })
    }
  }

  // MARK: The destination

  /// The uploader, and the folder that it stores in.
  private static func uploader(
    _ settings: Settings, library: String
  ) throws -> (uploader: FolderUploader, folder: String) {
    let mode = try mode(settings.mode)
    guard let to = settings.to else {
      let media = library + "/media"
      return (
        FolderUploader(
          root: media, temporaries: library + "/tmp", publicBaseURL: settings.publicBaseURL, mode: mode),
        media
      )
    }
    switch try address(to) {
    case .folder(let root):
      return (FolderUploader(root: root, publicBaseURL: settings.publicBaseURL, mode: mode), root)
    }
  }

  private static func address(_ text: String) throws -> DestinationAddress {
    do throws(DestinationAddressError) {
      return try DestinationAddress(parsing: text)
    } catch {
      throw CommandFailure(.usage, error.message)
    }
  }

  private static func mode(_ text: String?) throws -> FolderModes {
    guard let text else { return .private }
    guard let mode = UInt32(text, radix: 8), mode <= 0o777, mode & 0o600 == 0o600 else {
      throw CommandFailure(
        .couldNotRun,
        "the mode \"\(text)\" can't be used; it is octal, and the owner reads and writes: 600, 640, 644")
    }
    return FolderModes(file: mode)
  }

  // MARK: The prober

  static var processors: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

  static func prober(_ settings: Settings, workers: Int) throws -> SandboxedProber {
    guard let isolation = IsolationRequest(rawValue: settings.isolation ?? "auto") else {
      throw CommandFailure(
        .couldNotRun,
        "the isolation \"\(settings.isolation ?? "")\" can't be used; it is auto, strict or none")
    }
    return SandboxedProber(
      worker: settings.worker.map { .path($0) } ?? .installed, isolation: isolation, workers: max(1, workers),
      deadline: .seconds(settings.deadline ?? 10))
  }
}
