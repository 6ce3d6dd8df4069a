import ReelCore

/// A rule as a policy sets it: switched on, with its operand parsed.
package struct ActiveRule: Sendable {
  package let rule: Rule
  /// `warn` or `error`.
  package let severity: Severity
  let judge: Rule.Evaluation
}

/// Judges files by the rules of a policy. Pure.
package enum RuleEvaluator {
  /// Returns a finding for each of `rules` that the file breaks or that could not be judged, in the order of `rules`.
  /// - Parameter claim: whether a new file may have this name: no file has it, and no other command gets it.
  package static func findings(
    _ facts: FixtureFacts, by rules: [ActiveRule], claim: (SourcePath) -> Bool = { _ in true }
  ) -> [Finding] {
    func remedy(_ violation: Violation) -> Fix? {
      if case .mend(let mend) = violation.fix, facts.unmendable.contains(mend) { nil } else { violation.fix }
    }
    let judged = rules.map { ($0, $0.judge(facts)) }
    let broken = judged.compactMap { rule, outcome in
      if case .broken(let violation) = outcome { (rule, remedy(violation)) } else { nil }
    }
    // A command that leaves a rule broken is no fix.
    let isHopeless = broken.contains { $0.0.severity == .error && $0.1 == nil }
    let served = isHopeless || facts.isRemote ? nil : served(broken, facts, by: rules, claim: claim)
    return judged.compactMap { rule, outcome in
      switch outcome {
      case .passed, .notApplicable: nil
      case .unverified(let sentence):
        Finding(rule: rule.rule.id, severity: rule.severity, state: .unverified, sentence: sentence)
      case .broken(let violation):
        Finding(
          rule: rule.rule.id, severity: rule.severity, state: .broken, expected: violation.expected,
          found: violation.found, sentence: violation.sentence,
          fix: served?.rules.contains(rule.rule.id) == true ? served?.command : nil,
          hasRemedy: remedy(violation) != nil)
      }
    }
  }

  /// Returns a command, and the rules that the file keeps after it: all broken ones, or those of severity `error` if no
  /// command serves all. A warning neither replaces an error's command nor stands in its way.
  private static func served(
    _ broken: [(ActiveRule, Fix?)], _ facts: FixtureFacts, by rules: [ActiveRule],
    claim: (SourcePath) -> Bool
  ) -> (command: String, rules: Set<String>)? {
    let remedies = broken.compactMap { rule, fix in fix.map { (rule: rule, fix: $0) } }
    let errors = remedies.filter { $0.rule.severity == .error }
    let all = errors.isEmpty ? remedies : remedies.filter { $0.rule.severity == .error || !$0.fix.isWhole }
    for (some, rules) in [(all, rules), (errors, rules.filter { $0.severity == .error })] where !some.isEmpty
    {
      if let command = FixPlan.command(for: some.map(\.fix), facts, by: rules, claim: claim) {
        return (command, Set(some.map(\.rule.rule.id)))
      }
    }
    return nil
  }
}

extension Finding {
  /// The sentence, together with the policy's setting: the sender of the file has no policy in which to look that up.
  fileprivate var refusal: String {
    guard let expected, RuleRegistry.rule(rule)?.operand != nil else { return sentence }
    return expected.hasPrefix("at ") ? "\(sentence), \(expected)" : "\(sentence); allowed: \(expected)"
  }
}

/// A policy as the gatekeeper of `reel publish` and `reel ingest`: a file that breaks a rule of severity `error` is
/// refused (docs/validate.md).
public struct PolicyIntake: IntakePolicy {
  private let policy: Policy

  /// Creates a policy from a name as `reel --policy` takes it: a preset (`feed-vertical`), or a YAML file, whose name
  /// has a slash or a dot. Blocks while files are read.
  /// - Throws: ``PolicyError``, with everything that is wrong with the policy.
  public init(named name: String) throws(PolicyError) {
    policy = try PolicyLibrary.local.policy(name)
  }

  package init(_ policy: Policy) {
    self.policy = policy
  }

  /// Judges by the facts alone; overrides and rules about the name need ``violations(in:of:)``.
  public func violations(in media: MediaInfo) -> [PolicyViolation] {
    violations(in: media, of: SourcePath(""))
  }

  /// Judges the facts and the path. A rule that could not be judged does not refuse a file, as its sender could not do
  /// anything about it.
  public func violations(in media: MediaInfo, of path: SourcePath) -> [PolicyViolation] {
    let report = ProbeReport(
      media: media, provenance: ProbeProvenance(method: .full, isolation: .none, ffmpeg: ""))
    let facts = FixtureFacts(path: path, size: media.size, reading: .media(report))
    return RuleEvaluator.findings(facts, by: policy.rules(for: path))
      .filter { $0.severity == .error && $0.state == .broken }
      .map { PolicyViolation(rule: $0.rule, message: $0.refusal) }
  }

  /// Judges the size by `bytes.max`.
  public func violations(ofSize size: Int64, of path: SourcePath) -> [PolicyViolation] {
    let rules = policy.rules(for: path).filter { $0.rule.id == WeightRules.bytes.id && $0.severity == .error }
    let unread = FixtureReading.unreadable(ProbeError(.unreadable, "it was not read"))
    return RuleEvaluator.findings(FixtureFacts(path: path, size: size, reading: unread), by: rules)
      .map { PolicyViolation(rule: $0.rule, message: $0.refusal) }
  }
}
