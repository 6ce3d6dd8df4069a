import ReelCore
import ReelSource

/// Reads what files really are, several at once, and gives the answers in the order of the question.
public struct ProbeRun: Sendable {
  private let files: FileRun
  private let prober: any MediaProber

  /// - Parameter width: files read at once, at least 1.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(), prober: any MediaProber, width: Int
  ) {
    var walkOptions = walkOptions
    walkOptions.remoteUse = .probing
    // As many again open and prepare files while the others wait for their readers.
    files = FileRun(inputs: inputs, options: walkOptions, width: 2 * max(1, width))
    self.prober = prober
  }

  /// Calls `report` for each file in order, where the caller is, until there are no more, `report` gives false, or the
  /// task is cancelled.
  ///
  /// - Throws: ``ProbeError`` of a code that is about the installation: no other file would fare better.
  public func run(
    isolation: isolated (any Actor)? = #isolation, _ report: (ProbedFile) async -> Bool
  ) async throws(ProbeError) {
    try await files.run(probe) { file async throws(ProbeError) in await report(file) }
  }

  /// Calls `report` for each file in order, with what `prepare` made of the answer: several files are prepared at
  /// once, only the reports wait for each other. Both may block.
  ///
  /// Ends, and throws, like ``run(isolation:_:)``.
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
