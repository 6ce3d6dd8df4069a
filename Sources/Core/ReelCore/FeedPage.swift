/// A position in the feed, as `reel feed` prints and accepts it.
public struct FeedCursor: Hashable, Sendable, Codable {
  /// The page number of the last post shown; the next page holds smaller numbers.
  public let pageNumber: Int

  /// Creates the position just after the post with this page number, towards older posts.
  public init(pageNumber: Int) { self.pageNumber = pageNumber }

  /// Parses a cursor; nil if `text` is not one.
  public init?(_ text: String) {
    guard let pageNumber = Int(text), pageNumber > 0 else { return nil }
    self.pageNumber = pageNumber
  }

  /// The cursor as `reel feed` prints it: the page number in decimal digits. ``init(_:)`` reads it again.
  public var text: String { String(pageNumber) }
}

/// One page of the feed.
public struct FeedPage: Hashable, Sendable {
  /// The posts, newest first; empty if there are none before the cursor.
  public let posts: [Post]
  /// Where the next page begins; nil if this is the last.
  public let next: FeedCursor?

  /// Creates a page; `next` is nil if no older posts are left.
  public init(posts: [Post], next: FeedCursor?) {
    self.posts = posts
    self.next = next
  }
}
