import ReelCore

/// One rule that a file breaks, or that could not be judged.
package struct Finding: Hashable, Sendable {
  /// Whether the rule is broken, or nobody knows.
  package enum State: String, Codable, Sendable, CaseIterable {
    case broken
    case unverified
    /// Broken as it was when the file was locked: told, and no failure.
    case locked
  }
  /// The rule's id.
  package var rule: String
  /// Never `off`.
  package var severity: Severity
  /// Broken, unverified, or broken as it was locked.
  package var state: State
  /// Nil when it could not be judged.
  package var expected: String?
  /// Nil when it could not be judged.
  package var found: String?
  /// What is wrong, about "it"; one sentence for people.
  package var sentence: String
  /// A shell command that would mend the file.
  package var mend: String?

  /// From its parts.
  package init(
    rule: String, severity: Severity, state: State, expected: String? = nil, found: String? = nil,
    sentence: String, mend: String? = nil
  ) {
    self.rule = rule
    self.severity = severity
    self.state = state
    self.expected = expected
    self.found = found
    self.sentence = sentence
    self.mend = mend
  }
}

extension Finding: Codable {}
