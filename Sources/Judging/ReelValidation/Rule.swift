import ReelCore

/// A check for one thing that can be wrong with a file. A plain value; ``RuleRegistry`` holds all rules.
package struct Rule: Sendable {
  /// Judges a file. Pure.
  package typealias Evaluation = @Sendable (FixtureFacts) -> RuleOutcome

  /// A stable name, such as `duration.max`, which policies, locks and reports use.
  package let id: String
  /// What it requires of a file, in a few words.
  package let title: String
  /// Why it exists, and how to fix a file that breaks it; a few sentences.
  package let explanation: String
  /// The form of its setting; nil if it can only be switched on and off.
  package let operand: OperandForm?
  /// Returns the evaluation for the operand that a policy gives; nil if the operand is not valid.
  let bind: @Sendable (Operand) -> Evaluation?

  init(_ id: String, _ title: String, _ explanation: String, judge: @escaping Evaluation) {
    self.id = id
    self.title = title
    self.explanation = explanation
    operand = nil
    bind = { $0.texts.isEmpty ? judge : nil }
  }

  init<Value: Sendable>(
    _ id: String, _ title: String, _ parameter: RuleParameter<Value>, _ explanation: String,
    judge: @escaping @Sendable (FixtureFacts, Value, Tolerance) -> RuleOutcome
  ) {
    self.id = id
    self.title = title
    self.explanation = explanation
    operand = parameter.form
    bind = { operand in
      guard let value = parameter.value(operand.texts) else { return nil }
      return { judge($0, value, operand.tolerance) }
    }
  }
}

extension Rule {
  /// A rule about the facts of a file that could be read; it does not apply to other files.
  static func media(
    _ id: String, _ title: String, _ explanation: String,
    judge: @escaping @Sendable (MediaInfo) -> RuleOutcome
  ) -> Rule {
    Rule(id, title, explanation) { $0.media.map(judge) ?? .notApplicable }
  }

  static func media<Value: Sendable>(
    _ id: String, _ title: String, _ parameter: RuleParameter<Value>, _ explanation: String,
    judge: @escaping @Sendable (MediaInfo, Value, Tolerance) -> RuleOutcome
  ) -> Rule {
    Rule(id, title, parameter, explanation) { facts, value, tolerance in
      facts.media.map { judge($0, value, tolerance) } ?? .notApplicable
    }
  }

  /// A rule about the video stream; it does not apply to a file without one, which breaks `video.none` instead.
  static func video(
    _ id: String, _ title: String, _ explanation: String,
    judge: @escaping @Sendable (VideoFacts) -> RuleOutcome
  ) -> Rule {
    media(id, title, explanation) { $0.video.map(judge) ?? .notApplicable }
  }

  static func video<Value: Sendable>(
    _ id: String, _ title: String, _ parameter: RuleParameter<Value>, _ explanation: String,
    judge: @escaping @Sendable (VideoFacts, Value, Tolerance) -> RuleOutcome
  ) -> Rule {
    media(id, title, parameter, explanation) { media, value, tolerance in
      media.video.map { judge($0, value, tolerance) } ?? .notApplicable
    }
  }
}

extension MediaInfo {
  /// Whether it belongs to the MP4 family, in which the index has a place of its own.
  var isISO: Bool { container.isISO }

  /// Whether it is Matroska or its subset WebM.
  var isMatroska: Bool { container.isMatroska }
}

/// The result of applying a rule to one file.
package enum RuleOutcome: Hashable, Sendable {
  case passed
  /// The rule is about something that this file does not have.
  case notApplicable
  case broken(Violation)
  /// What the judgment needs is not known; the sentence says what is missing.
  case unverified(String)
}

/// How a file breaks a rule.
package struct Violation: Hashable, Sendable {
  /// What the rule requires, such as `at most 60 s`.
  package let expected: String
  package let found: String
  /// What is wrong, with "it" for the file; one sentence for people.
  package let sentence: String
  /// Nil if no command helps.
  package let fix: Fix?
}

extension RuleOutcome {
  static func broken(_ sentence: String, expected: String, found: String, fix: Fix? = nil) -> RuleOutcome {
    .broken(Violation(expected: expected, found: found, sentence: sentence, fix: fix))
  }

  /// The kind of limit.
  enum Bound: String {
    case least = "at least"
    case most = "at most"
  }

  /// The rule is broken by a number beyond its limit.
  /// - Parameter texts: ways to write the number, the coarsest first. The first in which the number and the limit
  ///   differ is used.
  static func beyond<Number>(
    _ what: String, _ number: Number, _ bound: Bound, _ limit: Number, _ texts: ((Number) -> String)...,
    fix: Fix? = nil
  ) -> RuleOutcome {
    let (found, wanted) =
      texts.lazy.map { ($0(number), $0(limit)) }.first { $0 != $1 } ?? ("\(number)", "\(limit)")
    return .broken("\(what): \(found)", expected: "\(bound.rawValue) \(wanted)", found: found, fix: fix)
  }

  /// Judges a fact; unverified if the fact is unknown.
  static func judging<Value>(
    _ value: Value?, unknown name: String, _ judge: (Value) -> RuleOutcome
  ) -> RuleOutcome {
    guard let value else { return .unverified("\(name) is unknown") }
    return judge(value)
  }
}

/// All rules, in the order in which they are reported.
package enum RuleRegistry {
  /// By group: the file, its container, its index, its duration, its video stream, the size of its picture, its frame
  /// rate, its pixels, its sound, its weight, what it discloses, and the files beside it.
  package static let rules: [Rule] =
    FileRules.all + ContainerRules.all + IndexRules.all + DurationRules.all + VideoRules.all + SizeRules.all
    + RateRules.all + PixelRules.all + AudioRules.all + WeightRules.all + PrivacyRules.all
    + NeighbourRules.all

  private static let byID: [String: Rule] = Dictionary(rules.map { ($0.id, $0) }) { first, _ in first }

  package static func rule(_ id: String) -> Rule? { byID[id] }

  /// The rule ID most similar to `id`, which does not exist, if one is similar enough to be meant.
  package static func nearest(to id: String) -> String? {
    NearestWord.nearest(to: id, among: rules.map(\.id))
  }
}

/// How much a broken rule matters.
package enum Severity: String, Codable, Sendable, CaseIterable, Comparable {
  /// The rule is not evaluated.
  case off
  /// The finding is reported, but the file passes.
  case warn
  case error

  /// Orders `off` before `warn` before `error`.
  package static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .off: 0
    case .warn: 1
    case .error: 2
    }
  }
}

/// A rule that a file breaks, or that could not be judged.
package struct Finding: Hashable, Sendable {
  package enum State: String, Codable, Sendable, CaseIterable {
    case broken
    case unverified
    /// Broken as it was when the file was locked: reported, but not a failure.
    case locked
  }
  package var rule: String
  /// Never `off`.
  package var severity: Severity
  package var state: State
  /// Nil if the rule could not be judged.
  package var expected: String?
  /// Nil if the rule could not be judged.
  package var found: String?
  package var sentence: String
  /// A shell command that makes the file keep this rule and all others that it breaks; nil if there is none.
  package var fix: String?
  /// Whether a command could make the file keep this rule if it broke no other.
  package var hasRemedy: Bool

  package init(
    rule: String, severity: Severity, state: State, expected: String? = nil, found: String? = nil,
    sentence: String, fix: String? = nil, hasRemedy: Bool = false
  ) {
    self.hasRemedy = hasRemedy
    self.rule = rule
    self.severity = severity
    self.state = state
    self.expected = expected
    self.found = found
    self.sentence = sentence
    self.fix = fix
  }
}
