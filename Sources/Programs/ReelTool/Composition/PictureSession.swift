import Glibc
import ReelCore
import ReelIngest
import ReelSandbox
import ReelSource

/// What became of one file of which pictures were to be made.
struct PicturedFile<Output: Sendable>: Sendable {
  let path: SourcePath
  /// The state of the file when it was opened; nil when it could not be.
  let identity: FileIdentity?
  let result: Result<Output, FileFailure>
}

/// Makes pictures of files, several at once, and gives them in the order of the files.
struct PictureSession: Sendable {
  let prober: SandboxedProber
  /// Whether the user named one, and no folder.
  let isOneFile: Bool
  private let inputs: [SourceInput]
  private let options: WalkOptions
  private let width: Int

  /// - Throws: ``CommandFailure``.
  init(_ settings: Settings, _ files: [String], followLinks: Bool) throws {
    let paths = RawArguments.paths(files)
    inputs = paths.map { SourceInput(path: $0) }
    isOneFile = paths.count == 1 && paths.allSatisfy { $0.fileKind != S_IFDIR }
    options = WalkOptions(followLinks: followLinks)
    width = settings.jobs ?? (isOneFile ? 1 : AppContext.processors)
    prober = AppContext.prober(settings, workers: width, makesPosters: !isOneFile)
  }

  /// Of files, beside whatever else is done with them: no folder is entered, and no more than the processors are used.
  /// - Throws: ``CommandFailure``.
  init(_ settings: Settings, of files: [SourcePath], followLinks: Bool) throws {
    inputs = files.map { SourceInput(path: $0) }
    isOneFile = false
    var options = WalkOptions(followLinks: followLinks)
    options.entersFolders = false
    self.options = options
    width = min(settings.jobs ?? AppContext.processors, AppContext.processors)
    prober = AppContext.prober(settings, workers: width, makesPosters: true)
  }

  /// How many bytes of pictures may wait for those before them.
  private static let mostWaiting = 256 << 20

  /// Calls `report` with what `make` made of each file, in order; it says whether the file has its picture. Gives how
  /// it went.
  /// - Parameter largest: the most bytes that one of the results takes.
  /// - Throws: ``PosterError`` when no file can be read at all; what `report` throws.
  func run<Output: Sendable>(
    largest: Int,
    _ make: @escaping @Sendable (SourceFile, CancellationFlag) throws(PosterError) -> Output,
    _ report: @escaping @Sendable (PicturedFile<Output>) throws -> Bool
  ) async throws -> ReelExit {
    let files = FileRun(
      inputs: inputs, options: options, width: width,
      ahead: max(1, min(2 * width, Self.mostWaiting / largest)))
    let (result, wasInterrupted) = await Interruption.cancelling {
      var haveAll = true
      try await files.run { file, flag in
        try Self.pictured(file, make, flag)
      } _: { file in
        if !(try report(file)) { haveAll = false }
        return true
      }
      return haveAll
    }
    if wasInterrupted { return .interrupted }
    return try result.get() ? .done : .someFailed
  }

  /// The sheet as a JPEG.
  /// - Throws: ``CommandFailure``.
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

  /// - Throws: ``PosterError`` after which no other file will fare better.
  private static func pictured<Output: Sendable>(
    _ walked: WalkedFile, _ make: (SourceFile, CancellationFlag) throws(PosterError) -> Output,
    _ flag: CancellationFlag
  ) throws -> PicturedFile<Output> {
    let file: SourceFile
    do throws(SourceError) {
      file = try walked.found.get().open()
    } catch {
      let failure = FileFailure(telling: error, as: error.code)
      return PicturedFile(path: walked.path, identity: nil, result: .failure(failure))
    }
    do throws(PosterError) {
      return PicturedFile(path: file.path, identity: file.identity, result: .success(try make(file, flag)))
    } catch {
      if error.code.isInstallation { throw error }
      let failure = FileFailure(telling: error, as: error.code)
      return PicturedFile(path: file.path, identity: file.identity, result: .failure(failure))
    }
  }
}
