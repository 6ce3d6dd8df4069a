/// How many cells of a terminal a text takes, and texts cut to fit.
///
/// Rules of `wcwidth` on Unicode 16.0: East Asian Wide and Fullwidth characters (UAX #11) take two cells, marks and
/// invisible characters none, others, also those of ambiguous width, one. An emoji sequence (UTS #51) takes two
/// as a whole. Where terminals differ, the wider answer is given, so that a line never runs over.
package enum DisplayWidth {
  /// Cells that `text` takes; control characters count as none.
  package static func columns(of text: String) -> Int {
    if isPlainASCII(text) { return text.utf8.count }
    return text.reduce(0) { $0 + columns(of: $1) }
  }

  /// Cells of one character as a reader sees it (grapheme cluster, UAX #29).
  package static func columns(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.dropFirst().isEmpty { return columns(of: first) }
    if isEmojiSequence(scalars) { return 2 }
    return scalars.reduce(0) { $0 + columns(of: $1) }
  }

  /// `text` in at most `columns` cells: its beginning and its end, with `mark` between them where something was
  /// left out. Never splits a character; what does not fit at all is left out too.
  package static func cuttingMiddle(_ text: String, to columns: Int, mark: String = "…") -> String {
    guard self.columns(of: text) > columns else { return text }
    let room = columns - self.columns(of: mark)
    guard room >= 2 else { return prefix(of: text, columns: columns) }
    // The end tells more of a file's name than the beginning: its number, its extension.
    let end = suffix(of: text, columns: room / 2)
    return prefix(of: text, columns: room - self.columns(of: end)) + mark + end
  }

  /// `text` in at most `columns` cells: its beginning, then `mark` where something was left out.
  package static func cuttingEnd(_ text: String, to columns: Int, mark: String = "…") -> String {
    guard self.columns(of: text) > columns else { return text }
    let room = columns - self.columns(of: mark)
    guard room >= 1 else { return prefix(of: text, columns: columns) }
    return prefix(of: text, columns: room) + mark
  }

  /// `text` and as many spaces as it takes to fill `columns` cells.
  package static func padded(_ text: String, to columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - self.columns(of: text)))
  }

  /// Spaces, and `text` at the end of `columns` cells.
  static func paddedLeft(_ text: String, to columns: Int) -> String {
    String(repeating: " ", count: max(0, columns - self.columns(of: text))) + text
  }

  /// The longest beginning of `text` that fits.
  static func prefix(of text: String, columns: Int) -> String {
    String(text.prefix(fitting(text, columns)))
  }

  private static func suffix(of text: String, columns: Int) -> String {
    String(text.suffix(fitting(text.reversed(), columns)))
  }

  /// How many characters fit, from the first on.
  private static func fitting(_ characters: some Sequence<Character>, _ columns: Int) -> Int {
    var room = columns
    var count = 0
    for character in characters {
      room -= self.columns(of: character)
      if room < 0 { break }
      count += 1
    }
    return count
  }

  private static func isPlainASCII(_ text: String) -> Bool {
    text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  private static func columns(of scalar: Unicode.Scalar) -> Int {
    if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) ? 1 : 0 }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    if EastAsianWidth.isWide(scalar) { return 2 }
    // Medial vowels and final consonants are drawn into the syllable that a leading consonant opened.
    if (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FF).contains(scalar.value) { return 0 }
    return scalar.properties.isDefaultIgnorableCodePoint ? 0 : 1
  }

  private static func isEmojiSequence(_ scalars: Character.UnicodeScalarView) -> Bool {
    scalars.contains {
      $0 == .emojiPresentation || $0.properties.isEmojiPresentation || (0x1F1E6...0x1F1FF).contains($0.value)
    }
  }
}
