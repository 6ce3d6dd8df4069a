import ReelCore

/// One thing that can be wrong with a file. A value: the rules of ``RuleRegistry`` are all there are.
package struct Rule: Sendable {
  /// Judges a file. Pure.
  package typealias Evaluation = @Sendable (FixtureFacts) -> RuleOutcome

  /// Stable, such as `duration.max`: policies, locks and reports name it so.
  package let id: String
  /// What it asks of a file, in a few words.
  package let title: String
  /// Why, and how to mend a file that breaks it; a few sentences.
  package let explanation: String
  /// What it is set to; nil when it is only switched on and off.
  package let operand: OperandForm?
  /// The judge for the operand that a policy gives; nil when that is none.
  let bind: @Sendable (Operand) -> Evaluation?

  /// A rule without operand.
  init(_ id: String, _ title: String, _ explanation: String, judge: @escaping Evaluation) {
    self.id = id
    self.title = title
    self.explanation = explanation
    operand = nil
    bind = { $0.texts.isEmpty ? judge : nil }
  }

  /// A rule with an operand.
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
  /// A rule about the facts of a file that could be read; to others it does not apply.
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

  /// A rule about the video stream; a file without one breaks `video.none` alone.
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
  /// Whether it is of the family of MP4, where the index has a place of its own.
  var isISO: Bool {
    switch container {
    case .mp4, .mov, .m4v, .threeGP, .threeG2: true
    default: false
    }
  }
}
