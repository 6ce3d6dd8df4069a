import ReelCore

/// A rule as a policy sets it: on, with its operand understood.
public struct ActiveRule: Sendable {
  /// The rule that is on.
  public let rule: Rule
  /// `warn` or `error`.
  public let severity: Severity
  let judge: Rule.Judge
}

/// What a policy says of files. Pure.
public enum Judge {
  /// Every rule of `rules` that the file breaks or that could not be judged, in their order.
  public static func findings(_ facts: FixtureFacts, by rules: [ActiveRule]) -> [Finding] {
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
        mend: breach.mend.map { MendCommand.text($0, for: facts.path) })
    }
  }
}
