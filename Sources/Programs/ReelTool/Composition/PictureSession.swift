import Glibc
import ReelCore
import ReelIngest
import ReelProcess
import ReelSandbox
import ReelSource
import ReelUpkeep
import Synchronization

/// The making of pictures of files, put together from the settings.
struct PictureSession: Sendable {
  let prober: SandboxedProber
  /// Whether the user named one file, and no folder.
  let isOneFile: Bool
  /// The paths that the user named.
  private let named: [SourcePath]
  private let pictures: PictureRun

  /// - Throws: ``CommandFailure``.
  init(_ settings: Settings, _ files: [String], followLinks: Bool, filter: NameFilter) throws {
    let paths = try Sources.named(files)
    named = paths
    isOneFile = paths.count == 1 && paths.allSatisfy { $0.fileKind != S_IFDIR }
    let width = settings.jobs ?? (isOneFile ? 1 : Processors.available)
    pictures = PictureRun(
      paths.map { SourceInput(path: $0) },
      options: WalkOptions(followLinks: followLinks, filter: filter), width: width)
    prober = AppContext.prober(settings, workers: width, makesPosters: !isOneFile)
  }

  /// Runs ``PictureRun/run(largest:_:_:)`` until the first signal, with failures in the words of the command line.
  /// Returns the exit code.
  /// - Parameter report: returns why there is no picture of a file.
  func run<Output: Sendable>(
    largest: Int,
    _ make: @escaping @Sendable (SourceFile, CancellationFlag) throws(PosterError) -> Output,
    _ report: @escaping @Sendable (PicturedFile<Output>) throws -> FileFailure?
  ) async throws -> ReelExit {
    let tally = Mutex(ExitTally(named: named))
    let (result, wasInterrupted) = await RunSignals.cancelling { [pictures] in
      try await pictures.run(largest: largest, make) { made in
        let failure = try report(made.worded(FlagNames.put))
        if let failure { tally.withLock { $0.note(failure.code, of: made.path) } }
        return failure == nil
      }
    }
    if wasInterrupted { return .interrupted }
    if try result.get() { return .done }
    return tally.withLock(\.exit)
  }

  /// The sheet as a JPEG.
  /// - Throws: ``PosterError``.
  func jpeg(of picture: RawPicture) async throws -> [UInt8] {
    try await BlockingQueue(label: "reel.sheet", width: 1).runCancellable {
      [prober] flag throws(PosterError) in
      try prober.jpeg(of: picture, cancellation: flag)
    }
  }

  /// Ends the workers.
  func close() async {
    await prober.close()
  }
}
