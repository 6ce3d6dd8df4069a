import ReelCore

/// A policy as the door of `reel publish` and `reel ingest`: what breaks a rule of severity `error` stays out.
package struct PolicyIntake: IntakePolicy {
  private let policy: Policy

  /// From its parts.
  package init(_ policy: Policy) {
    self.policy = policy
  }

  /// Judges by the facts alone; overrides and rules about the name need ``violations(in:of:)``.
  package func violations(in media: MediaInfo) -> [PolicyViolation] {
    violations(in: media, of: SourcePath(""))
  }

  /// What is unverified does not keep a file out: nobody could say what it should do about it.
  package func violations(in media: MediaInfo, of path: SourcePath) -> [PolicyViolation] {
    let report = ProbeReport(
      media: media, provenance: ProbeProvenance(method: .full, isolation: .none, ffmpeg: ""))
    let facts = FixtureFacts(path: path, size: media.size, reading: .media(report))
    return RuleEvaluator.findings(facts, by: policy.rules(for: path))
      .filter { $0.severity == .error && $0.state == .broken }
      .map { PolicyViolation(rule: $0.rule, message: $0.sentence) }
  }

  /// By `bytes.max`.
  package func violations(ofSize size: Int64, of path: SourcePath) -> [PolicyViolation] {
    let rules = policy.rules(for: path).filter { $0.rule.id == WeightRules.bytes.id && $0.severity == .error }
    let unread = FixtureReading.unreadable(ProbeError(.unreadable, "it was not read"))
    return RuleEvaluator.findings(FixtureFacts(path: path, size: size, reading: unread), by: rules)
      .map { PolicyViolation(rule: $0.rule, message: $0.sentence) }
  }
}
