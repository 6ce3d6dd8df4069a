import ReelCore

/// The content of `feed/index.json`: for apps, for the page itself, and for the next run of `reel page`.
package struct SiteIndex: Codable, Hashable, Sendable {
  /// The version of the site's files.
  static let version = 1

  let v: Int
  /// The title that the page shows.
  var title: String
  /// The page number of the newest post; without gaps, the number of posts.
  var count: Int
  /// The number of posts in every page but the last.
  var size: Int
  /// The number of pages; `feed/1.json` has the oldest posts.
  var pages: Int
  /// Incremented when pages change in other ways than by new posts, so that no cache shows the old ones.
  var revision: Int
  /// The ``PostCatalog/feedRevision()`` that the pages show; nil in a site of an older Reel.
  var feedRevision: Int?
  /// Where the page finds local media.
  var media: MediaPlacement
  /// Whether posts include the names of their source files; nil (false) in a site of an older Reel.
  var names: Bool?
  /// The number of videos that should be in the site but were not found; the next run looks for them again.
  var missing: Int
  /// The external origins of media, as sources of a content security policy, sorted.
  var origins: [String]
  /// The page numbers up to `count` that no post has, because their posts were removed. The ranges are ascending and
  /// never adjacent; nil in a site of an older Reel.
  var gaps: [ClosedRange<Int>]?
  /// The id of the newest post, by which the next run recognizes the same feed.
  @ExplicitNull var newest: PostID?

  /// Creates an index without posts.
  init(title: String, size: Int, media: MediaPlacement) {
    v = Self.version
    (self.title, self.size, self.media) = (title, size, media)
    (count, pages, revision, missing) = (0, 0, 0, 0)
    (origins, gaps) = ([], [])
    _newest = ExplicitNull(wrappedValue: nil)
  }

  /// Larger than in any site. Within these limits, arithmetic with page and post numbers can't overflow.
  static let (mostPosts, mostInPage) = (1 << 31, 1 << 16)

  /// Whether the numbers are plausible, because the file may come from anywhere.
  var isPlausible: Bool {
    v == Self.version && (1...Self.mostInPage).contains(size) && (0...Self.mostPosts).contains(count)
      && pages == page(of: count) && (0..<1 << 53).contains(revision) && areGapsPlausible
  }

  private var areGapsPlausible: Bool {
    let gaps = gaps ?? []
    return gaps.allSatisfy { $0.lowerBound > 0 && $0.upperBound < count }
      && zip(gaps, gaps.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }
  }

  /// The number of posts.
  var posts: Int { (gaps ?? []).reduce(count) { $0 - $1.count } }

  /// Replaces the known gaps from the number `first` on with those `found` there.
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

  /// The numbers in `range` that are missing from `posts`, which must be ascending.
  static func gaps(in range: Range<Int>, beside posts: some Sequence<Int>) -> [ClosedRange<Int>] {
    var (gaps, next) = ([ClosedRange<Int>](), range.lowerBound)
    for number in posts where range.contains(number) && number >= next {
      if next < number { gaps.append(next...number - 1) }
      next = number + 1
    }
    if next < range.upperBound { gaps.append(next...range.upperBound - 1) }
    return gaps
  }

  /// The page that contains the post with that number.
  func page(of pageNumber: Int) -> Int { pageNumber > 0 ? (pageNumber - 1) / size + 1 : 0 }

  /// The number of the first post on a page.
  func firstNumber(on page: Int) -> Int { (page - 1) * size + 1 }

  /// The largest number of posts on a page.
  func posts(on page: Int) -> Int { max(0, min(size, count - (page - 1) * size)) }
}

/// Where the page finds media that lie in a local folder.
package enum MediaPlacement: String, Codable, Sendable, CaseIterable {
  /// Where they already are.
  case inPlace = "in-place"
  /// In the site's `media/`, as hard links.
  case link
  /// In the site's `media/`, as copies.
  case copy
}

/// What to write, and how.
package struct SiteOptions: Hashable, Sendable {
  /// Nil keeps the site's title; "Reel" for a new site.
  package var title: String?
  /// The number of posts in a page; nil keeps that of the site, or is 24 for a new one.
  package var size: Int?
  /// Nil keeps the site's placement, or is `inPlace` for a new one.
  package var media: MediaPlacement?
  /// Whether posts include the names of their source files; nil keeps the site's choice, or is false for a new one.
  package var names: Bool?
  /// Whether to examine every page again; this may also turn the site into that of another library.
  package var all = false

  /// Creates options that leave everything as it is.
  package init() {}
}

/// The result of writing a site.
package struct SiteSummary: Hashable, Sendable, Encodable {
  let v = 1
  /// The site's folder.
  package var site: String
  /// The number of posts that the site shows.
  package var posts = 0
  /// The number of posts that it did not show before.
  package var added = 0
  /// The number of posts that it no longer shows.
  package var removed = 0
  /// The number of files that are new or have changed.
  package var written = 0
  /// The number of videos that should be in the site but are not where their posts say.
  package var missing = 0
  /// Whether posts use local files outside of the site, which other machines can't reach.
  package var isLocal = false

  init(site: String) { self.site = site }
}

/// Why a site can't be written.
package struct SiteError: ReelError, Hashable {
  /// The error code, for programs.
  package enum Code: String, Sendable, CaseIterable {
    /// Another run is writing the site.
    case busy
    /// The folder holds something else.
    case notOurs
    /// The site shows posts that this library does not have.
    case otherLibrary
    /// The folder can't be read or written.
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
