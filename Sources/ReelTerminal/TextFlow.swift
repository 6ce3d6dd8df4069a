/// Breaks a text into lines that fit: between words, and within one only where it is longer than a line.
struct TextFlow {
  /// Cells of the first line.
  let first: Int
  /// Cells of the others.
  let others: Int

  private var lines: [String] = []
  private var line = ""
  private var used = 0

  /// The lines of `text`; one, as it is, without a limit.
  ///
  /// - Parameters:
  ///   - columns: cells of a line; nil for no limit.
  ///   - taken: cells of the first line that are taken already.
  static func lines(_ text: String, columns: Int?, taken: Int = 0) -> [String] {
    guard let columns, DisplayWidth.columns(of: text) > columns - taken else { return [text] }
    var flow = TextFlow(first: max(0, columns - taken), others: max(1, columns))
    for word in text.split(separator: " ", omittingEmptySubsequences: false) { flow.add(String(word)) }
    return flow.lines + [flow.line]
  }

  private init(first: Int, others: Int) {
    self.first = first
    self.others = others
  }

  private var room: Int { (lines.isEmpty ? first : others) - used }

  private mutating func add(_ word: String) {
    let width = DisplayWidth.columns(of: word)
    let isFirstWord = line.isEmpty
    if width + (isFirstWord ? 0 : 1) <= room {
      append((isFirstWord ? "" : " ") + word)
    } else if width <= others {
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
