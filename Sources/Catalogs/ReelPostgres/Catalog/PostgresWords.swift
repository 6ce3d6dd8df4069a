import ReelCore

/// The words of a post as PostgreSQL searches them. Texts are split here, by the rules of ``PostFilter``: the server's
/// own parser would take `IMG_0001.MOV` for a file name, and drop words that it considers meaningless.
enum PostgresWords {
  /// The bytes of the longest word that is given to PostgreSQL.
  private static let longest = 2000
  /// The last position that PostgreSQL distinguishes. Words beyond it are found alone, but not as part of a phrase.
  private static let lastPlace = 16_383
  /// The gap between two fields, so that no phrase extends from one into the next.
  private static let gap = 2

  /// Returns the post's words as a `tsvector`; nil if it has none.
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

  /// Returns a `tsquery`: the words of each of `phrases` must follow one another, the
  /// last one as the beginning of a word.
  static func query(_ phrases: [[String]]) -> String {
    phrases.map { phrase in
      phrase.enumerated().map { index, word in
        "'\(plain(word))'" + (index == phrase.count - 1 ? ":*" : "")
      }.joined(separator: " <-> ")
    }.map { "(\($0))" }.joined(separator: " & ")
  }

  /// Returns a word without the accents of Latin, Greek and Cyrillic letters, in normal form C, as SQLite's index has
  /// it. The result needs no quoting, and is not empty.
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
      // `bare` is empty, too, if every scalar is combining, as in a mark that stands alone.
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

  /// Whether the scalar may be part of a word. A character that begins with a letter may continue with anything: some
  /// letters form one character with what follows them, even with a quotation mark.
  private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .format: true
    default: scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }
  }
}
