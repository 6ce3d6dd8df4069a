/// Measures how many terminal cells a text takes, and cuts texts to fit.
///
/// The rules are those of `wcwidth` with Unicode 16.0: East Asian Wide and Fullwidth characters (UAX #11) take two
/// cells, marks and invisible characters take none, and all others, including those of ambiguous width, take one. An
/// emoji sequence (UTS #51) takes two as a whole. Where terminals differ, the larger width is used, so that a line
/// never overflows.
package enum DisplayWidth {
  /// The number of cells that `text` takes; control characters take none.
  package static func columns(of text: String) -> Int {
    if isPlainASCII(text) { return text.utf8.count }
    return text.reduce(0) { $0 + columns(of: $1) }
  }

  /// The number of cells of one user-perceived character (grapheme cluster, UAX #29).
  package static func columns(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.dropFirst().isEmpty { return columns(of: first) }
    if isEmojiSequence(scalars) { return 2 }
    return scalars.reduce(0) { $0 + columns(of: $1) }
  }

  /// Cuts `text` to at most `columns` cells, keeping its beginning and end, with `mark` in place of what was left out.
  /// Never splits a character; one that does not fit is left out, too.
  package static func cuttingMiddle(_ text: String, to columns: Int, mark: String = "…") -> String {
    guard self.columns(of: text) > columns else { return text }
    let room = columns - self.columns(of: mark)
    guard room >= 2 else { return prefix(of: text, columns: columns) }
    // The end of a file's name says more than its beginning: the number and the extension.
    let end = suffix(of: text, columns: room / 2)
    return prefix(of: text, columns: room - self.columns(of: end)) + mark + end
  }

  /// Cuts `text` to at most `columns` cells, keeping its beginning, with `mark` after it if anything was left out.
  package static func cuttingEnd(_ text: String, to columns: Int, mark: String = "…") -> String {
    guard self.columns(of: text) > columns else { return text }
    let room = columns - self.columns(of: mark)
    guard room >= 1 else { return prefix(of: text, columns: columns) }
    return prefix(of: text, columns: room) + mark
  }

  package static func padded(_ text: String, to columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - self.columns(of: text)))
  }

  static func paddedLeft(_ text: String, to columns: Int) -> String {
    String(repeating: " ", count: max(0, columns - self.columns(of: text))) + text
  }

  static func prefix(of text: String, columns: Int) -> String {
    String(text.prefix(fitting(text, columns)))
  }

  private static func suffix(of text: String, columns: Int) -> String {
    String(text.suffix(fitting(text.reversed(), columns)))
  }

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
    // Medial vowels and final consonants of Hangul are drawn into the syllable that a leading consonant began.
    if (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FF).contains(scalar.value) { return 0 }
    return scalar.properties.isDefaultIgnorableCodePoint ? 0 : 1
  }

  private static func isEmojiSequence(_ scalars: Character.UnicodeScalarView) -> Bool {
    scalars.contains {
      $0 == .emojiPresentation || $0.properties.isEmojiPresentation || (0x1F1E6...0x1F1FF).contains($0.value)
    }
  }
}

/// The characters that take two cells: East_Asian_Width W and F of Unicode 16.0 (UAX #11, `EastAsianWidth.txt`).
enum EastAsianWidth {
  static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x1100 else { return false }
    // Every character with emoji presentation is wide, which keeps the table short.
    return scalar.properties.isEmojiPresentation || isInTable(scalar.value)
  }

  /// Finds the first range that ends at or after `value` by binary search. Either that range contains it, or none does.
  private static func isInTable(_ value: UInt32) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < value { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(value)
  }

  /// In ascending order. Unassigned code points between wide characters count as wide.
  static let ranges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x2E99, 0x2E9B...0x2EF3,
    0x2F00...0x2FD5, 0x2FF0...0x303E, 0x3041...0x3096, 0x3099...0x30FF, 0x3105...0x312F, 0x3131...0x318E,
    0x3190...0x31E5, 0x31EF...0x321E, 0x3220...0x3247, 0x3250...0xA48C, 0xA490...0xA4C6, 0xA960...0xA97C,
    0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE52, 0xFE54...0xFE66, 0xFE68...0xFE6B,
    0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x16FE4, 0x16FF0...0x16FF1, 0x17000...0x187F7,
    0x18800...0x18CD5, 0x18CFF...0x18D08, 0x1AFF0...0x1AFF3, 0x1AFF5...0x1AFFB, 0x1AFFD...0x1AFFE,
    0x1B000...0x1B122, 0x1B132...0x1B132, 0x1B150...0x1B152, 0x1B155...0x1B155, 0x1B164...0x1B167,
    0x1B170...0x1B2FB, 0x1D300...0x1D356, 0x1D360...0x1D376, 0x1F200...0x1F202, 0x1F210...0x1F23B,
    0x1F240...0x1F248, 0x1F250...0x1F251, 0x1F260...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
  ]
}
