import ReelCore

/// Posters by the intents of their posts.
struct PostgresPosters {
  let tx: PostgresTransaction

  /// Returns object keys of posters for these intents: that of an earlier attempt
  /// with the same bytes, else the new one.
  /// - Parameter owner: the owner that works on them, if the posts are already published.
  /// - Throws: a violation of uniqueness if another poster got a name at the same moment.
  func name(_ asked: [(intent: Int64, poster: PosterRequest)], owner: Int64?) throws -> [ObjectKey] {
    if asked.isEmpty { return [] }
    let earlier = try tx.rows(
      """
      UPDATE reel.poster p SET owner = $3, changed_at = \(PostgresSchema.now)
      FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS r(intent, digest, n)
      WHERE p.number = (
        SELECT min(e.number) FROM reel.poster e WHERE e.intent = r.intent AND e.digest = r.digest AND e.state = 0)
      RETURNING r.n, p.object_key
      """,
      [.ints(asked.map(\.intent)), .byteStrings(asked.map(\.poster.digest.bytes)), .int(owner)]
    ) { (place: try $0.place(in: asked.count), key: try $0[1] as String) }
    var keys = asked.map(\.poster.newKey)
    for (place, text) in earlier {
      guard let key = ObjectKey(text) else {
        throw PostgresError(.unexpected, "a poster without a proper key")
      }
      keys[place] = key
    }
    let named = Set(earlier.map(\.place))
    let new = asked.indices.filter { !named.contains($0) }.map { asked[$0] }
    if new.isEmpty { return keys }
    try tx.run(
      """
      INSERT INTO reel.poster (intent, destination, object_key, digest, size, owner, changed_at)
      SELECT i.number, i.destination, r.key, r.digest, r.size, $5, \(PostgresSchema.now)
      FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[]) AS r(intent, key, digest, size)
      JOIN reel.intent i ON i.number = r.intent
      """,
      [
        .ints(new.map(\.intent)), .texts(new.map(\.poster.newKey.rawValue)),
        .byteStrings(new.map(\.poster.digest.bytes)), .ints(new.map(\.poster.size)), .int(owner),
      ])
    return keys
  }

  /// Makes the posts of these intents show their posters, and returns the intents of those that do now. A poster that
  /// is no longer `owner`'s is not shown.
  @discardableResult
  func show(_ posters: [(intent: Int64, key: ObjectKey)], owner: Int64?) throws -> Set<Int64> {
    if posters.isEmpty { return [] }
    return Set(
      try tx.rows(
        """
        UPDATE reel.poster p SET state = 1, owner = NULL, changed_at = \(PostgresSchema.now)
        FROM unnest($1::bigint[], $2::text[]) AS r(intent, key)
        WHERE p.intent = r.intent AND p.object_key = r.key AND p.state = 0 AND p.owner IS NOT DISTINCT FROM $3
        RETURNING p.intent
        """, [.ints(posters.map(\.intent)), .texts(posters.map(\.key.rawValue)), .int(owner)]
      ) { try $0[0] as Int64 })
  }
}
