import ReelCore

extension SQLiteCatalog {
  /// Returns those of `posts` that are stored in `destination`.
  package func posts(
    _ posts: [PostID], in destination: Destination
  ) async throws(CatalogError) -> Set<PostID> {
    let store = place.name(of: destination)
    return try await connection.read { db in
      guard let id = try DestinationTable.find(store, in: db) else { return [] }
      return Set(
        try posts.filter { post in
          try db.number("SELECT 1 FROM intent WHERE postID = ? AND destination = ?", [post.bytes, id]) != nil
        })
    }
  }
}
