import ReelCore
import ReelSource
import Synchronization

/// Reads what files really are, several at once, and gives the answers in the order of the question.
public struct ProbeRun: Sendable {
  private let walk: SourceWalk
  private let prober: any MediaProber
  private let width: Int

  /// - Parameter width: files read at once, at least 1.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(), prober: any MediaProber, width: Int
  ) {
    var walkOptions = walkOptions
    walkOptions.remoteUse = .probing
    walk = SourceWalk(inputs: inputs, options: walkOptions)
    self.prober = prober
    self.width = max(1, width)
  }

  /// Calls `report` for each file in order, where the caller is, until there are no more, `report` gives false, or the
  /// task is cancelled.
  ///
  /// - Throws: ``ProbeError`` of a code that is about the installation: no other file would fare better.
  public func run(
    isolation: isolated (any Actor)? = #isolation, _ report: (ProbedFile) async -> Bool
  ) async throws(ProbeError) {
    var problem: ProbeError?
    await withTaskCancellationHandler {
      await queue.mapInOrder(WalkedFiles(walk), probe) { file in
        problem = file.installationProblem
        guard problem == nil else { return false }
        return await report(file)
      }
    } onCancel: {
      walk.cancellation.set()
    }
    if let problem { throw problem }
  }

  /// Calls `report` for each file in order, with what `prepare` made of the answer: several files are prepared at
  /// once, only the reports wait for each other. Both may block.
  ///
  /// Ends, and throws, like ``run(isolation:_:)``.
  package func run<Prepared: Sendable>(
    preparing prepare: @escaping @Sendable (ProbedFile) -> Prepared,
    reporting report: @escaping @Sendable (Prepared) -> Bool
  ) async throws(ProbeError) {
    let problem = Mutex<ProbeError?>(nil)
    await withTaskCancellationHandler {
      await queue.mapInOrder(WalkedFiles(walk)) { walked, flag in
        let file = probe(walked, flag)
        return Answer(prepared: prepare(file), installation: file.installationProblem)
      } blocking: { answer in
        if let found = answer.installation {
          problem.withLock { $0 = found }
          return false
        }
        return report(answer.prepared)
      }
    } onCancel: {
      walk.cancellation.set()
    }
    if let problem = problem.withLock({ $0 }) { throw problem }
  }

  /// As many again open and prepare files while the others wait for their readers.
  private var queue: BlockingQueue { BlockingQueue(label: "reel.probe-run", width: 2 * width) }

  private func probe(_ file: WalkedFile, _ flag: CancellationFlag) -> ProbedFile {
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
      result = .failure(FileFailure(error))
    }
    return ProbedFile(path: path, result: result, read: (source.handle as? any RemoteHandle)?.transfer)
  }
}

extension ProbedFile {
  /// Why no other file will fare better.
  fileprivate var installationProblem: ProbeError? {
    guard case .failure(let failure) = result, let error = failure.cause as? ProbeError else { return nil }
    return error.code.isInstallation ? error : nil
  }
}

/// What becomes of one file.
private struct Answer<Prepared: Sendable>: Sendable {
  let prepared: Prepared
  let installation: ProbeError?
}
