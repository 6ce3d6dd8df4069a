import ReelCore

/// A rule as a policy sets it: on, with its operand understood.
package struct ActiveRule: Sendable {
  /// The rule that is on.
  package let rule: Rule
  /// `warn` or `error`.
  package let severity: Severity
  let judge: Rule.Evaluation
}

/// What a policy says of files. Pure.
package enum RuleEvaluator {
  /// Every rule of `rules` that the file breaks or that could not be judged, in their order.
  package static func findings(_ facts: FixtureFacts, by rules: [ActiveRule]) -> [Finding] {
    rules.compactMap { finding($0, facts) }
  }

  private static func finding(_ active: ActiveRule, _ facts: FixtureFacts) -> Finding? {
    switch active.judge(facts) {
    case .passed, .notApplicable: nil
    case .unverified(let sentence):
      Finding(rule: active.rule.id, severity: active.severity, state: .unverified, sentence: sentence)
    case .broken(let breach):
      Finding(
        rule: active.rule.id, severity: active.severity, state: .broken, expected: breach.expected,
        found: breach.found, sentence: breach.sentence,
        mend: breach.mend.map { FixCommand.text($0, for: facts.path) })
    }
  }
}
