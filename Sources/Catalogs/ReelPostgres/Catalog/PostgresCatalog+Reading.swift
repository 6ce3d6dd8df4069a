import FoundationEssentials
import ReelCore

extension PostgresCatalog {
  private typealias StoredPost = PostgresPublishing.StoredPost

  /// Returns the post with this id.
  package func post(_ id: PostID) async throws(CatalogError) -> Post? {
    try await look { db in
      try db.row(
        """
        SELECT p.page_number, p.created_at, p.document
        FROM reel.intent i JOIN reel.post p ON p.intent = i.number WHERE i.post_id = $1
        """, [.bytes(id.bytes)]
      ) { try StoredPost($0) }
    }.map { stored throws(CatalogError) in try post(stored) }
  }

  /// Returns one page, the newest posts first. It is found by index, however far down the feed it is.
  package func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage {
    let phrases = filter.phrases
    guard limit > 0, phrases?.isEmpty != true else {
      if Task.isCancelled { throw .cancelled(at: server) }
      return FeedPage(posts: [], next: nil)
    }
    let (start, count) = (cursor?.pageNumber ?? .max, limit.addingClamped(1))
    let found = try await look { db in
      var (joins, conditions) = ("", ["p.page_number < $1"])
      var values: [PostgresValue] = [.int(Int64(start)), .int(Int64(count))]
      func place(_ value: PostgresValue) -> String {
        values.append(value)
        return "$\(values.count)"
      }
      if let author = filter.authorID {
        joins += " JOIN reel.intent i ON i.number = p.intent"
        let authors = author.canonicalForms.map { PostgresPublishing.author($0) }
        conditions.append("i.author = ANY(\(place(.byteStrings(authors)))) AND i.author <> ''::bytea")
      }
      if let since = filter.since {
        let since = place(.int(since.milliseconds))
        // The second condition tells where to stop. It reads few posts of any feed, and tolerates clocks that were set
        // back meanwhile, by up to this number of posts.
        conditions.append(
          """
          p.created_at >= \(since) AND p.page_number >= (
            SELECT coalesce(min(page_number), \(Int64.max)) FROM (
              SELECT page_number FROM reel.post WHERE created_at >= \(since) ORDER BY created_at LIMIT 10000
            ) first)
          """)
      }
      if let phrases {
        joins += " JOIN reel.said w ON w.intent = p.intent"
        conditions.append("w.words @@ \(place(.text(PostgresWords.query(phrases))))::tsquery")
      }
      return try db.rows(
        """
        SELECT p.page_number, p.created_at, p.document FROM reel.post p\(joins)
        WHERE \(conditions.joined(separator: " AND ")) ORDER BY p.page_number DESC LIMIT $2
        """, values
      ) { try StoredPost($0) }
    }
    let next = found.count > limit ? found[limit - 1].pageNumber : nil
    return FeedPage(
      posts: try posts(Array(found.prefix(limit))), next: next.map(FeedCursor.init(pageNumber:)))
  }

