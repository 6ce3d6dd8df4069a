/// What one policy file says of one rule; what it does not say is inherited.
struct RuleSetting: Hashable, Sendable {
  var severity: Severity?
  var operand: Operand?
  /// Where it stands.
  var place: PolicyPlace

  /// This setting over an inherited one. A rule that gets an operand is switched on.
  func over(_ inherited: RuleSetting?) -> RuleSetting {
    guard let inherited else { return self }
    var merged = self
    merged.operand = operand ?? inherited.operand
    if severity == nil {
      merged.severity = inherited.severity == .off || inherited.severity == nil ? .error : inherited.severity
    }
    return merged
  }
}

/// A place in a policy file.
struct PolicyPlace: Hashable, Sendable {
  let source: String
  let line: Int?
  let column: Int?

  func problem(_ message: String) -> PolicyProblem {
    PolicyProblem(source: source, line: line, column: column, message: message)
  }
}
