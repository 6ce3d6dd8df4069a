import ReelTerminal

/// A terminal, as far as progress bars need one: rows of cells that scroll, cursor up, erasing, wrapping on and off,
/// and a window that rewraps its lines when it is narrowed, as VTE, kitty and tmux do. After a line that fills the
/// width the cursor is in its last cell, as in xterm.
struct ScreenModel {
  private(set) var rows: [[Character]] = [[]]
  private var row = 0
  private var column = 0
  private var wraps = true
  private(set) var columns: Int
  /// Sequences that a real terminal might interpret differently.
  private(set) var unknown: [String] = []

  init(columns: Int) { self.columns = columns }

  /// The visible text, without empty lines at the end.
  var lines: [String] {
    var lines = rows.map { String($0.filter { $0 != Self.secondHalf }) }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  /// Marks the second cell of a wide character.
  private static let secondHalf: Character = "\u{0}"

  mutating func resize(to columns: Int) {
    self.columns = columns
    var broken: [[Character]] = []
    for (index, line) in rows.enumerated() {
      if index == row { row = broken.count }
      broken += Self.pieces(of: line, columns)
    }
    rows = broken
  }

  private static func pieces(of line: [Character], _ columns: Int) -> [[Character]] {
    stride(from: 0, to: max(1, line.count), by: columns).map { Array(line.dropFirst($0).prefix(columns)) }
  }

  mutating func write(_ text: String) {
    var rest = text[...]
    while let character = rest.first {
      if character == "\u{1B}" {
        rest = sequence(rest)
      } else {
        put(character)
        rest = rest.dropFirst()
      }
    }
  }

  private mutating func sequence(_ text: Substring) -> Substring {
    let end = text.dropFirst(2).firstIndex { $0.isLetter } ?? text.index(before: text.endIndex)
    let body = text[text.index(after: text.startIndex)...end]
    switch body.last {
    case "A": row = max(0, row - (Int(body.dropFirst().dropLast()) ?? 1))
    case "K": erase()
    case "J":
      erase()
      rows = Array(rows.prefix(row + 1))
    case "m": break
    case "l" where body == "[?7l": wraps = false
    case "h" where body == "[?7h": wraps = true
    default: unknown.append(String(body))
    }
    return text[text.index(after: end)...]
  }

  /// Erases from the cursor on.
  private mutating func erase() { rows[row] = Array(rows[row].prefix(min(column, columns - 1))) }

  private mutating func put(_ character: Character) {
    switch character {
    case "\r": column = 0
    case "\n":
      (row, column) = (row + 1, 0)
      if row == rows.count { rows.append([]) }
    default: draw(character, cells: DisplayWidth.columns(of: character))
    }
  }

  private mutating func draw(_ character: Character, cells: Int) {
    // A character without its own width combines with the one before it, and is not kept here.
    guard cells > 0 else { return }
    if column + cells > columns {
      guard wraps else { return }
      put("\n")
    }
    var line = rows[row]
    while line.count < column + cells { line.append(" ") }
    line[column] = character
    for extra in 1..<cells { line[column + extra] = Self.secondHalf }
    rows[row] = line
    column += cells
  }
}
