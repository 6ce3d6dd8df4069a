import Glibc
import ReelCore
import ReelIngest
import ReelProcess
import ReelSandbox
import ReelSource
import ReelTerminal
import ReelUpkeep
import ReelValidation
import Synchronization

/// What `reel mend` works with, put together from the settings.
struct MendSession: Sendable {
  /// Whether the user named one file, and no folder.
  let isOneFile: Bool
  /// The paths that the user named.
  private let named: [SourcePath]
  /// Whether the user also named the mended file.
  private let namesOutput: Bool
  private let run: MendRun
  private let prober: SandboxedProber

  /// - Parameters:
  ///   - output: `-o`.
  /// - Throws: ``CommandFailure``.
  init(
    _ settings: Settings, _ files: [String], output: SourcePath, replaces: Bool, options: MendOptions,
    policy: Policy?, followLinks: Bool, filter: NameFilter
  ) throws {
    let paths = try Sources.named(files)
    named = paths
    isOneFile = paths.count == 1 && paths.allSatisfy { $0.fileKind != S_IFDIR }
    let target: MendTarget
    switch try OutputPlace(output, isOne: isOneFile, "file") {
    case .standardOutput:
      throw CommandFailure(.usage, "a mended file is not written to standard output; name a file (-o FILE)")
    case .folder(let folder):
      let length = folder.bytes.lastIndex { $0 != UInt8(ascii: "/") }.map { $0 + 1 } ?? 1
      let path = SourcePath(bytes: folder.bytes.prefix(length))
      if let kind = path.fileKind, kind != S_IFDIR {
        throw CommandFailure(.usage, "-o \(folder.text) is not a folder")
      }
      if let place = path.resolved,
        paths.contains(where: { $0.fileKind == S_IFDIR && $0.resolved.map(place.holds) ?? false })
      {
        throw CommandFailure(
          .usage, "mended files can't go into the folder that they come from: name another with -o")
      }
      target = MendTarget(file: nil, folder: folder, replaces: replaces)
    case .file(let file): target = MendTarget(file: file, folder: nil, replaces: replaces)
    }
    namesOutput = target.file != nil
    let width = isOneFile ? 1 : min(settings.jobs ?? Processors.available, Processors.available)
    prober = AppContext.prober(settings, workers: width, mends: true)
    run = MendRun(
      paths, to: target, options: options,
      policy: policy, prober: prober, width: width, followLinks: followLinks, filter: filter)
  }

  /// Mends the files, and calls `report` with what became of each, in order. Returns the exit code.
  /// - Throws: when no file can be mended at all; what `report` throws.
  func run(_ report: @escaping @Sendable (MendDocument) throws -> Void) async throws -> ReelExit {
    let tally = Mutex(ExitTally(named: named, namesOutput: namesOutput))
    let (result, wasInterrupted) = await RunSignals.cancelling { [run] in
      try await run.run { file in
        if case .failure(let failure) = file.result {
          tally.withLock { $0.note(failure.code, of: file.path) }
        }
        try report(MendDocument(file))
      }
    }
    if wasInterrupted { return .interrupted }
    if try result.get() { return .done }
    return tally.withLock(\.exit)
  }

  /// Ends the workers.
  func close() async { await prober.close() }
}

extension MendDocument {
  /// The document of a file, with messages in the words of the command line.
  fileprivate init(_ file: MendedFile) {
    let result = file.result.map { MendDocument.Made(done: $0.done, file: $0.file, isCutOff: $0.isCutOff) }
    self.init(
      path: file.path,
      result: result.mapError { failure in
        let help = (failure.cause as? MendError)?.remedy.map { " (\(FlagNames.flag($0)))" } ?? ""
        return FileFailure(
          code: failure.code, message: FlagNames.put(into: failure.text) + help, cause: failure.cause)
      })
  }
}
