import ReelCore

extension PostCatalog {
  /// Returns the posts in a page of `size` numbers from `number` on, the oldest
  /// first; and the last number that there is.
  package func page(
    from number: Int, size: Int
  ) async throws(CatalogError) -> (page: FeedPage, last: Int?) {
    let posts = try await posts(from: number, count: size)
    let last = try await newestPosts(before: nil, limit: 1).posts.first?.pageNumber
    // Page numbers may have gaps, so a full page says nothing about the next one.
    let (next, isTooLarge) = number.addingReportingOverflow(size)
    let isLast = isTooLarge || last.map { $0 < next } ?? true
    return (FeedPage(posts: posts, next: isLast ? nil : FeedCursor(pageNumber: next)), last)
  }
}
