/// Facts for people, one below the other: labels on the left, values on the right, each wrapped to fit.
struct FactSheet {
  private struct Fact {
    let label: String
    let value: String
    let style: StyledLine.TextStyle?
  }
  private var facts: [Fact] = []
  private let traits: TerminalTraits

  init(_ traits: TerminalTraits) { self.traits = traits }

  /// A fact with a value that may come from a stranger; an unknown one is left out.
  mutating func add(_ label: String, _ value: String?, _ style: StyledLine.TextStyle? = nil) {
    guard let value, !value.isEmpty else { return }
    facts.append(Fact(label: label, value: traits.sanitized(value), style: style))
  }

  /// - Parameter indent: spaces before each line.
  func lines(indent: Int = 2) -> [StyledLine] {
    let labelColumns = facts.map { DisplayWidth.columns(of: $0.label) }.max() ?? 0
    guard let columns = traits.columns else {
      return facts.flatMap { beside($0, labelColumns, indent: indent, room: nil) }
    }
    let room = columns - indent - labelColumns - 2
    if room >= 16 { return facts.flatMap { beside($0, labelColumns, indent: indent, room: room) } }
    return facts.flatMap { below($0, columns: columns) }
  }

  private func beside(_ fact: Fact, _ labelColumns: Int, indent: Int, room: Int?) -> [StyledLine] {
    let margin = String(repeating: " ", count: indent)
    return TextFlow.lines(fact.value, columns: room).enumerated().map { index, text in
      let label = DisplayWidth.padded(index == 0 ? fact.label : "", to: labelColumns)
      return StyledLine(margin) + StyledLine(label, .dim) + "  " + StyledLine(text, fact.style)
    }
  }

  /// Where there is no room for two columns.
  private func below(_ fact: Fact, columns: Int) -> [StyledLine] {
    let label = StyledLine(DisplayWidth.cuttingEnd(fact.label, to: columns, mark: traits.ellipsis), .dim)
    guard columns > 4 else { return [label] + wrapped(fact, columns: columns, margin: "") }
    return [label] + wrapped(fact, columns: columns - 2, margin: "  ")
  }

  private func wrapped(_ fact: Fact, columns: Int, margin: String) -> [StyledLine] {
    TextFlow.lines(fact.value, columns: columns).map { StyledLine(margin) + StyledLine($0, fact.style) }
  }
}

extension TerminalTraits {
  /// `text`, harmless already, on as many lines as it takes.
  func wrapped(_ text: String, _ style: StyledLine.TextStyle? = nil) -> [StyledLine] {
    TextFlow.lines(text, columns: columns).map { StyledLine($0, style) }
  }

  /// A word set off by colour, then a text, harmless already, on as many lines as it takes.
  func wrapped(_ lead: String, _ style: StyledLine.TextStyle?, _ text: String) -> [StyledLine] {
    var lines = TextFlow.lines(lead + " " + text, columns: columns)
    guard let first = lines.first, first.hasPrefix(lead) else { return lines.map { StyledLine($0) } }
    lines.removeFirst()
    return [StyledLine(lead, style) + String(first.dropFirst(lead.count))] + lines.map { StyledLine($0) }
  }
}
