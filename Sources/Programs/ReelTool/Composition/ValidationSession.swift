import ReelPage
import ReelProcess
import ReelSandbox
import ReelSource
import ReelTerminal
import ReelUpkeep
import ReelValidation

/// Reads files and judges them: the work of `reel validate` and `reel lock`.
struct ValidationSession: Sendable {
  let review: FixtureReview
  private let scan: @Sendable (FixtureScan.Hashing) -> FixtureScan
  private let policy: Policy
  private let prober: SandboxedProber
  /// Makes a prober whose workers can mend.
  private let mending: @Sendable () -> SandboxedProber
  /// For reports with pictures.
  let illustration: ReportIllustration

  /// - Parameter width: the number of files read at once.
  init(
    _ inputs: [SourceInput], followLinks: Bool, includesTrash: Bool, filter: FixtureFilter, policy: Policy,
    prober: SandboxedProber, mending: @escaping @Sendable () -> SandboxedProber, width: Int,
    illustration: ReportIllustration
  ) {
    review = FixtureReview(inputs, filter: filter, policy: policy)
    (self.policy, self.prober, self.illustration) = (policy, prober, illustration)
    self.mending = mending
    scan = {
      FixtureScan(
        inputs: inputs, followLinks: followLinks, includesTrash: includesTrash, filter: filter.names,
        prober: prober, hashing: $0, width: width, wording: FlagNames.put)
    }
  }

  /// Reads and judges every file.
  /// - Parameters:
  ///   - locks: whether each file's digest is needed.
  ///   - isLocked: whether the lock holds exactly this state of a file.
  ///   - advises: whether the commands that would mend a file are suggested.
  /// - Throws: ``ProbeError`` when no file can be read at all.
  func judge(
    locks: Bool, isLocked: @escaping @Sendable (FixtureFacts) -> Bool = { _ in false }, advises: Bool = false
  ) async throws -> FixtureReview.Outcome {
    let scan = scan(locks ? .all : policy.asks(RuleIDs.duplicate) ? .sameSizes : .none)
    let (result, wasInterrupted) = await RunSignals.cancelling {
      let judgement = review.judgement(try await scan.run(isLocked: isLocked))
      guard advises else { return judgement }
      return try await review.trying(
        judgement, in: { try ProcessEnvironment.current().text("TMPDIR") ?? "/tmp" }, by: mending)
    }
    await prober.close()
    if wasInterrupted { throw CommandFailure(.interrupted, "interrupted") }
    let judgement = try result.get()
    for sentence in review.idleOverrides(in: judgement) { OutputStream.complain(sentence) }
    return judgement
  }
}