  /// Returns the posts with `pageNumber` in `from ..< from + count`.
  package func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    guard count > 0 else { return [] }
    let end = pageNumber.addingReportingOverflow(count)
    let found = try await look { db in
      try db.rows(
        """
        SELECT page_number, created_at, document FROM reel.post
        WHERE page_number >= $1 AND page_number < $2 ORDER BY page_number
        """, [.int(Int64(pageNumber)), .int(Int64(end.overflow ? .max : end.partialValue))]
      ) { try StoredPost($0) }
    }
    return try posts(found)
  }

  /// Returns the posts of a video, the oldest first.
  package func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post] {
    let found = try await look { db in
      try db.rows(
        """
        SELECT p.page_number, p.created_at, p.document
        FROM (
          SELECT number FROM reel.intent WHERE digest = $1 UNION SELECT intent FROM reel.arrival WHERE digest = $1
        ) i JOIN reel.post p ON p.intent = i.number ORDER BY p.page_number
        """, [.bytes(digest.bytes)]
      ) { try StoredPost($0) }
    }
    return try posts(found)
  }

  /// Returns a number that changes whenever posts that are already in the feed change.
  package func feedRevision() async throws(CatalogError) -> Int {
    try await look { db in try db.value("SELECT revision FROM reel.feed WHERE id = 1") ?? 0 }
  }

  /// Returns what the catalog holds, after all that was handed in before.
  package func status() async throws(CatalogError) -> CatalogStatus {
    try await writableIfAny?.writer.flush()
    return try await look { db in
      let stores = try db.rows(
        "SELECT name, posts, bytes FROM reel.destination WHERE posts > 0 ORDER BY name"
      ) { row in
        (name: try row[0] as String, posts: try row[1] as Int, bytes: try row[2] as Int64)
      }
      let failures = try db.rows(
        "SELECT path, code, message, refused, at FROM reel.failure ORDER BY at DESC, path LIMIT \(CatalogStatus.mostFailures)"
      ) { row in
        (
          path: SourcePath(bytes: try row["path"] as [UInt8]),
          failure: FailureRecord(
            code: try row["code"], message: try row["message"], refused: try row["refused"],
            at: Date(milliseconds: try row["at"]))
        )
      }
      return CatalogStatus(
        posts: stores.reduce(0) { $0.addingClamped($1.posts) },
        bytes: stores.reduce(0) { $0.addingClamped($1.bytes) },
        destinations: stores.map { (destination: Destination($0.name), posts: $0.posts) },
        unfinished: try db.value("SELECT count(*) FROM reel.attempt") ?? 0, failures: failures,
        failureCount: try db.value("SELECT count(*) FROM reel.failure") ?? 0,
        schemaVersion: try PostgresSchema.found(in: db),
        removed: try db.value("SELECT count(*) FROM reel.removal") ?? 0,
        kept: try db.value("SELECT count(*) FROM reel.removal WHERE is_stored AND kept_until IS NOT NULL")
          ?? 0)
    }
  }
}

// MARK: Recalling

extension PostgresCatalog {
  /// Joins the first post of a publication `r`, or of what a file with its digest was mended to, in the destination
  /// `d`.
  ///
  /// `OFFSET 0` and `+ 0` force an index look-up for each row. Without statistics, as in a new catalog, the planner
  /// would read whole tables instead.
  static let firstPost = firstPost(or: "")

  /// Joins the same post, or else, unless `r.again`, one that has moved out of that destination.
  private static let firstOrMovedPost = firstPost(
    or: """
      UNION ALL
        SELECT i.number, i.ordinal, 2 FROM (
          SELECT number, ordinal, author FROM reel.intent WHERE digest = r.digest
          UNION
          SELECT i.number, i.ordinal, i.author FROM reel.arrival v
          CROSS JOIN LATERAL (SELECT * FROM reel.intent WHERE number = v.intent OFFSET 0) i WHERE v.digest = r.digest
        ) i
        CROSS JOIN LATERAL (SELECT FROM reel.departure WHERE intent = i.number AND destination = d.id OFFSET 0) l
        WHERE (SELECT EXISTS (SELECT 1 FROM reel.departure)) AND NOT r.again AND i.author = r.author
          AND i.ordinal IS NOT NULL
      """)

  private static func firstPost(or others: String) -> String {
    """
    LEFT JOIN LATERAL (
      SELECT p.page_number, p.created_at, p.document, x.owner AS teller,
        coalesce(o.lease_until > \(PostgresSchema.now), false) AS teller_lives
      FROM (
        SELECT i.number, i.ordinal, 0 AS way FROM reel.intent i
        WHERE i.digest = r.digest AND i.destination + 0 = d.id AND i.author = r.author AND i.ordinal IS NOT NULL
        UNION ALL
        SELECT i.number, i.ordinal, 1 FROM reel.arrival v
        CROSS JOIN LATERAL (SELECT * FROM reel.intent WHERE number = v.intent OFFSET 0) i
        WHERE v.digest = r.digest AND i.destination = d.id AND i.author = r.author AND i.ordinal IS NOT NULL
        \(others)
      ) i
      CROSS JOIN LATERAL (SELECT * FROM reel.post WHERE intent = i.number OFFSET 0) p
      LEFT JOIN LATERAL (SELECT owner FROM reel.outbox WHERE page_number = p.page_number OFFSET 0) x ON true
      LEFT JOIN LATERAL (SELECT lease_until FROM reel.owner WHERE id = x.owner OFFSET 0) o ON true
      ORDER BY i.way, i.ordinal LIMIT 1
    ) f ON true
    """
  }

  private struct Found: Sendable {
    let post: PostgresPublishing.StoredPost
    /// The dead owner that was to deliver its event; nil if that is delivered, or a living process is about to do so.
    let deadTeller: Int64?
  }

