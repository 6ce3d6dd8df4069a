import ReelCore

/// A rule as a policy sets it: on, with its operand understood.
package struct ActiveRule: Sendable {
  package let rule: Rule
  /// `warn` or `error`.
  package let severity: Severity
  let judge: Rule.Evaluation
}

/// What a policy says of files. Pure.
package enum RuleEvaluator {
  /// Every rule of `rules` that the file breaks or that could not be judged, in their order.
  /// - Parameter claim: whether nothing has this name, and nothing else gets it: for what a command would write.
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
    // What a command leaves broken is no fix.
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

  /// A command, and the rules that the file keeps by it: all, or those of severity `error` where no command does all. A
  /// warning neither takes the place of an error's command nor stands in its way.
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
  /// The sentence, with what the policy sets the rule to: whoever sent the file has no policy to look that up in.
  fileprivate var refusal: String {
    guard let expected, RuleRegistry.rule(rule)?.operand != nil else { return sentence }
    return expected.hasPrefix("at ") ? "\(sentence), \(expected)" : "\(sentence); allowed: \(expected)"
  }
}

/// A policy as the door of `reel publish` and `reel ingest`: what breaks a rule of severity `error` stays out
/// (docs/validate.md).
public struct PolicyIntake: IntakePolicy {
  private let policy: Policy

  /// A policy as `reel --policy` takes it: a preset (`feed-vertical`), or a YAML file, whose name has a slash or a dot. Blocks
  /// while files are read.
  /// - Throws: ``PolicyError`` that says everything that is wrong with it.
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

  /// What is unverified does not keep a file out: nobody could say what it should do about it.
  public func violations(in media: MediaInfo, of path: SourcePath) -> [PolicyViolation] {
    let report = ProbeReport(
      media: media, provenance: ProbeProvenance(method: .full, isolation: .none, ffmpeg: ""))
    let facts = FixtureFacts(path: path, size: media.size, reading: .media(report))
    return RuleEvaluator.findings(facts, by: policy.rules(for: path))
      .filter { $0.severity == .error && $0.state == .broken }
      .map { PolicyViolation(rule: $0.rule, message: $0.refusal) }
  }

  /// By `bytes.max`.
  public func violations(ofSize size: Int64, of path: SourcePath) -> [PolicyViolation] {
    let rules = policy.rules(for: path).filter { $0.rule.id == WeightRules.bytes.id && $0.severity == .error }
    let unread = FixtureReading.unreadable(ProbeError(.unreadable, "it was not read"))
    return RuleEvaluator.findings(FixtureFacts(path: path, size: size, reading: unread), by: rules)
      .map { PolicyViolation(rule: $0.rule, message: $0.refusal) }
  }
}
