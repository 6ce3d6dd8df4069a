import ReelCore

/// One rule that a file breaks, or that could not be judged.
public struct Finding: Hashable, Sendable {
  /// Whether the rule is broken, or nobody knows.
  public enum State: String, Codable, Sendable, CaseIterable {
    case broken
    case unverified
    /// Broken as it was when the file was locked: told, and no failure.
    case locked
  }
  /// The rule's id.
  public var rule: String
  /// Never `off`.
  public var severity: Severity
  /// Broken, unverified, or broken as it was locked.
  public var state: State
  /// Nil when it could not be judged.
  public var expected: String?
  /// Nil when it could not be judged.
  public var found: String?
  /// What is wrong, about "it"; one sentence for people.
  public var sentence: String
  /// A shell command that would mend the file.
  public var mend: String?

  /// From its parts.
  public init(
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
