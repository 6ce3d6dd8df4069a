import ReelValidation

/// What a rule means, for people (`reel validate --explain`).
package enum RuleSummary {
  /// A newline after each line.
  package static func text(_ info: RuleInfo, _ traits: TerminalTraits) -> String {
    var lines = traits.wrapped(traits.sanitized("\(info.id): \(info.title)"), .strong)
    lines += traits.wrapped(traits.sanitized(info.explanation))
    if let form = RuleRegistry.rule(info.id)?.operand {
      lines += traits.wrapped(
        traits.sanitized("In a policy: \(info.id): \(form.examples[0])  (\(form.name))"), .dim)
    }
    return lines.text(traits)
  }

  /// Every rule, a line for each.
  package static func list(_ infos: [RuleInfo], _ traits: TerminalTraits) -> String {
    let columns = infos.map { $0.id.count }.max() ?? 0
    return infos.map { DisplayWidth.padded($0.id, to: columns) + "  " + $0.title + "\n" }.joined()
  }
}
