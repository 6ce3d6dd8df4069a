import ReelLibrary

/// What `reel doctor --rebuild` made of a store.
package struct RebuildView: Sendable {
  private let library: String
  private let posts: Int
  /// Objects without a post, and why.
  package let failures: [RepairFailure]

  /// - Parameters:
  ///   - library: the path of the library folder.
  ///   - posts: how many the new catalog has.
  ///   - failures: objects that could not become posts.
  package init(library: String, posts: Int, failures: [RepairFailure]) {
    self.library = library
    self.posts = posts
    self.failures = failures
  }

  /// A newline after each line.
  ///
  /// - Parameter listing: at most so many failures are told one by one.
  package func text(_ traits: TerminalTraits, listing: Int = 20) -> String {
    var lines = failures.prefix(max(0, listing)).flatMap { failure in
      let sentence = Sentence.naming(failure.subject, failure.message) + " [\(failure.code)]"
      return traits.wrapped("no post:", .warning, traits.sanitized(sentence))
    }
    if failures.count > listing {
      lines += traits.wrapped(
        "and \(failures.count - max(0, listing)) more without a post: --json lists all", .dim)
    }
    let count = HumanNumber.count(posts, "post", "posts")
    let summary =
      "the catalog of \(library) has \(count) again, by what is stored; captions, authors and ids were known to the lost "
      + "one alone"
    return (lines + traits.wrapped(traits.sanitized(summary))).text(traits)
  }
}

extension RebuildView: JSONDocument {
  private enum CodingKeys: String, CodingKey { case library, posts, failures }

  /// Throws what the encoder throws.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(library, forKey: .library)
    try container.encode(posts, forKey: .posts)
    try container.encode(failures.map(Entry.init), forKey: .failures)
  }

  private struct Entry: Encodable {
    let subject: String
    let code: String
    let message: String

    init(_ failure: RepairFailure) {
      (subject, code, message) = (failure.subject, failure.code, failure.message)
    }
  }
}
