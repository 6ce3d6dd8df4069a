/// What a rule says of one file.
package enum RuleOutcome: Hashable, Sendable {
  case passed
  /// The rule is about something that this file has not.
  case notApplicable
  case broken(Violation)
  /// What it would take to judge is not known; the sentence says what.
  case unverified(String)
}

/// How a file breaks a rule.
package struct Violation: Hashable, Sendable {
  /// What the rule wants, such as `at most 60 s`.
  package let expected: String
  /// What was found instead.
  package let found: String
  /// What is wrong, about "it"; one sentence for people.
  package let sentence: String
  /// A shell command that would mend the file, with words that ``FixCommand`` puts names in place of; nil where no
  /// command can.
  package let mend: String?

  /// From its parts.
  package init(expected: String, found: String, sentence: String, mend: String? = nil) {
    self.expected = expected
    self.found = found
    self.sentence = sentence
    self.mend = mend
  }
}

extension RuleOutcome {
  static func broken(_ sentence: String, expected: String, found: String, mend: String? = nil) -> RuleOutcome
  {
    .broken(Violation(expected: expected, found: found, sentence: sentence, mend: mend))
  }

  /// Judges a fact that may be unknown.
  static func judging<Value>(
    _ value: Value?, unknown name: String, _ judge: (Value) -> RuleOutcome
  ) -> RuleOutcome {
    guard let value else { return .unverified("\(name) is unknown") }
    return judge(value)
  }
}
