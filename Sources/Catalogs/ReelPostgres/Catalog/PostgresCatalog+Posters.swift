import FoundationEssentials
import ReelCore

extension PostgresCatalog: PosterAdding {
  /// A condition on a post `p` that shows no poster.
  private static let showsNone =
    "NOT EXISTS (SELECT 1 FROM reel.poster s WHERE s.intent = p.intent AND s.state = 1)"

  package func postsWithoutPoster(
    in destination: Destination, after pageNumber: Int, limit: Int
  ) async throws(CatalogError) -> [PosterlessPost] {
    try await look { db in
      try db.rows(
        """
        SELECT i.post_id, i.object_key, i.digest, i.size, p.page_number, \(PostgresSchema.plain("p.document"))::json ->> 'videoURL' AS url
        FROM reel.post p JOIN reel.intent i ON i.number = p.intent
        WHERE p.page_number > $2 AND i.destination = (SELECT id FROM reel.destination WHERE name = $1)
          AND \(Self.showsNone)
        ORDER BY p.page_number LIMIT $3
        """, [.text(destination.name), .int(Int64(pageNumber)), .int(Int64(limit))]
      ) { row in
        guard let id = PostID(bytes: try row["post_id"]), let video = ObjectKey(try row["object_key"]),
          let digest = ContentDigest(sha256: try row["digest"] as [UInt8])
        else { throw PostgresError(.unexpected, "an intent without a proper key or digest") }
        return PosterlessPost(
          id: id, video: video, digest: digest, size: try row["size"], videoURL: try row["url"],
          pageNumber: try row["page_number"])
      }
    }
  }

  package func namePosters(
    _ requests: [(post: PostID, poster: PosterRequest)], in destination: Destination
  ) async throws(CatalogError) -> [ObjectKey?] {
    try await change { tx, me in
      let intents = try Self.intentsWithout(requests.map(\.post), in: destination, tx)
      // An earlier name counts as free if its owner is this process, a dead process, or none.
      let busy = Set(
        try tx.rows(
          """
          SELECT DISTINCT p.intent FROM reel.poster p JOIN reel.owner o ON o.id = p.owner
          WHERE p.intent = ANY($1) AND p.owner <> $2 AND o.lease_until > \(PostgresSchema.now)
          """, [.ints(intents.compactMap(\.self)), .int(me)]
        ) { try $0[0] as Int64 })
      let free = requests.indices.filter { index in intents[index].map { !busy.contains($0) } ?? false }
      let keys = try PostgresPosters(tx: tx).name(
        free.compactMap { index in intents[index].map { ($0, requests[index].poster) } }, owner: me)
      var named = [ObjectKey?](repeating: nil, count: requests.count)
      for (index, key) in zip(free, keys) { named[index] = key }
      return named
    }
  }

  package func showPosters(
    _ posters: [(post: PostID, poster: PostPoster)], of destination: Destination
  ) async throws(CatalogError) -> [Bool] {
    try await change { tx, me in
      let intents = try Self.intentsWithout(posters.map(\.post), in: destination, tx)
      let asked = zip(intents, posters).compactMap { intent, one in intent.map { ($0, one.poster.key) } }
      let shown = try PostgresPosters(tx: tx).show(asked, owner: me)
      for (intent, one) in zip(intents, posters) {
        guard let intent, shown.contains(intent) else { continue }
        let poster = one.poster
        try tx.run(
          """
          UPDATE reel.post SET document = (\(PostgresSchema.plain("document"))::jsonb || jsonb_build_object('poster', $2::text, 'posterURL', $3::text,
            'posterWidth', $4::bigint, 'posterHeight', $5::bigint, 'blurHash', $6::text))::text
          WHERE intent = $1
          """,
          [
            .int(intent), .text(poster.key.rawValue), .text(poster.url), .int(Int64(poster.width)),
            .int(Int64(poster.height)), .text(poster.blurHash),
          ])
      }
      if !shown.isEmpty { try tx.run("UPDATE reel.feed SET revision = revision + 1 WHERE id = 1") }
      var isShown = intents.map { $0.map(shown.contains) ?? false }
      if tx.mayBeDone { try Self.lookForShown(posters, &isShown, tx) }
      return isShown
    }
  }

  /// Sets `isShown` for posters that are shown by now: an earlier attempt at the same may have been committed although
  /// its answer was lost.
  private static func lookForShown(
    _ posters: [(post: PostID, poster: PostPoster)], _ isShown: inout [Bool], _ tx: PostgresTransaction
  ) throws {
    for place in try tx.rows(
      """
      SELECT r.n FROM unnest($1::bytea[], $2::text[]) WITH ORDINALITY AS r(id, key, n)
      JOIN reel.intent i ON i.post_id = r.id
      JOIN reel.poster p ON p.intent = i.number AND p.object_key = r.key AND p.state = 1
      """, [.byteStrings(posters.map(\.post.bytes)), .texts(posters.map(\.poster.key.rawValue))],
      { try $0.place(in: posters.count) })
    { isShown[place] = true }
  }

  /// Returns the intents of posts in that store that show no poster, in the order of
  /// `posts`, locked until this transaction ends.
  private static func intentsWithout(
    _ posts: [PostID], in destination: Destination, _ tx: PostgresTransaction
  ) throws -> [Int64?] {
    var intents = [Int64?](repeating: nil, count: posts.count)
    for (place, number) in try tx.rows(
      """
      SELECT r.n, p.intent FROM unnest($1::bytea[]) WITH ORDINALITY AS r(id, n)
      JOIN reel.intent i ON i.post_id = r.id AND i.destination = (SELECT id FROM reel.destination WHERE name = $2)
      JOIN reel.post p ON p.intent = i.number
      WHERE \(showsNone)
      ORDER BY p.page_number FOR UPDATE OF i, p
      """, [.byteStrings(posts.map(\.bytes)), .text(destination.name)],
      { (try $0.place(in: posts.count), try $0[1] as Int64) })
    { intents[place] = number }
    return intents
  }

  package func posts(_ posts: [PostID], in destination: Destination) async throws(CatalogError) -> Set<PostID>
  {
    try await look { db in
      Set(
        try db.rows(
          """
          SELECT post_id FROM reel.intent
          WHERE post_id = ANY($1) AND destination = (SELECT id FROM reel.destination WHERE name = $2)
          """, [.byteStrings(posts.map(\.bytes)), .text(destination.name)]
        ) { PostID(bytes: try $0[0]) }.compactMap(\.self))
    }
  }
}
