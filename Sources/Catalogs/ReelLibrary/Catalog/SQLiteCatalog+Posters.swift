import FoundationEssentials
import ReelCore

/// Posters for posts that were published without one.
extension SQLiteCatalog: PosterAdding {
  /// Returns up to `limit` posts of `destination` that show no poster, after `pageNumber`, in the order of the feed.
  package func postsWithoutPoster(
    in destination: Destination, after pageNumber: Int, limit: Int
  ) async throws(CatalogError) -> [PosterlessPost] {
    let store = place.name(of: destination)
    return try await connection.read { [place] db in
      try PosterTable.postsWithout(in: store, at: place, after: pageNumber, limit: limit, db: db)
    }
  }

  /// Names a poster for each of these posts, in one transaction, as ``claim(_:)`` does for a post that is to be
  /// published. This process works on them until it ends, or the posts show them. Nil for a post that shows one by now,
  /// is in another store, or has a poster that another process is working on.
  package func namePosters(
    _ requests: [(post: PostID, poster: PosterRequest)], in destination: Destination
  ) async throws(CatalogError) -> [ObjectKey?] {
    let writing = try writable()
    let (steps, store, now) = (writing.steps, place.name(of: destination), clock.now().milliseconds)
    return try await writing.writer.commit { db in
      try requests.map { post, poster in
        guard let intent = try PosterTable.intentWithout(post, in: store, db: db),
          try !intent.holders.contains(where: { try steps.owners.isAnothers($0, than: steps.me, in: db) })
        else { return nil }
        return try PosterTable.name(poster, for: intent.number, owner: steps.me, at: now, in: db)
      }
    }
  }

  /// Makes the posts show these posters, which are stored; in one transaction. False for a post that shows another by
  /// now or is in another store, or whose poster was given up or is another process's.
  package func showPosters(
    _ posters: [(post: PostID, poster: PostPoster)], of destination: Destination
  ) async throws(CatalogError) -> [Bool] {
    let writing = try writable()
    let now = clock.now().milliseconds
    let (me, store) = (writing.steps.me, place.name(of: destination))
    return try await writing.writer.commit { [place] db in
      try posters.map { post, poster in
        guard let intent = try PosterTable.intentWithout(post, in: store, db: db),
          try PosterTable.show(poster.key, of: intent.number, owner: me, at: now, in: db)
        else { return false }
        try PostTable.show(poster, url: store == .own ? place.kept(poster.url) : poster.url, by: post, in: db)
        return true
      }
    }
  }
}
