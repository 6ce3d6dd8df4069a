import FoundationEssentials
import ReelCore

/// A post that shows no poster.
package struct PosterlessPost: Sendable {
  package let id: PostID
  package let video: ObjectKey
  /// Its place in the feed.
  package let pageNumber: Int
}

/// Posters for posts that were published without.
extension SQLiteCatalog {
  /// Up to `limit` posts of `destination` that show no poster, those behind `pageNumber`, in the order of the feed.
  package func postsWithoutPoster(
    in destination: Destination, after pageNumber: Int, limit: Int
  ) async throws(CatalogError) -> [PosterlessPost] {
    let store = place.name(of: destination)
    return try await connection.read { db in
      try db.rows(
        """
        SELECT postID, objectKey, pageNumber FROM post JOIN intent ON intent.number = post.intent
        WHERE pageNumber > ? AND destination = (SELECT id FROM destination WHERE name = ?)
          AND NOT EXISTS (SELECT 1 FROM poster WHERE poster.intent = post.intent AND poster.state = 1)
        ORDER BY pageNumber LIMIT ?
        """, [pageNumber, store.text, limit]
      ) { row in
        guard let id = PostID(bytes: try row["postID"]), let video = ObjectKey(try row["objectKey"]) else {
          throw SQLiteError(.corrupt, "an intent without a proper key")
        }
        return PosterlessPost(id: id, video: video, pageNumber: try row["pageNumber"])
      }
    }
  }

  /// Names a poster for each of these posts, in one transaction: as ``claim(_:)`` does for one that is to be published.
  /// Nil for a post that shows one by now.
  package func namePosters(
    _ requests: [(post: PostID, poster: PosterRequest)]
  ) async throws(CatalogError) -> [ObjectKey?] {
    let writing = try writable()
    let now = clock.now().milliseconds
    return try await writing.writer.commit { db in
      try requests.map { post, poster in
        guard let intent = try PosterTable.intentWithout(post, in: db) else { return nil }
        return try PosterTable.name(poster, for: intent, at: now, in: db)
      }
    }
  }

  /// The posts show these posters, which are stored, from now on; in one transaction. False for one that shows another
  /// by now, or whose poster was given up meanwhile.
  package func showPosters(
    _ posters: [(post: PostID, poster: PostPoster)], of destination: Destination
  ) async throws(CatalogError) -> [Bool] {
    let writing = try writable()
    let now = clock.now().milliseconds
    let isOwn = place.name(of: destination) == .own
    return try await writing.writer.commit { [place] db in
      try posters.map { post, poster in
        guard let intent = try PosterTable.intentWithout(post, in: db),
          try PosterTable.show(poster.key, of: intent, at: now, in: db)
        else { return false }
        try PostTable.show(poster, url: isOwn ? place.kept(poster.url) : poster.url, by: post, in: db)
        return true
      }
    }
  }
}
