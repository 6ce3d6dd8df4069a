/// A place in the feed, as `reel feed` prints it and takes it.
public struct FeedCursor: Hashable, Sendable, Codable {
  /// The page number of the last post that was shown; the next page holds smaller ones.
  public let pageNumber: Int

  /// The place right behind the post with this page number, towards older ones.
  public init(pageNumber: Int) { self.pageNumber = pageNumber }

  /// Nil when `text` is not a cursor.
  public init?(_ text: String) {
    guard let pageNumber = Int(text), pageNumber > 0 else { return nil }
    self.pageNumber = pageNumber
  }

  /// The cursor as `reel feed` prints it: the page number in decimal digits. ``init(_:)`` reads it again.
  public var text: String { String(pageNumber) }
}

/// One page of the feed.
public struct FeedPage: Hashable, Sendable {
  /// The newest first; empty when there is nothing before the cursor.
  public let posts: [Post]
  /// Where the next page begins, or nil when this was the last.
  public let next: FeedCursor?

  /// A page; `next` is nil when nothing older is left.
  public init(posts: [Post], next: FeedCursor?) {
    self.posts = posts
    self.next = next
  }
}
