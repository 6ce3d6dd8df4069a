import ReelCore

/// A page of the feed as JSON: `{"v": 1, "posts": […], "next": "12"}`; `next` is null on the last page.
package struct FeedDocument: JSONDocument, Sendable {
  private let v = 1
  private let posts: [Post]
  @ExplicitNull private var next: String?

  /// The page as it is.
  package init(_ page: FeedPage) {
    posts = page.posts
    _next = ExplicitNull(wrappedValue: page.next?.text)
  }
}
