import ReelCore
import ReelSandbox
import ReelSource
import ReelUpkeep
import ReelValidation

/// Reads files and judges them: the work of `reel validate` and `reel lock`.
struct ValidationSession: Sendable {
  let review: FixtureReview
  private let scan: @Sendable (FixtureScan.Hashing) -> FixtureScan
  private let policy: Policy
  private let prober: SandboxedProber
  /// For reports with pictures.
  let illustration: ReportIllustration

  /// - Parameter width: files read at once.
  init(
    _ inputs: [SourceInput], followLinks: Bool, includesTrash: Bool, filter: FixtureFilter, policy: Policy,
    prober: SandboxedProber, width: Int, illustration: ReportIllustration
  ) {
    review = FixtureReview(inputs, filter: filter, policy: policy)
    (self.policy, self.prober, self.illustration) = (policy, prober, illustration)
    scan = {
      FixtureScan(
        inputs: inputs, followLinks: followLinks, includesTrash: includesTrash, filter: filter.names,
        prober: prober, hashing: $0, width: width, wording: FlagNames.put)
    }
  }

  /// Reads and judges every file.
  /// - Parameter locks: whether each file's digest is needed.
  /// - Throws: ``ProbeError`` when no file can be read at all.
  func judge(locks: Bool) async throws -> FixtureReview.Outcome {
    let scan = scan(locks ? .all : policy.asks(RuleIDs.duplicate) ? .sameSizes : .none)
    let (result, wasInterrupted) = await Interruption.cancelling { try await scan.run() }
    await prober.close()
    if wasInterrupted { throw CommandFailure(.interrupted, "interrupted") }
    return review.judgement(try result.get())
  }
}
