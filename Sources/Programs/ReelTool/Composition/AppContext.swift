import ReelCore
import ReelIngest
import ReelLibrary
import ReelPostgres
import ReelProcess
import ReelSandbox
import ReelSource
import ReelStores
import ReelTerminal
import ReelUpkeep
import ReelValidation

/// The services that a command works with, put together from the settings. Only this type knows every implementation.
struct AppContext: Sendable {
  let services: IngestServices
  let prober: SandboxedProber
  /// The time that each stage of the run takes.
  let stageTimes: StageTimes
  /// The folders of the library and the destination, which are never ingested.
  private let ownDirectories: [DirectoryIdentity]

  /// Opens everything for a run. A dry run opens what exists and creates nothing.
  /// - Parameters:
  ///   - measures: whether the stages of the run are timed.
  /// - Throws: ``CommandFailure``.
  static func open(
    _ settings: Settings, dryRun: Bool, jobs: Int, posters: IngestOptions.Posters = .none,
    measures: Bool = false
  ) async throws -> AppContext {
    // Find errors in the settings before anything is created.
    let policy = try settings.policy.map {
      PolicyIntake(try PolicyFiles.policy($0, from: settings.place(of: \.policy)))
    }
    let mends = settings.mend?.mends.isEmpty == false
    let prober = prober(
      settings, workers: min(jobs, Processors.available), makesPosters: posters != .none && jobs > 1,
      mends: mends)
    let place = try CatalogPlace(settings)
    let path = place.library
    // Open the store before the catalog: an address that is no destination must not create a library.
    var stores = Stores(settings, library: path)
    _ = try await stores.open(settings.to).recorder()
    let catalog: any PostCatalog
    (catalog, stores.checkpoints) = try await Self.catalog(at: place, dryRun: dryRun)
    let store = try await stores.open(settings.to)
    if !dryRun {
      do {
        try await store.checkIsMounted(in: catalog)
      } catch {
        try? await catalog.close()
        throw error
      }
    }
    // A dry run creates no library.
    let copies = dryRun ? nil : path.map { $0 + "/tmp" }
    var services = IngestServices(
      prober: prober, posters: posters == .none ? nil : prober, uploader: stores.decorated(store),
      recorder: try store.recorder(),
      catalog: catalog, staging: TemporaryStaging(folder: copies))
    if mends { services.mender = SandboxedMender(prober) }
    services.wording = FlagNames.put
    services.onStep = DebugSteps.observer()
    let times = StageTimes()
    if measures { services.onStage = { times.add($0, $1) } }
    if let policy { services.policy = policy }
    return AppContext(
      services: services, prober: prober, stageTimes: times,
      ownDirectories: [path, store.folder].compactMap(\.self).compactMap {
        DirectoryIdentity(at: SourcePath($0))
      })
  }

  /// Excludes Reel's own folders and objects from a walk.
  func excludeOwn(from walk: inout WalkOptions) {
    walk.skippedDirectories += ownDirectories
    walk.skippedAddresses.append(services.uploader.destination.name)
  }

  /// Ends the workers and closes the catalog. What was promised to be durable is durable already; this flushes the
  /// rest.
  func close() async throws {
    await prober.close()
    try await services.catalog.close()
  }

  /// Stops waiting long for an unreachable database, because a signal has ended the run.
  func makeHaste() { (services.catalog as? PostgresCatalog)?.makeHaste() }

  /// Calls ``PostgresCatalog/abandonClaims()`` if the catalog is on PostgreSQL.
  func abandonClaims() { try? (services.catalog as? PostgresCatalog)?.abandonClaims() }

  // MARK: The library

  static func libraryPath(_ settings: Settings) throws -> String {
    if let path = settings.library {
      guard !MistakenPath.isAddress(path) else {
        throw CommandFailure(
          .usage, "a library is a folder of this machine, and not at an address; give the folder's path")
      }
      return path
    }
    let environment = try ProcessEnvironment.current().texts { ["XDG_DATA_HOME", "HOME"].contains($0) }
    guard let path = LibraryFolder.location(explicit: nil, environment: environment) else {
      throw CommandFailure(
        .couldNotRun,
        "there is no place for the library: give --library DIR, or set REEL_LIBRARY, or HOME to an absolute path"
      )
    }
    return path
  }

  /// Opens the catalog for a command that only reads; nil for a library that has none yet.
  /// - Throws: where there is no library, or where a database has no catalog: it may be the wrong one.
  /// - Note: Must not be inlined: the optimizer of Swift 6.3 would crash ("while splitting coroutine").
  @inline(never) static func reading(_ settings: Settings) async throws -> (any WholeCatalog)? {
    try await CatalogPlace(settings).examined()
  }

  /// Opens the catalog for a command that changes what is there; nil for a library that has none yet.
  /// - Throws: as ``reading(_:)``.
  static func existing(_ settings: Settings) async throws -> (any PostCatalog)? {
    let place = try CatalogPlace(settings)
    guard try await place.examined() != nil else { return nil }
    return try await place.writing()
  }

  private static func catalog(
    at place: CatalogPlace, dryRun: Bool
  ) async throws -> (any PostCatalog, any UploadCheckpoints) {
    if dryRun {
      guard let catalog = try await place.reading() else { return (MemoryCatalog(), MemoryCheckpoints()) }
      return (catalog, MemoryCheckpoints())
    }
    let catalog = try await place.writing()
    return (catalog, catalog)
  }

  // MARK: The prober

  /// The number of files that are processed at once.
  static func jobs(_ settings: Settings) -> Int {
    min(settings.jobs ?? min(64, max(4, Processors.available * 2)), DescriptorLimit.jobs)
  }

  static func prober(
    _ settings: Settings, workers: Int, makesPosters: Bool = false, mends: Bool = false
  ) -> SandboxedProber {
    SandboxedProber(
      worker: settings.worker.map { .path($0) } ?? .installed, isolation: settings.isolation ?? .auto,
      workers: max(1, workers),
      deadline: settings.deadline.map { .seconds($0) } ?? SandboxedProber.defaultDeadline,
      makesPosters: makesPosters, mends: mends)
  }

  /// A prober that reads every packet of a file, with a deadline to match (`--thorough`).
  static func thoroughProber(_ settings: Settings, workers: Int) -> SandboxedProber {
    let deadline = settings.deadline ?? thoroughDeadline
    return SandboxedProber(
      worker: settings.worker.map { .path($0) } ?? .installed, isolation: settings.isolation ?? .auto,
      workers: max(1, workers), deadline: .seconds(deadline),
      limits: ProbeLimits(bytes: .max, processorSeconds: Int(deadline.rounded(.up)) + 10), mends: false,
      isThorough: true)
  }

  /// The seconds allowed for one file by default.
  static let thoroughDeadline = 600.0
}
