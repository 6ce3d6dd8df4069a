import FoundationEssentials

/// Conditions on the posts of a feed; without any, every post is admitted.
public struct PostFilter: Hashable, Sendable {
  /// Admits only posts by this author.
  public var authorID: String?
  /// Admits only posts published at this time or later.
  public var since: Date?
  /// Admits only posts that contain each of these words at the beginning of a word of the caption, the music, the
  /// author's name or the file's name. Case is ignored, and so are accents in a catalog on disk. A text without a
  /// letter or digit matches nothing.
  public var text: String?

  /// Creates a filter that admits the posts that meet all the given conditions.
  public init(authorID: String? = nil, since: Date? = nil, text: String? = nil) {
    self.authorID = authorID
    self.since = since
    self.text = text
  }
}

extension PostFilter {
  /// The whitespace-separated parts of ``text``, each split into words; nil if no text is required.
  package var phrases: [[String]]? {
    text.map { text in
      text.split(whereSeparator: \.isWhitespace).map { Self.words($0) }.filter { !$0.isEmpty }
    }
  }

  /// Whether the filter admits `post`.
  package func admits(_ post: Post) -> Bool {
    if let authorID, post.authorID != authorID { return false }
    if let since, post.createdAt.map({ $0 < since }) ?? true { return false }
    guard let phrases else { return true }
    let fields = [post.caption, post.music, post.authorName, post.sourceName].compactMap(\.self).map(
      Self.words)
    return !phrases.isEmpty && phrases.allSatisfy { phrase in fields.contains { Self.holds($0, phrase) } }
  }

  /// Splits `text` at everything that is neither a letter nor a digit, in lower case.
  package static func words(_ text: some StringProtocol) -> [String] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
  }

  /// Whether the words of `phrase` appear consecutively in `words`. The last one may be only the beginning of a
  /// word.
  private static func holds(_ words: [String], _ phrase: [String]) -> Bool {
    words.indices.contains { start in
      let end = start + phrase.count
      guard end <= words.count else { return false }
      return words[start..<end - 1].elementsEqual(phrase.dropLast())
        && words[end - 1].hasPrefix(phrase.last ?? "")
    }
  }
}