  /// Reads the columns of ``firstPost``. A catalog that only reads (`me` is nil) never has to deliver an event.
  private static func found(_ row: PostgresRow, me: Int64?) throws -> Found? {
    guard try row["page_number"] as Int? != nil else { return nil }
    let (teller, lives): (Int64?, Bool) = (try row["teller"], try row["teller_lives"])
    let isToBeTold = me != nil && teller != nil && teller != me && !lives
    return Found(post: try PostgresPublishing.StoredPost(row), deadTeller: isToBeTold ? teller : nil)
  }

  /// Looks all of them up in two reads. It writes only to take over an event that a dead process left undelivered.
  package func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    if questions.isEmpty { return [] }
    writableIfAny?.writer.settle()
    let me = writableIfAny?.owner.id
    let (found, readings) = try lookUp { db in
      (try published(questions, me: me, in: db), try Self.readings(of: questions.map(\.digest), in: db))
    }
    var contents: [KnownContent] = []
    for (index, (found, removed)) in found.enumerated() {
      var post: PublishedPost?
      if let found {
        var announced = true
        if let teller = found.deadTeller { announced = try !hand(found.post, from: teller) }
        post = PublishedPost(post: try self.post(found.post), announced: announced)
      }
      contents.append(
        KnownContent(
          post: post, removed: post == nil ? try removed?.post(at: server) : nil, readings: readings[index]))
    }
    return contents
  }

  private func published(
    _ questions: [ContentQuestion], me: Int64?, in db: PostgresConnection
  ) throws -> [(post: Found?, removed: PostgresRemovals.Stored?)] {
    var found = [(post: Found?, removed: PostgresRemovals.Stored?)](
      repeating: (nil, nil), count: questions.count)
    let asked = questions.enumerated().compactMap { index, question in
      question.publication.map { (index: index, publication: $0) }
    }
    if asked.isEmpty { return found }
    for (place, post, removed) in try db.rows(
      """
      SELECT r.n, f.*, \(PostgresRemovals.columns)
      FROM unnest($1::bytea[], $2::text[], $3::bytea[], $4::boolean[]) WITH ORDINALITY
        AS r(digest, store, author, again, n)
      LEFT JOIN reel.destination d ON d.name = r.store
      \(Self.firstOrMovedPost)
      LEFT JOIN LATERAL (\(PostgresRemovals.newest(of: "r.digest", author: "r.author"))) m ON true
      """,
      [
        .byteStrings(asked.map(\.publication.digest.bytes)),
        .texts(asked.map(\.publication.destination.name)),
        .byteStrings(asked.map { PostgresPublishing.author($0.publication.authorID) }),
        .bools(asked.map { questions[$0.index].again }),
      ],
      { row in
        (
          try row.place(in: asked.count), try Self.found(row, me: me), try PostgresRemovals.stored(row)
        )
      })
    { found[asked[place].index] = (post, removed) }
    return found
  }

  private static func readings(
    of digests: [ContentDigest], in db: PostgresConnection
  ) throws -> [[ReaderVersion: ProbeOutcome]] {
    var readings = [[ReaderVersion: ProbeOutcome]](repeating: [:], count: digests.count)
    for (place, reader, document) in try db.rows(
      """
      SELECT r.n, k.reel, k.ffmpeg, k.outcome FROM unnest($1::bytea[]) WITH ORDINALITY AS r(digest, n)
      CROSS JOIN LATERAL (SELECT reel, ffmpeg, outcome FROM reel.reading WHERE digest = r.digest OFFSET 0) k
      """, [.byteStrings(digests.map(\.bytes))],
      { row in
        (
          try row.place(in: digests.count), ReaderVersion(reel: try row[1], ffmpeg: try row[2]),
          try row[3] as String
        )
      })
    {
      if let outcome = ProbeOutcome(document: document) { readings[place][reader] = outcome }
    }
    return readings
  }

  /// Takes the event of a post over from a dead owner. Returns whether it is now this process's to deliver.
  private func hand(
    _ post: PostgresPublishing.StoredPost, from teller: Int64
  ) throws(CatalogError) -> Bool {
    let writing = try writable()
    let owner = writing.owner.id
    var call = PostgresPublishing.ClaimCall()
    do throws(CatalogError) {
      return try CatalogError.mapping(at: server) {
        try pool.transaction { tx in
          let steps = PostgresPublishing(tx: tx, me: owner, server: server)
          if try steps.hand(post, from: teller, call: &call) { return true }
          // An earlier attempt at the same may have been committed although its answer was lost.
          let now = try tx.value(
            "SELECT owner FROM reel.outbox WHERE page_number = $1", [.int(Int64(post.pageNumber))],
            as: Int64.self)
          return tx.mayBeDone && now == owner && call.handed.contains(post.pageNumber)
        }
      }
    } catch {
      writing.writer.owe(.claims(call))
      throw error
    }
  }

  /// Returns what is known of each of these. A failure may be returned beside a post; then it is older than the post,
  /// and to be forgotten.
  ///
  /// A post whose event is undelivered is left to ``contents(of:)``, which takes the event over.
  package func recall(
    _ files: [RecalledFile], readingPosts: Bool
  ) throws(CatalogError) -> [CachedRecord?] {
    if files.isEmpty { return [] }
    writableIfAny?.writer.settle()
    let me = writableIfAny?.owner.id
    let rows = try lookUp { db in
      try db.rows(
        """
        SELECT r.n, k.digest, g.code AS failure_code, f.*
        FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[],
          $9::text[], $10::bytea[]) WITH ORDINALITY
          AS r(device, inode, size, modified_at, changed_at, store, author, failure_host, path, n)
        CROSS JOIN LATERAL (
          SELECT digest FROM reel.known_file k
          WHERE k.host = $1 AND k.device = r.device AND k.inode = r.inode AND k.size = r.size
            AND k.modified_at = r.modified_at AND k.changed_at = r.changed_at
          OFFSET 0
        ) k
        LEFT JOIN reel.destination d ON d.name = r.store
        LEFT JOIN LATERAL (
          SELECT code FROM reel.failure g WHERE g.host = r.failure_host AND g.path_digest = sha256(r.path) OFFSET 0
        ) g ON true
        \(Self.firstPost.replacing("r.digest", with: "k.digest"))
        """,
        [.text(host)] + PostgresNotes.columns(files.map(\.identity)) + [
          .texts(files.map(\.destination.name)),
          .byteStrings(files.map { PostgresPublishing.author($0.authorID) }),
          .texts(files.map { PostgresNotes.host($0.path, here: host) }),
          .byteStrings(files.map(\.path.bytes)),
        ]
      ) { row in
        (
          place: try row.place(in: files.count), digest: try row["digest"] as [UInt8],
          failure: try row["failure_code"] as String?, found: try Self.found(row, me: me)
        )
      }
    }
    var records = [CachedRecord?](repeating: nil, count: files.count)
    for row in rows {
      guard let digest = ContentDigest(sha256: row.digest) else { continue }
      let told = row.found.flatMap { $0.deadTeller == nil ? $0.post : nil }
      records[row.place] = CachedRecord(
        digest: digest, isPublished: told != nil,
        post: readingPosts ? try told.map { stored throws(CatalogError) in try post(stored) } : nil,
        failureCode: row.failure)
    }
    return records
  }

  /// Returns what `reader` found in each of these.
  package func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    try lookUp { db in try Self.readings(of: digests, in: db) }.map { $0[reader] }
  }

  /// Returns the size of the caches, after all that was handed in before.
  package func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try await writableIfAny?.writer.flush()
    return try await look { try Self.cacheStatus(in: $0) }
  }

  /// Forgets digests and readings. The server reclaims the space later (VACUUM).
  package func clearCache() async throws(CatalogError) -> CacheStatus {
    try await writable().writer.flush()
    return try await change { tx, _ in
      let before = try Self.cacheStatus(in: tx.connection)
      try tx.run("DELETE FROM reel.known_file")
      try tx.run("DELETE FROM reel.reading")
      return before
    }
  }

  /// The bytes of a known file's row, and of a reading's without its JSON, with their index entries.
  private static let rowBytes: Int64 = 200

  private static func cacheStatus(in db: PostgresConnection) throws -> CacheStatus {
    let counts = try db.row(
      """
      SELECT (SELECT count(*) FROM reel.known_file), count(*), coalesce(sum(length(outcome)), 0)::bigint
      FROM reel.reading
      """
    ) { (files: try $0[0] as Int, readings: try $0[1] as Int, bytes: try $0[2] as Int64) }
    guard let counts else { throw PostgresError(.unexpected, "no counts of what is remembered") }
    let rows = Int64(clamping: counts.files.addingClamped(counts.readings)).multipliedReportingOverflow(
      by: rowBytes)
    return CacheStatus(
      files: counts.files, readings: counts.readings,
      bytes: counts.bytes.addingClamped(rows.overflow ? .max : rows.partialValue))
  }
}
