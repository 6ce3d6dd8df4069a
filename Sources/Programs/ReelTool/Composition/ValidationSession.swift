import ReelCore
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
  /// Of workers that mend.
  private let mending: @Sendable () -> SandboxedProber
  /// For reports with pictures.
  let illustration: ReportIllustration

  /// - Parameter width: files read at once.
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
  ///   - isLocked: whether a lock has this file as it is.
  ///   - advises: whether the commands that would mend a file are told.
  /// - Throws: ``ProbeError`` when no file can be read at all.
  func judge(
    locks: Bool, isLocked: @escaping @Sendable (FixtureFacts) -> Bool = { _ in false }, advises: Bool = false
  ) async throws -> FixtureReview.Outcome {
    let scan = scan(locks ? .all : policy.asks(RuleIDs.duplicate) ? .sameSizes : .none)
    let (result, wasInterrupted) = await Interruption.cancelling {
      let judgement = review.judgement(try await scan.run(isLocked: isLocked))
      return advises ? try await tried(judgement) : judgement
    }
    await prober.close()
    if wasInterrupted { throw CommandFailure(.interrupted, "interrupted") }
    let judgement = try result.get()
    for sentence in review.idleOverrides(in: judgement) { OutputStream.mention("reel: " + sentence) }
    return judgement
  }

  /// A larger file is advised to be mended without having been.
  private static let mostTried: Int64 = 256 << 20

  /// Facts don't tell whether fragments can be put together so that sound and pictures stay where they are: that is tried.
  private func tried(_ judgement: FixtureReview.Outcome) async throws -> FixtureReview.Outcome {
    let uncertain = judgement.files.indices.filter { place in
      let file = judgement.files[place]
      return (file.facts.size ?? .max) <= Self.mostTried
        && file.findings.contains { $0.fix?.contains(" \(Mend.unfragment.flag) ") == true }
    }
    guard !uncertain.isEmpty else { return judgement }
    let prober = mending()
    let folder = try ProcessEnvironment.current().text("TMPDIR") ?? "/tmp"
    var facts = judgement.files.map(\.facts)
    for place in uncertain where !Task.isCancelled {
      let isMended = await MendRun.canMend(
        facts[place].path, [.faststart, .unfragment], in: folder, prober: prober)
      if !isMended { facts[place].unmendable.insert(.unfragment) }
    }
    await prober.close()
    return review.judgement(facts)
  }
}
