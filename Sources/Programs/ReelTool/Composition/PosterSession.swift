import ReelCore
import ReelIngest
import ReelProcess
import ReelStores
import ReelTerminal
import ReelUpkeep

/// The work of `reel poster --missing`: ``MissingPosters``, put together from the settings.
enum PosterSession {
  /// - Parameters:
  ///   - to: `--to`; nil for every store.
  ///   - report: called for each post, in the order of each store's feed.
  /// - Throws: ``CommandFailure`` where there is no library.
  static func makeMissing(
    _ settings: Settings, _ options: PosterOptions, to: String?,
    report: @escaping @Sendable (PosterDocument) throws -> Void
  ) async throws -> MissingPosters.Count {
    let place = try CatalogPlace(settings)
    if try await !place.isThere() { throw CommandFailure(.couldNotRun, place.absence) }
    let width = settings.jobs ?? Processors.available
    let prober = AppContext.prober(settings, workers: width, makesPosters: true)
    let catalog = try await place.writing()
    let stores = Stores(settings, library: place.library, checkpoints: catalog, secretsAreFor: to)
    let missing = MissingPosters(
      options, nameLength: settings.nameLength ?? IngestOptions().nameLength, catalog: catalog,
      prober: prober, width: width,
      open: { destination, mode async throws(UploadError) in
        try await stores.illustrated(destination, mode: mode)
      }
    ) { path, answer in
      let result = answer.map { PosterDocument.Made(poster: $0.poster, file: $0.file) }
      try report(PosterDocument(path: path, result: result.mapError { $0.worded(FlagNames.put) }))
    }
    let (result, wasInterrupted) = await RunSignals.cancelling {
      let named = try await stores.known(to, in: catalog)
      let all = to == nil ? try await catalog.destinations() : []
      return try await missing.run(named ?? all, goesOn: to == nil)
    }
    await prober.close()
    try? await catalog.close()
    if wasInterrupted { throw CommandExit(code: .interrupted) }
    return try result.get()
  }
}
