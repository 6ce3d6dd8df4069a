import ReelCore

/// The words of a post as PostgreSQL searches them. Texts are taken apart here, by the rules of ``PostFilter``: the
/// server's own would take `IMG_0001.MOV` for the name of a file, and drop words that it thinks say nothing.
enum PostgresWords {
  /// The most bytes of a word that PostgreSQL takes.
  private static let longest = 2000
  /// Words behind the last place that PostgreSQL tells from the one before are found alone, and not as part of a phrase.
  private static let lastPlace = 16_383
  /// Between two fields, so that no phrase reaches from one into the next.
  private static let gap = 2

  /// A `tsvector`; nil when nothing is said.
  static func vector(of post: Post) -> String? {
    var words: [String] = []
    var place = 0
    for field in [post.caption, post.music, post.authorName, post.sourceName] {
      guard let field else { continue }
      for word in PostFilter.words(field) {
        place += 1
        words.append("'\(plain(word))':\(min(place, lastPlace))")
      }
      place += gap
    }
    return words.isEmpty ? nil : words.joined(separator: " ")
  }

  /// A `tsquery`: each of `phrases` has its words one behind the other, the last of them as the beginning of a word.
  static func query(_ phrases: [[String]]) -> String {
    phrases.map { phrase in
      phrase.enumerated().map { index, word in
        "'\(plain(word))'" + (index == phrase.count - 1 ? ":*" : "")
      }.joined(separator: " <-> ")
    }.map { "(\($0))" }.joined(separator: " & ")
  }

  /// A word without the accents of letters that are Latin, Greek or Cyrillic, and in normal form C: as SQLite's index
  /// has it. There is nothing to quote in what it gives, and it is not empty.
  private static func plain(_ word: String) -> String {
    if word.utf8.count <= longest, word.utf8.allSatisfy({ $0 < 0x80 }) { return word }
    var plain = String.UnicodeScalarView()
    var length = 0
    for character in word {
      let scalars = String(character).decomposed.unicodeScalars
      var bare: [Unicode.Scalar] = []
      if scalars.count > 1, let first = scalars.first, first.value < 0x0530 {
        bare = scalars.filter { $0.properties.canonicalCombiningClass == .notReordered }
      }
      // A letter that only goes with others, and stands alone here, is all combining.
      for scalar in bare.isEmpty ? Array(String(character).composed.unicodeScalars) : bare
      where isPartOfWord(scalar) {
        length += UTF8.width(scalar)
        // One character may have any number of marks.
        if length > longest { return String(plain) }
        plain.append(scalar)
      }
    }
    return String(plain)
  }

  /// A character that begins with a letter may go on with anything: some letters take what follows them into their own,
  /// even a quotation mark.
  private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .format: true
    default: scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }
  }
}
