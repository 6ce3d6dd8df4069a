/// One line of output: pieces of harmless text, some of them set off by colour.
struct StyledLine: Hashable, Sendable {
  /// What colour is for: to find at a glance what the words say too. SGR parameters (ECMA-48, 8.3.117).
  enum TextStyle: String, Sendable {
    case failure = "31"
    case warning = "33"
    case success = "32"
    case strong = "1"
    case dim = "2"
  }

  private struct Span: Hashable, Sendable {
    let text: String
    let style: TextStyle?
  }
  private var spans: [Span]

  /// - Parameter text: harmless, without line breaks.
  init(_ text: String = "", _ style: TextStyle? = nil) {
    spans = text.isEmpty ? [] : [Span(text: text, style: style)]
  }

  static func + (left: StyledLine, right: StyledLine) -> StyledLine {
    var joined = left
    joined.spans += right.spans
    return joined
  }

  static func + (left: StyledLine, right: String) -> StyledLine { left + StyledLine(right) }

  /// Cells.
  var columns: Int { spans.reduce(0) { $0 + DisplayWidth.columns(of: $1.text) } }

  /// As it is written, with colours where they may be.
  func text(_ traits: TerminalTraits) -> String {
    spans.reduce(into: "") { text, span in
      if traits.colour, let style = span.style {
        text += "\u{1B}[\(style.rawValue)m\(span.text)\u{1B}[0m"
      } else {
        text += span.text
      }
    }
  }

  /// In at most `columns` cells.
  func cut(to columns: Int, mark: String) -> StyledLine {
    guard self.columns > columns else { return self }
    var room = columns
    var cut = StyledLine()
    for span in spans where room > 0 {
      let isLast = DisplayWidth.columns(of: span.text) > room
      let text = isLast ? DisplayWidth.cuttingEnd(span.text, to: room, mark: mark) : span.text
      cut.spans.append(Span(text: text, style: span.style))
      room = isLast ? 0 : room - DisplayWidth.columns(of: text)
    }
    return cut
  }
}

extension [StyledLine] {
  /// The lines with a newline after each.
  func text(_ traits: TerminalTraits) -> String {
    reduce(into: "") { $0 += $1.text(traits) + "\n" }
  }
}
