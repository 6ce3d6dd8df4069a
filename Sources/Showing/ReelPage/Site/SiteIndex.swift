import ReelCore

/// What `feed/index.json` says of a site: for apps, for the page itself, and for the next run of `reel page`.
package struct SiteIndex: Codable, Hashable, Sendable {
  /// The version of the site's files.
  static let version = 1

  let v: Int
  /// As the page shows it.
  var title: String
  /// The page number of the newest post: without gaps, how many there are.
  var count: Int
  /// Posts in a page, but for the last one.
  var size: Int
  /// Pages: `feed/1.json` has the oldest posts.
  var pages: Int
  /// Goes up when pages change otherwise than by new posts, so that no cache shows the old ones.
  var revision: Int
  /// ``PostCatalog/feedRevision()`` as the pages show it; nil in a site of an older Reel.
  var feedRevision: Int?
  /// Where local media are for the page.
  var media: MediaPlacement
  /// Whether the posts say what their files were called; nil, which is false, in a site of an older Reel.
  var names: Bool?
  /// Videos that should be in the site, and were not to be found: the next run looks for them again.
  var missing: Int
  /// Other places that media come from, as sources of a content security policy, sorted.
  var origins: [String]
  /// The page numbers up to `count` that no post has: of removed ones. Ascending, none next to another; nil in a site of
  /// an older Reel.
  var gaps: [ClosedRange<Int>]?
  /// The id of the newest post: proves that the next run looks at the same feed.
  @ExplicitNull var newest: PostID?

  /// A site without posts.
  init(title: String, size: Int, media: MediaPlacement) {
    v = Self.version
    (self.title, self.size, self.media) = (title, size, media)
    (count, pages, revision, missing) = (0, 0, 0, 0)
    (origins, gaps) = ([], [])
    _newest = ExplicitNull(wrappedValue: nil)
  }

  /// More than any site has; with these every number of a page and of a post can be counted with.
  static let (mostPosts, mostInPage) = (1 << 31, 1 << 16)

  /// Whether the numbers can be: the file may come from anywhere.
  var isPlausible: Bool {
    v == Self.version && (1...Self.mostInPage).contains(size) && (0...Self.mostPosts).contains(count)
      && pages == page(of: count) && (0..<1 << 53).contains(revision) && areGapsPlausible
  }

  private var areGapsPlausible: Bool {
    let gaps = gaps ?? []
    return gaps.allSatisfy { $0.lowerBound > 0 && $0.upperBound < count }
      && zip(gaps, gaps.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
  }

  /// How many posts there are.
  var posts: Int { (gaps ?? []).reduce(count) { $0 - $1.count } }

  /// Takes up the gaps that were `found` among the numbers from `first` on, in place of those that were known there.
  mutating func update(_ found: [ClosedRange<Int>], from first: Int) {
    let before = (gaps ?? []).filter { $0.lowerBound < first }.map {
      $0.lowerBound...min($0.upperBound, first - 1)
    }
    gaps = (before + found.sorted { $0.lowerBound < $1.lowerBound }).reduce(into: []) { gaps, next in
      if let last = gaps.last, last.upperBound + 1 == next.lowerBound {
        gaps[gaps.count - 1] = last.lowerBound...next.upperBound
      } else {
        gaps.append(next)
      }
    }
  }

  /// The numbers of `range` that `posts` don't have, which are ascending.
  static func gaps(in range: Range<Int>, beside posts: some Sequence<Int>) -> [ClosedRange<Int>] {
    var (gaps, next) = ([ClosedRange<Int>](), range.lowerBound)
    for number in posts where range.contains(number) && number >= next {
      if next < number { gaps.append(next...number - 1) }
      next = number + 1
    }
    if next < range.upperBound { gaps.append(next...range.upperBound - 1) }
    return gaps
  }

  /// The page that a post is on.
  func page(of pageNumber: Int) -> Int { pageNumber > 0 ? (pageNumber - 1) / size + 1 : 0 }

  /// The number of the first post on a page.
  func firstNumber(on page: Int) -> Int { (page - 1) * size + 1 }

  /// How many posts a page has at most.
  func posts(on page: Int) -> Int { max(0, min(size, count - (page - 1) * size)) }
}

/// Where the page finds media that lie in a local folder.
package enum MediaPlacement: String, Codable, Sendable, CaseIterable {
  /// Where they are.
  case inPlace = "in-place"
  /// In the site's `media/`, as hard links.
  case link
  /// In the site's `media/`, as copies.
  case copy
}

/// What to write.
package struct SiteOptions: Hashable, Sendable {
  /// Nil for what the site says already, else "Reel".
  package var title: String?
  /// Posts in a page; nil for what the site has already, else 24.
  package var size: Int?
  /// Nil for what the site does already, else `inPlace`.
  package var media: MediaPlacement?
  /// Whether posts say what their files were called; nil for what the site does already, else false.
  package var names: Bool?
  /// Looks at every page again, and may make the site one of another library.
  package var all = false

  /// Nothing said.
  package init() {}
}

/// What was written.
package struct SiteSummary: Hashable, Sendable, Encodable {
  let v = 1
  /// The site's folder.
  package var site: String
  /// Posts that the site shows.
  package var posts = 0
  /// Those that it did not show before.
  package var added = 0
  /// Those that it showed before, and shows no more.
  package var removed = 0
  /// Files that are new, or have changed.
  package var written = 0
  /// Videos that the site should have, and that are not where their posts say.
  package var missing = 0
  /// Whether posts come from local files outside of the site: another machine won't find them.
  package var isLocal = false

  init(site: String) { self.site = site }
}

/// Why a site can't be written.
package struct SiteError: ReelError, Hashable {
  /// For programs.
  package enum Code: String, Sendable, CaseIterable {
    /// Another run is writing it.
    case busy
    /// The folder holds something else.
    case notOurs
    /// It shows posts that this library doesn't have.
    case otherLibrary
    /// It can't be read or written.
    case unusable
    /// The catalog can't be read.
    case catalog
  }
  package let code: Code
  /// What went wrong and what to do; one sentence for people.
  package let text: ErrorMessage
  package var message: String { text.description }

  init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  init(_ error: CatalogError) { self.init(.catalog, error.text) }
}
