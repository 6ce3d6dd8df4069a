import FoundationEssentials

/// Which posts of the feed are wanted; all of them unless something is said.
public struct PostFilter: Hashable, Sendable {
  /// Only this author's.
  public var authorID: String?
  /// Only those published at this time or later.
  public var since: Date?
  /// Only those with each of these words, at the beginning of a word of the caption, the music, the author's name or the
  /// file's name. Case makes no difference; in a catalog on disk, neither do accents. A text without a letter or a digit
  /// is found nowhere.
  public var text: String?

  /// Lets through what all of these do.
  public init(authorID: String? = nil, since: Date? = nil, text: String? = nil) {
    self.authorID = authorID
    self.since = since
    self.text = text
  }
}

extension PostFilter {
  /// The parts of ``text`` between blanks, each as its words; nil when no text is asked for.
  package var phrases: [[String]]? {
    text.map { text in
      text.split(whereSeparator: \.isWhitespace).map { Self.words($0) }.filter { !$0.isEmpty }
    }
  }

  /// Whether `post` is one of those that are wanted.
  package func admits(_ post: Post) -> Bool {
    if let authorID, post.authorID != authorID { return false }
    if let since, post.createdAt.map({ $0 < since }) ?? true { return false }
    guard let phrases else { return true }
    let fields = [post.caption, post.music, post.authorName, post.sourceName].compactMap(\.self).map(
      Self.words)
    return !phrases.isEmpty && phrases.allSatisfy { phrase in fields.contains { Self.holds($0, phrase) } }
  }

  /// What is between all that is neither a letter nor a digit, in lower case.
  package static func words(_ text: some StringProtocol) -> [String] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
  }

  /// Whether the words of `phrase` follow each other in `words`; the last one may be the beginning of a word.
  private static func holds(_ words: [String], _ phrase: [String]) -> Bool {
    words.indices.contains { start in
      let end = start + phrase.count
      guard end <= words.count else { return false }
      return words[start..<end - 1].elementsEqual(phrase.dropLast())
        && words[end - 1].hasPrefix(phrase.last ?? "")
    }
  }
}
