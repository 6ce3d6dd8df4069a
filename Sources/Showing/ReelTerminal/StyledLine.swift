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

extension TerminalTraits {
  /// The lines of the first `most` of `items`, and "and 3 more", which `rest` follows.
  ///
  /// - Parameter beside: how many there are that are not among `items`.
  func listed<Item>(
    _ items: [Item], most: Int = 20, beside: Int = 0, rest: String, _ lines: (Item) -> [StyledLine]
  ) -> [StyledLine] {
    let hidden = max(0, items.count - most) + beside
    return items.prefix(most).flatMap(lines)
      + (hidden > 0 ? wrapped("and \(hidden) more\(rest)", .dim) : [])
  }
}

/// Breaks a text into lines that fit: between words, and within one only where it is longer than a line. What stands in
/// backticks is copied, and counts as one word where that fits into a line.
struct TextFlow {
  private let columns: Int
  private var lines: [String] = []
  private var line = ""
  private var used = 0

  /// The lines of `text`; one, as it is, without a limit.
  ///
  /// - Parameter columns: cells of a line; nil for no limit.
  static func lines(_ text: String, columns: Int?) -> [String] {
    guard let columns, DisplayWidth.columns(of: text) > columns else { return [text] }
    var flow = TextFlow(columns: max(1, columns))
    for word in words(of: text, columns: max(1, columns)) { flow.add(word) }
    return flow.lines + [flow.line]
  }

  private static func words(of text: String, columns: Int) -> [String] {
    var (words, begun): ([String], Int?) = ([], nil)
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      words.append(String(word))
      guard word.count(where: { $0 == "`" }) % 2 == 1 else { continue }
      guard let first = begun else {
        begun = words.count - 1
        continue
      }
      begun = nil
      let whole = words[first...].joined(separator: " ")
      if DisplayWidth.columns(of: whole) <= columns { words.replaceSubrange(first..., with: [whole]) }
    }
    return words
  }

  private init(columns: Int) { self.columns = columns }

  private var room: Int { columns - used }

  private mutating func add(_ word: String) {
    let width = DisplayWidth.columns(of: word)
    let isFirstWord = line.isEmpty
    if width + (isFirstWord ? 0 : 1) <= room {
      append((isFirstWord ? "" : " ") + word)
    } else if width <= columns {
      breakLine()
      append(word)
    } else {
      if !isFirstWord {
        if room > 1 { append(" ") } else { breakLine() }
      }
      addInPieces(word)
    }
  }

  private mutating func addInPieces(_ word: String) {
    for character in word {
      let text = String(character)
      if DisplayWidth.columns(of: character) > room { breakLine() }
      // A character wider than any line is nothing that could be shown.
      if DisplayWidth.columns(of: character) <= room { append(text) }
    }
  }

  private mutating func append(_ text: String) {
    line += text
    used += DisplayWidth.columns(of: text)
  }

  private mutating func breakLine() {
    lines.append(line)
    line = ""
    used = 0
  }
}
