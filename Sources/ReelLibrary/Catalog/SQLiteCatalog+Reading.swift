import ReelCore

extension SQLiteCatalog {
  /// The post with this id.
  public func post(_ id: PostID) async throws(CatalogError) -> Post? {
    try await connection.look { db in try PostTable.find(id, in: db) }?.post(at: place)
  }

  /// One page, the newest posts first. Found by place, however far down the feed it is.
  public func newestPosts(before cursor: FeedCursor?, limit: Int) async throws(CatalogError) -> FeedPage {
    guard limit > 0 else { return FeedPage(posts: [], next: nil) }
    let oneMore = limit.addingReportingOverflow(1)
    let found = try await connection.look { db in
      try PostTable.before(
        cursor?.pageNumber ?? .max, limit: oneMore.overflow ? .max : oneMore.partialValue, in: db)
    }
    let shown = try posts(in: Array(found.prefix(limit)))
    let next = found.count > limit ? found[limit - 1].pageNumber : nil
    return FeedPage(posts: shown, next: next.map(FeedCursor.init(pageNumber:)))
  }

  /// The posts with `pageNumber` in `from ..< from + count`.
  public func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    guard count > 0 else { return [] }
    let end = pageNumber.addingReportingOverflow(count)
    let places = pageNumber..<(end.overflow ? .max : end.partialValue)
    return try posts(in: try await connection.look { db in try PostTable.at(places, in: db) })
  }

  private func posts(in rows: [PostTable.Stored]) throws(CatalogError) -> [Post] {
    var posts: [Post] = []
    for row in rows { posts.append(try row.post(at: place)) }
    return posts
  }

  /// What the catalog holds, after all that was handed in before.
  public func status() async throws(CatalogError) -> CatalogStatus {
    try await writableIfAny?.writer.flush()
    return try await connection.read { [place] db in try StatusQuery.status(at: place, in: db) }
  }
}
