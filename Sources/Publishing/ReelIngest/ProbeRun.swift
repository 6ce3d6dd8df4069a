import ReelCore
import ReelSource

/// Probes several files at once, and reports the results in the order of the files.
public struct ProbeRun: Sendable {
  private let files: FileRun
  private let prober: any MediaProber

  /// - Parameter width: the number of files probed at once, at least 1.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(), prober: any MediaProber, width: Int
  ) {
    var walkOptions = walkOptions
    walkOptions.remoteUse = .probing
    // Twice as many, so that some files are opened and prepared while others wait for their readers.
    files = FileRun(inputs: inputs, options: walkOptions, width: 2 * max(1, width))
    self.prober = prober
  }

  /// Calls `report` for each file in order, in the caller's isolation, until there are no more files, `report` returns
  /// false, or the task is cancelled.
  ///
  /// - Throws: ``ProbeError`` with a code about the installation, which would affect every other file, too.
  public func run(
    isolation: isolated (any Actor)? = #isolation, _ report: (ProbedFile) async -> Bool
  ) async throws(ProbeError) {
    try await files.run(probe) { file async throws(ProbeError) in await report(file) }
  }

  /// Calls `report` for each file in order, with what `prepare` made of its result. Several files are prepared at once,
  /// and only the reports wait for each other. Both closures may block.
  ///
  /// Ends and throws like ``run(isolation:_:)``.
  package func run<Prepared: Sendable>(
    preparing prepare: @escaping @Sendable (ProbedFile) -> Prepared,
    reporting report: @escaping @Sendable (Prepared) -> Bool
  ) async throws(ProbeError) {
    try await files.runBlocking { file, flag throws(ProbeError) in
      prepare(try probe(file, flag))
    } _: { prepared throws(ProbeError) in
      report(prepared)
    }
  }

  @Sendable private func probe(_ file: WalkedFile, _ flag: CancellationFlag) throws(ProbeError) -> ProbedFile
  {
    let path = file.path
    let source: SourceFile
    do throws(SourceError) {
      source = try file.found.get().open(flag)
    } catch {
      return ProbedFile(path: path, result: .failure(FileFailure(error)))
    }
    let result: Result<ProbeReport, FileFailure>
    do throws(ProbeError) {
      result = .success(try prober.probe(source, cancellation: flag))
    } catch {
      if error.code.isInstallation { throw error }
      result = .failure(FileFailure(error))
    }
    return ProbedFile(path: path, result: result, read: (source.handle as? any RemoteHandle)?.transfer)
  }
}
