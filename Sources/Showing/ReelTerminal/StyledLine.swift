import ReelCore

/// One line of output: pieces of sanitized text, some of them with a style.
struct StyledLine: Hashable, Sendable {
  /// Styles help to find at a glance what the words say, too. The values are SGR parameters (ECMA-48, 8.3.117).
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

  /// - Parameter text: sanitized, without line breaks.
  init(_ text: String = "", _ style: TextStyle? = nil) {
    spans = text.isEmpty ? [] : [Span(text: text, style: style)]
  }

  static func + (left: StyledLine, right: StyledLine) -> StyledLine {
    var joined = left
    joined.spans += right.spans
    return joined
  }

  static func + (left: StyledLine, right: String) -> StyledLine { left + StyledLine(right) }

  /// The number of cells that the line takes.
  var columns: Int { spans.reduce(0) { $0 + DisplayWidth.columns(of: $1.text) } }

  /// The line as written, with colors if they are allowed.
  func text(_ traits: TerminalTraits) -> String {
    spans.reduce(into: "") { text, span in
      if traits.colour, let style = span.style {
        text += "\u{1B}[\(style.rawValue)m\(span.text)\u{1B}[0m"
      } else {
        text += span.text
      }
    }
  }

  /// The line cut to at most `columns` cells.
  func cut(to columns: Int, mark: String) -> StyledLine {
    guard self.columns > columns else { return self }
    var room = columns
    var cut = StyledLine()
    for span in spans where room > 0 {
      // A span that fits exactly is cut, too: more follows, for which the mark stands.
      let isLast = DisplayWidth.columns(of: span.text) >= room
      let isFull = isLast && !cut.spans.isEmpty && room == DisplayWidth.columns(of: mark)
      let text =
        isFull ? mark : isLast ? DisplayWidth.cuttingEnd(span.text + " ", to: room, mark: mark) : span.text
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
  /// The lines of the first `most` of `items`, followed by "and 3 more" and `rest` if there are more.
  ///
  /// - Parameter beside: the number of further items that are not in `items`.
  func listed<Item>(
    _ items: [Item], most: Int = 20, beside: Int = 0, rest: String, _ lines: (Item) -> [StyledLine]
  ) -> [StyledLine] {
    let hidden = max(0, items.count - most) + beside
    return items.prefix(most).flatMap(lines)
      + (hidden > 0 ? wrapped("and \(hidden) more\(rest)", .dim) : [])
  }
}

/// Breaks a text into lines that fit, between words, and within a word only if it is longer than a line. Text in
/// backquotes is meant to be copied, and counts as one word if it fits on a line.
struct TextFlow {
  private let columns: Int
  private var lines: [String] = []
  private var line = ""
  private var used = 0

  /// The lines of `text`; a single unchanged line if there is no limit.
  ///
  /// - Parameters:
  ///   - columns: the number of cells in a line; nil for no limit.
  ///   - keepingCommands: whether a command of `reel` stays on one line even if it is longer, so that it can be copied:
  ///     the terminal then breaks it without adding a newline.
  static func lines(_ text: String, columns: Int?, keepingCommands: Bool = false) -> [String] {
    guard let columns, DisplayWidth.columns(of: text) > columns else { return [text] }
    var flow = TextFlow(columns: max(1, columns))
    for word in words(of: text, columns: max(1, columns), keepingCommands) { flow.add(word) }
    return flow.lines + [flow.line]
  }

  private struct Word {
    var text: String
    var isCommand = false
  }

  /// Splits the text into words. Text in backquotes counts as one word if it fits on a line.
  private static func words(of text: String, columns: Int, _ keepingCommands: Bool) -> [Word] {
    var (words, begun): ([Word], Int?) = ([], nil)
    var pieces = text.split(separator: " ", omittingEmptySubsequences: false)[...]
    while let piece = pieces.first {
      if keepingCommands, begun == nil, let count = commandLength(at: pieces) {
        words.append(Word(text: pieces.prefix(count).joined(separator: " "), isCommand: true))
        pieces = pieces.dropFirst(count)
        continue
      }
      pieces = pieces.dropFirst()
      // Each word may begin a line, where a CI runner would take `::error::` for a command.
      words.append(Word(text: SanitizedText.withoutRunnerCommands(String(piece))))
      guard piece.count(where: { $0 == "`" }) % 2 == 1 else { continue }
      guard let first = begun else {
        begun = words.count - 1
        continue
      }
      begun = nil
      let whole = words[first...].map(\.text).joined(separator: " ")
      if DisplayWidth.columns(of: whole) <= columns {
        words.replaceSubrange(first..., with: [Word(text: whole)])
      }
    }
    return words
  }

  /// The number of `pieces` that form a command of `reel`, beginning with the first: up to a punctuation mark that ends
  /// it, or all.
  private static func commandLength(at pieces: ArraySlice<Substring>) -> Int? {
    guard let program = pieces.first?.drop(while: { "`(".contains($0) }), let name = pieces.dropFirst().first,
      program == "reel" || program.hasSuffix("/reel"), let initial = name.first,
      initial.isLowercase || initial == "-"
    else { return nil }
    let end = pieces.firstIndex { $0.last.map { "`,;:.)".contains($0) } ?? false } ?? pieces.endIndex - 1
    return end - pieces.startIndex + 1
  }

  private init(columns: Int) { self.columns = columns }

  private var room: Int { columns - used }

  private mutating func add(_ word: Word) {
    let width = DisplayWidth.columns(of: word.text)
    let isFirstWord = line.isEmpty
    if width + (isFirstWord ? 0 : 1) <= room {
      append((isFirstWord ? "" : " ") + word.text)
    } else if width <= columns || word.isCommand {
      if !isFirstWord { breakLine() }
      append(word.text)
    } else {
      if !isFirstWord {
        if room > 1 { append(" ") } else { breakLine() }
      }
      addInPieces(word.text)
    }
  }

  private mutating func addInPieces(_ word: String) {
    for character in word {
      let isCommand = character == ":" && line.drop(while: \.isWhitespace) == ":"
      let text = isCommand ? SanitizedText.escape(":") : String(character)
      if DisplayWidth.columns(of: text) > room { breakLine() }
      // What is wider than any line can't be shown.
      if DisplayWidth.columns(of: text) <= room { append(text) }
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
