import FoundationEssentials
import ReelCore

/// The steps of publishing, in the name of one owner, each inside a transaction. A batch takes a handful of statements,
/// however many files it has.
struct PostgresPublishing {
  let tx: PostgresTransaction
  /// The owner that takes the steps.
  let me: Int64
  /// The server's name, for messages.
  let server: String

  /// A post's row, not decoded yet.
  struct StoredPost: Sendable {
    let pageNumber: Int
    let createdAt: Int64
    let document: String
  }

  /// The answer to a claim, whose post has not been decoded yet.
  enum Answer: Sendable {
    case granted(Intent)
    case published(StoredPost, announced: Bool)
    case removed(PostgresRemovals.Stored)
    case held
  }

  /// What a call of ``claim(_:of:)`` must remember in case the answer to its COMMIT is lost.
  struct ClaimCall: Sendable {
    /// Drawn for the call; what it was granted is found by it.
    let token = Int64.random(in: .min ... .max)
    /// The page numbers of posts whose event this owner took over.
    var handed: Set<Int> = []
    /// Whether an earlier transaction of the call may have been committed.
    var mayBeDone = false
    /// The posts of intents that a caller has been told of already.
    var told: Set<PostID> = []
    /// Whether a caller who claimed was told of an error instead.
    var isUnheard = false
  }

  /// Returns "=" and the author's id, or nothing if there is no author.
  static func author(_ id: String?) -> [UInt8] { id.map { Array(("=" + $0).utf8) } ?? [] }

  /// The bytes of the longest author that the index takes.
  static let longestAuthor = 2001

  // MARK: T1: claiming

  /// Locks the requests' videos. Until this transaction ends, no other can claim them, or bring a post of one into a
  /// store. A file as it is and the same file mended are rows with different keys, so that no row of one is in the way
  /// of the other, and neither transaction sees what the other has not committed. Call this first, while this
  /// transaction has locked nothing else.
  func lock(_ requests: [ClaimRequest]) throws {
    let videos = requests.flatMap { request in
      [request.publication.digest, request.arrived].compactMap(\.self).map {
        (digest: $0.bytes, author: Self.author(request.publication.authorID))
      }
    }
    if videos.isEmpty { return }
    try tx.run(
      Self.locking("SELECT * FROM unnest($1::bytea[], $2::bytea[]) AS r(digest, author)"),
      [.byteStrings(videos.map(\.digest)), .byteStrings(videos.map(\.author))])
  }

  /// Returns SQL that locks the videos that a query returns (`digest`, `author`), always in the same order, so that two
  /// transactions that lock several can't deadlock.
  static func locking(_ videos: String) -> String {
    """
    SELECT pg_advisory_xact_lock(\(PostgresSchema.publicationLock), k.key) FROM (
      SELECT DISTINCT hashtext(encode(v.digest || v.author, 'hex')) AS key FROM (\(videos)) v ORDER BY key OFFSET 0
    ) k
    """
  }

  /// Claims for all of `requests`, which are locked, in their order, each as if it came alone after those before it.
  func claim(_ requests: [ClaimRequest], of call: inout ClaimCall) throws -> [Result<Answer, CatalogError>] {
    var answers = [Result<Answer, CatalogError>?](repeating: nil, count: requests.count)
    for index in requests.indices
    where Self.author(requests[index].publication.authorID).count > Self.longestAuthor {
      answers[index] = .failure(.authorTooLong(at: server))
    }
    var granted: Set<Int64> = []
    // A request that loses a race is tried again; in each round one of the rivals gets through.
    for round in 0..<50 {
      var turn: [Int] = []
      var seen: [Publication: Int] = [:]
      for index in requests.indices where answers[index] == nil {
        let publication = requests[index].publication
        // Requests for the same publication take turns: each after the one before it has been answered.
        guard seen[publication] == nil else { continue }
        seen[publication] = index
        turn.append(index)
      }
      if turn.isEmpty { break }
      try claim(turn, of: requests, call: &call, mayBeTaken: round > 0, answers: &answers, granted: &granted)
      // In one batch, requests for the same publication that want no second post are answered by the first one's
      // answer.
      for index in requests.indices where answers[index] == nil && requests[index].duplicates == .skip {
        guard let first = seen[requests[index].publication], first != index, let answer = answers[first],
          requests[index].again == requests[first].again
        else {
          continue
        }
        switch answer {
        case .success(.granted), .success(.held): answers[index] = .success(.held)
        case .success(.published(let post, _)): answers[index] = .success(.published(post, announced: true))
        case .success(.removed): answers[index] = answer
        case .failure: break
        }
      }
    }
    return answers.enumerated().map { index, answer in
      answer
        ?? .failure(
          CatalogError(
            .locked,
            "others keep claiming \(requests[index].publication.digest) in the catalog \(server): try again"
          ))
    }
  }

  /// An intent of a requested publication.
  private struct Candidate {
    let number: Int64
    let id: PostID
    let key: ObjectKey
    let ordinal: Int64
    /// Nil if it is no longer unfinished.
    let attempt: Int?
    let owner: Int64?
    let claim: Int64?
    let isOwnerAlive: Bool
    /// Whether it is not of the publication itself, but of the same file in another form (mended, or as it is), or of a
    /// post that has moved out of the store.
    let isRelated: Bool
    let post: StoredPost?
    /// The owner that is to deliver the post's event; nil if that is delivered.
    let teller: Int64?
    let isTellerAlive: Bool

    /// Nil for a row without an intent.
    init?(_ row: PostgresRow) throws {
      guard let number: Int64 = try row["number"] else { return nil }
      guard let key = ObjectKey(try row["object_key"]), let id = PostID(bytes: try row["post_id"]) else {
        throw PostgresError(.unexpected, "an intent without a proper key")
      }
      (self.number, self.id, self.key) = (number, id, key)
      (ordinal, attempt, owner) = (try row["ordinal"], try row["attempt"], try row["owner"])
      (claim, isOwnerAlive, isRelated) = (try row["claim"], try row["owner_lives"], try row["is_related"])
      let place: Int? = try row["page_number"]
      post = try place.map {
        StoredPost(pageNumber: $0, createdAt: try row["created_at"], document: try row["document"])
      }
      (teller, isTellerAlive) = (try row["teller"], try row["teller_lives"])
    }
  }

  private struct Start {
    let index: Int
    let destination: Int64
    let ordinal: Int64
  }

  private struct TakeOver {
    let index: Int
    let candidate: Candidate
  }

  /// Carries out one round, over different publications. A request that lost a race is left without an answer.
  private func claim(
    _ turn: [Int], of requests: [ClaimRequest], call: inout ClaimCall, mayBeTaken: Bool,
    answers: inout [Result<Answer, CatalogError>?], granted numbersGranted: inout Set<Int64>
  ) throws {
    let (stores, candidates, removed) = try candidates(turn.map { requests[$0] })
    let posterTaken = try takenPosters(turn.map { requests[$0] }, in: stores)
    let namesTaken =
      mayBeTaken
      ? try takenNames(turn.map { requests[$0] }, in: stores) : [Bool](repeating: false, count: turn.count)
    var (starts, takeOvers, handing): ([Start], [TakeOver], [(index: Int, post: StoredPost, teller: Int64)]) =
      ([], [], [])
    var granted: [(index: Int, number: Int64, isNew: Bool)] = []
    var arrivals: [(index: Int, number: Int64)] = []
    for (place, index) in turn.enumerated() {
      let (request, known) = (requests[index], candidates[place])
      let found = known.filter { !$0.isRelated }
      if let mine = found.first(where: { candidate in
        candidate.owner == me && candidate.claim == call.token && !numbersGranted.contains(candidate.number)
          && !call.told.contains(candidate.id)
      }), let attempt = mine.attempt {
        // An earlier transaction of this very call was granted it, but its answer was lost.
        answers[index] = .success(.granted(intent(mine, attempt, request)))
        granted.append((index, mine.number, false))
        continue
      }
      let decision = ClaimDecision<(Candidate, StoredPost), PostgresRemovals.Stored, Candidate>.decide(
        request.duplicates, again: request.again,
        published: known.lazy.compactMap { candidate in candidate.post.map { (candidate, $0) } }.first,
        removed: removed[place],
        own: found.filter { $0.attempt != nil },
        related: known.filter { $0.isRelated && $0.attempt != nil },
        holding: { candidate in
          IntentHolding(owner: candidate.owner, claimant: me) { _ in candidate.isOwnerAlive }
        },
        posterNameIsTaken: posterTaken[place],
        nameIsTaken: namesTaken[place])
      switch decision {
      case .published(let (published, post)):
        if !published.isRelated { arrivals.append((index, published.number)) }
        if let teller = published.teller,
          IntentHolding(owner: teller, claimant: me, isAlive: { _ in published.isTellerAlive }) == .free
        {
          handing.append((index, post, teller))
        } else {
          let isOurs = published.teller == me && call.handed.contains(post.pageNumber)
          answers[index] = .success(.published(post, announced: !isOurs))
        }
      case .removed(let removed): answers[index] = .success(.removed(removed))
      case .held: answers[index] = .success(.held)
      case .nameTaken: answers[index] = .failure(.nameTaken(request, at: server))
      case .takeOver(let candidate): takeOvers.append(TakeOver(index: index, candidate: candidate))
      case .begin:
        let last = found.map(\.ordinal).max() ?? -1
        starts.append(Start(index: index, destination: stores[place], ordinal: last.addingClamped(1)))
      }
    }
    for (index, post, teller) in handing where try hand(post, from: teller, call: &call) {
      answers[index] = .success(.published(post, announced: false))
    }
    for (index, post, _) in handing where answers[index] == nil {
      // Another process took the event over first, and delivers it.
      answers[index] = .success(.published(post, announced: true))
    }
    let taken = try takeOver(takeOvers.map(\.candidate), token: call.token)
    for one in takeOvers where taken.contains(one.candidate.number) {
      answers[one.index] = .success(
        .granted(intent(one.candidate, (one.candidate.attempt ?? 0).addingClamped(1), requests[one.index])))
      granted.append((one.index, one.candidate.number, false))
    }
    let numbers = try begin(starts, requests, token: call.token)
    for start in starts {
      let request = requests[start.index]
      guard let number = numbers[request.newID] else { continue }
      answers[start.index] = .success(
        .granted(
          Intent(id: request.newID, key: request.newKey, publication: request.publication, attempt: 1)))
      granted.append((start.index, number, true))
    }
    numbersGranted.formUnion(granted.map(\.number))
    try remember(arrivals + granted.map { ($0.index, $0.number) }, of: requests)
    try namePosters(granted, requests, answers: &answers)
  }

  /// Remembers the digests of the files from which the intents' objects were made.
  private func remember(_ arrivals: [(index: Int, number: Int64)], of requests: [ClaimRequest]) throws {
    let known = arrivals.compactMap { one in
      requests[one.index].arrived.map { (digest: $0.bytes, number: one.number) }
    }.sorted { ($0.number, $0.digest[0]) < ($1.number, $1.digest[0]) }
    if known.isEmpty { return }
    try tx.run(
      """
      INSERT INTO reel.arrival (digest, intent) SELECT unnest($1::bytea[]), unnest($2::bigint[])
      ON CONFLICT DO NOTHING
      """, [.byteStrings(known.map(\.digest)), .ints(known.map(\.number))])
  }

  private func intent(_ candidate: Candidate, _ attempt: Int, _ request: ClaimRequest) -> Intent {
    Intent(id: candidate.id, key: candidate.key, publication: request.publication, attempt: attempt)
  }

  /// Returns the ids of the requests' stores, adding rows for stores that have none; the intents that concern their
  /// publications; and the removals of their videos.
  private func candidates(
    _ requests: [ClaimRequest]
  ) throws -> (stores: [Int64], candidates: [[Candidate]], removed: [PostgresRemovals.Stored?]) {
    for _ in 0..<2 {
      let found = try existingCandidates(requests)
      let stores = found.stores.compactMap(\.self)
      if stores.count == requests.count { return (stores, found.candidates, found.removed) }
      let missing = Set(
        zip(requests, found.stores).filter { $1 == nil }.map { $0.0.publication.destination.name })
      try tx.run(
        "INSERT INTO reel.destination (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING",
        [.texts(missing.sorted())])
    }
    throw PostgresError(.unexpected, "no id for a new destination")
  }

  /// Does the same as ``candidates(_:)``, without adding stores.
  ///
  /// `OFFSET 0` and `+ 0` force an index look-up for each row. Without statistics, as in a new catalog, the planner
  /// would read whole tables instead.
  private func existingCandidates(
    _ requests: [ClaimRequest]
  ) throws -> (stores: [Int64?], candidates: [[Candidate]], removed: [PostgresRemovals.Stored?]) {
    let mine = "i.destination + 0 = d.id AND i.author = r.author AND i.ordinal IS NOT NULL"
    let rows = try tx.rows(
      """
      SELECT r.n, d.id AS store, i.number, i.post_id, i.object_key, i.ordinal, a.attempt, a.owner, a.claim,
        coalesce(o.lease_until > \(PostgresSchema.now), false) AS owner_lives,
        p.page_number, p.created_at, p.document, x.owner AS teller, i.is_related,
        coalesce(t.lease_until > \(PostgresSchema.now), false) AS teller_lives, \(PostgresRemovals.columns)
      FROM unnest($1::bytea[], $2::text[], $3::bytea[], $4::bytea[], $5::boolean[]) WITH ORDINALITY
        AS r(digest, store, author, arrived, again, n)
      LEFT JOIN LATERAL (SELECT id FROM reel.destination WHERE name = r.store OFFSET 0) d ON true
      LEFT JOIN LATERAL (
        SELECT m.* FROM (VALUES (0, r.digest), (1, r.arrived)) AS way(place, digest)
        CROSS JOIN LATERAL (\(PostgresRemovals.newest(of: "way.digest", author: "r.author"))) m
        WHERE NOT r.again ORDER BY way.place LIMIT 1
      ) m ON true
      LEFT JOIN LATERAL (
        SELECT i.*, false AS is_related FROM reel.intent i WHERE i.digest = r.digest AND \(mine)
        UNION ALL
        SELECT i.*, true FROM reel.intent i WHERE i.digest = r.arrived AND i.digest <> r.digest AND \(mine)
        UNION ALL
        SELECT i.*, true FROM reel.arrival v
        CROSS JOIN LATERAL (SELECT * FROM reel.intent WHERE number = v.intent OFFSET 0) i
        WHERE v.digest IN (r.digest, r.arrived) AND i.digest <> r.digest AND \(mine)
        UNION ALL
        -- What has moved from there.
        SELECT i.*, true FROM (
          SELECT * FROM reel.intent WHERE digest IN (r.digest, r.arrived)
          UNION
          SELECT i.* FROM reel.arrival v
          CROSS JOIN LATERAL (SELECT * FROM reel.intent WHERE number = v.intent OFFSET 0) i
          WHERE v.digest IN (r.digest, r.arrived)
        ) i
        CROSS JOIN LATERAL (SELECT FROM reel.departure WHERE intent = i.number AND destination = d.id OFFSET 0) l
        WHERE (SELECT EXISTS (SELECT 1 FROM reel.departure)) AND NOT r.again AND i.author = r.author
          AND i.ordinal IS NOT NULL
      ) i ON true
      LEFT JOIN LATERAL (SELECT * FROM reel.attempt WHERE intent = i.number OFFSET 0) a ON true
      LEFT JOIN LATERAL (SELECT lease_until FROM reel.owner WHERE id = a.owner OFFSET 0) o ON true
      LEFT JOIN LATERAL (SELECT * FROM reel.post WHERE intent = i.number OFFSET 0) p ON true
      LEFT JOIN LATERAL (SELECT owner FROM reel.outbox WHERE page_number = p.page_number OFFSET 0) x ON true
      LEFT JOIN LATERAL (SELECT lease_until FROM reel.owner WHERE id = x.owner OFFSET 0) t ON true
      ORDER BY r.n, i.is_related, i.ordinal
      """,
      [
        .byteStrings(requests.map(\.publication.digest.bytes)),
        .texts(requests.map(\.publication.destination.name)),
        .byteStrings(requests.map { Self.author($0.publication.authorID) }),
        .byteStrings(requests.map { $0.arrived?.bytes }), .bools(requests.map(\.again)),
      ]
    ) { row in
      (
        place: try row.place(in: requests.count), store: try row["store"] as Int64?,
        candidate: try Candidate(row), removed: try PostgresRemovals.stored(row)
      )
    }
    var stores = [Int64?](repeating: nil, count: requests.count)
    var candidates = [[Candidate]](repeating: [], count: requests.count)
    var removed = [PostgresRemovals.Stored?](repeating: nil, count: requests.count)
    for row in rows {
      stores[row.place] = row.store
      removed[row.place] = row.removed
      if let candidate = row.candidate { candidates[row.place].append(candidate) }
    }
    return (stores, candidates, removed)
  }

  /// Whether each request's new id or name is already taken.
  private func takenNames(_ requests: [ClaimRequest], in stores: [Int64]) throws -> [Bool] {
    try tx.rows(
      """
      SELECT EXISTS (SELECT 1 FROM reel.intent i WHERE i.post_id = r.id)
        OR EXISTS (SELECT 1 FROM reel.intent i WHERE i.destination = r.store AND i.object_key = r.key)
      FROM unnest($1::bytea[], $2::bigint[], $3::text[]) WITH ORDINALITY AS r(id, store, key, n) ORDER BY r.n
      """,
      [
        .byteStrings(requests.map(\.newID.bytes)), .ints(stores), .texts(requests.map(\.newKey.rawValue)),
      ]
    ) { try $0[0] }
  }

  private func takenPosters(_ requests: [ClaimRequest], in stores: [Int64]) throws -> [Bool] {
    if requests.allSatisfy({ $0.poster == nil }) { return requests.map { _ in false } }
    var seen: Set<String> = []
    let taken: [Bool] = try tx.rows(
      """
      SELECT EXISTS (SELECT 1 FROM reel.poster p WHERE p.destination = r.store AND p.object_key = r.key)
      FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS r(store, key, n) ORDER BY r.n
      """, [.ints(stores), .texts(requests.map { $0.poster?.newKey.rawValue })]
    ) { try $0[0] }
    return zip(zip(requests, stores), taken).map { request, taken in
      guard let poster = request.0.poster else { return false }
      return !seen.insert("\(request.1) \(poster.newKey)").inserted || taken
    }
  }

  /// Takes intents over, and returns the numbers of those for which that succeeded.
  /// Others may have been faster with the rest.
  private func takeOver(_ candidates: [Candidate], token: Int64) throws -> Set<Int64> {
    if candidates.isEmpty { return [] }
    let sorted = candidates.sorted { $0.number < $1.number }
    return Set(
      try tx.rows(
        """
        UPDATE reel.attempt a SET attempt = a.attempt + 1, owner = $4, claim = $5, changed_at = \(PostgresSchema.now)
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r(number, attempt, owner)
        WHERE a.intent = r.number AND a.attempt = r.attempt AND a.owner IS NOT DISTINCT FROM r.owner
        RETURNING a.intent
        """,
        [
          .ints(sorted.map(\.number)), .ints(sorted.map { $0.attempt.map(Int64.init) }),
          .ints(sorted.map(\.owner)),
          .int(me), .int(token),
        ]
      ) { try $0[0] as Int64 })
  }

  /// Adds new intents, and returns their numbers by post. One whose place or name another process has taken is missing.
  private func begin(
    _ starts: [Start], _ requests: [ClaimRequest], token: Int64
  ) throws -> [PostID: Int64] {
    if starts.isEmpty { return [:] }
    // Always in the same order, so that two batches of the same videos can't deadlock.
    let sorted = starts.sorted {
      requests[$0.index].publication.digest.bytes.lexicographicallyPrecedes(
        requests[$1.index].publication.digest.bytes)
    }
    let asked = sorted.map { requests[$0.index] }
    let rows = try tx.rows(
      """
      WITH made AS (
        INSERT INTO reel.intent (post_id, destination, object_key, digest, author, ordinal, size, created_at)
        SELECT r.id, r.store, r.key, r.digest, r.author, r.ordinal, r.size, \(PostgresSchema.now)
        FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[], $7::bigint[])
          AS r(id, store, key, digest, author, ordinal, size)
        ON CONFLICT DO NOTHING
        RETURNING number, post_id
      ), begun AS (
        INSERT INTO reel.attempt (intent, attempt, owner, claim, changed_at)
        SELECT number, 1, $8, $9, \(PostgresSchema.now) FROM made
      )
      SELECT post_id, number FROM made
      """,
      [
        .byteStrings(asked.map(\.newID.bytes)), .ints(sorted.map(\.destination)),
        .texts(asked.map(\.newKey.rawValue)), .byteStrings(asked.map(\.publication.digest.bytes)),
        .byteStrings(asked.map { Self.author($0.publication.authorID) }), .ints(sorted.map(\.ordinal)),
        .ints(asked.map(\.size)), .int(me), .int(token),
      ]
    ) { (try $0[0] as [UInt8], try $0[1] as Int64) }
    var numbers: [PostID: Int64] = [:]
    for (bytes, number) in rows { if let id = PostID(bytes: bytes) { numbers[id] = number } }
    return numbers
  }

  /// Names the posters of granted intents: as an earlier attempt with the same bytes did, else by the new name.
  private func namePosters(
    _ granted: [(index: Int, number: Int64, isNew: Bool)], _ requests: [ClaimRequest],
    answers: inout [Result<Answer, CatalogError>?]
  ) throws {
    let asked = granted.compactMap { one in
      requests[one.index].poster.map { (index: one.index, number: one.number, poster: $0) }
    }
    if asked.isEmpty { return }
    let keys = try PostgresPosters(tx: tx).name(asked.map { ($0.number, $0.poster) }, owner: nil)
    for (one, key) in zip(asked, keys) {
      guard case .success(.granted(let intent)) = answers[one.index] else { continue }
      answers[one.index] = .success(
        .granted(
          Intent(
            id: intent.id, key: intent.key, publication: intent.publication, attempt: intent.attempt,
            poster: key)))
    }
  }

  /// Takes the post's event over; false if another process was faster.
  func hand(_ post: StoredPost, from teller: Int64, call: inout ClaimCall) throws -> Bool {
    let isOurs =
      try tx.run(
        "UPDATE reel.outbox SET owner = $1 WHERE page_number = $2 AND owner = $3",
        [.int(me), .int(Int64(post.pageNumber)), .int(teller)]) > 0
    if isOurs { call.handed.insert(post.pageNumber) }
    return isOurs
  }

  // MARK: Releasing intents

  /// Releases intents that their attempts still hold. If an attempt has published its post all the same, the caller was
  /// not told, so the event is left to whichever owner comes across the post.
  func release(_ releases: [(intent: Intent, reason: ReleaseReason)]) throws {
    for (intent, reason) in releases {
      let held = "post_id = $1) AND attempt = $2 AND owner = $3"
      let values: [PostgresValue] = [.bytes(intent.id.bytes), .int(Int64(intent.attempt)), .int(me)]
      if case .posterUnusable = reason, let poster = intent.poster {
        try tx.run(
          """
          UPDATE reel.poster SET state = 2, changed_at = \(PostgresSchema.now)
          WHERE object_key = $4 AND state = 0 AND intent IN (
            SELECT intent FROM reel.attempt WHERE intent = (SELECT number FROM reel.intent WHERE \(held))
          """, values + [.text(poster.rawValue)])
      }
      let count: Int
      switch reason {
      case .retryLater, .posterUnusable:
        count = try tx.run(
          """
          UPDATE reel.attempt SET owner = NULL, changed_at = \(PostgresSchema.now)
          WHERE intent = (SELECT number FROM reel.intent WHERE \(held)
          """, values)
      case .keyUnusable:
        count = try tx.run(
          """
          WITH gone AS (
            DELETE FROM reel.attempt WHERE intent = (SELECT number FROM reel.intent WHERE \(held) RETURNING intent
          )
          UPDATE reel.intent SET ordinal = NULL, given_up_at = \(PostgresSchema.now)
          WHERE number IN (SELECT intent FROM gone)
          """, values)
      }
      if count == 0 { try leaveUntold(intent) }
    }
  }

  /// Leaves the event of the post that this attempt has published, if this owner was to deliver it, to whichever owner
  /// comes across the post.
  func leaveUntold(_ intent: Intent) throws {
    try leaveUntold(
      """
      SELECT p.page_number FROM reel.intent i JOIN reel.post p ON p.intent = i.number AND p.attempt = $3
      WHERE i.post_id = $2
      """, [.bytes(intent.id.bytes), .int(Int64(intent.attempt))])
  }

  /// Does the same for several posts.
  /// - Parameters:
  ///   - pages: a query for their page numbers.
  ///   - values: its values, from `$2` on.
  func leaveUntold(_ pages: String, _ values: [PostgresValue]) throws {
    // No owner has the number 0. All rows are locked: one may be handed to this owner
    // in a transaction whose answer is lost.
    try tx.run(
      """
      UPDATE reel.outbox SET owner = CASE owner WHEN $1 THEN 0 ELSE owner END WHERE page_number IN (\(pages))
      """, [.int(me)] + values)
  }

  // MARK: T2: publishing

  /// An intent that becomes a post.
  struct Finishing: Sendable {
    let intent: Intent
    let document: String
    let poster: ObjectKey?
    let bytes: Int64
    /// The post's searched words; nil if it has none.
    let words: String?
  }

  /// The place that a post was given, and when.
  struct Place: Sendable {
    let pageNumber: Int
    let createdAt: Int64
  }

  /// Publishes all of `finishing` that their attempts still hold, in one statement. The last thing that this does is to
  /// take the feed's counter, which is then locked until the transaction ends. So page numbers have no holes, and are
  /// in the order of commits.
  /// - Parameters:
  ///   - moment: the time of the posts; nil for the server's clock.
  ///   - mayBeDone: whether an earlier transaction of the same call may have been committed.
  func complete(
    _ finishing: [Finishing], at moment: Int64?, mayBeDone: Bool
  ) throws -> [Result<Place, CatalogError>] {
    if finishing.isEmpty { return [] }
    let published = try tx.rows(
      Self.completion,
      [
        .byteStrings(finishing.map(\.intent.id.bytes)), .ints(finishing.map { Int64($0.intent.attempt) }),
        .texts(finishing.map { $0.poster?.rawValue }), .texts(finishing.map(\.document)),
        .ints(finishing.map(\.bytes)), .texts(finishing.map(\.words)), .int(me), .int(moment),
      ]
    ) { (try $0.place(in: finishing.count), Place(pageNumber: try $0[1], createdAt: try $0[2])) }
    var results: [Result<Place, CatalogError>] = finishing.map { .failure(.leaseLost($0.intent, at: server)) }
    for (index, place) in published { results[index] = .success(place) }
    if mayBeDone, published.count < finishing.count {
      for (index, place) in try self.published(finishing) { results[index] = .success(place) }
    }
    return results
  }

  /// The counter is taken only after everything in `before`, because updating the index of words may take a while.
  private static let completion = """
    WITH asked AS MATERIALIZED (
      SELECT i.number, i.destination, r.*
      FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[]) WITH ORDINALITY
        AS r(id, attempt, poster, document, bytes, words, n)
      CROSS JOIN LATERAL (SELECT number, destination FROM reel.intent WHERE post_id = r.id OFFSET 0) i
    ), held AS (
      DELETE FROM reel.attempt a USING asked q
      WHERE a.intent = q.number AND a.attempt = q.attempt AND a.owner = $7
        AND EXISTS (SELECT 1 FROM reel.feed WHERE id = 1)
        AND (q.poster IS NULL OR EXISTS (
          SELECT 1 FROM reel.poster p WHERE p.intent = q.number AND p.object_key = q.poster AND p.state = 0))
      RETURNING q.number, q.destination, q.attempt, q.poster, q.document, q.bytes, q.words, q.n
    ), shown AS (
      UPDATE reel.poster p SET state = 1, owner = NULL, changed_at = \(PostgresSchema.now)
      FROM held WHERE p.intent = held.number AND p.object_key = held.poster AND p.state = 0 AND p.owner IS NULL
      RETURNING 1
    ), said AS (
      INSERT INTO reel.said (intent, words) SELECT number, words::tsvector FROM held WHERE words IS NOT NULL
      RETURNING 1
    ), before AS MATERIALIZED (
      SELECT (SELECT count(*) FROM held) AS posts, (SELECT count(*) FROM shown) AS posters,
        (SELECT count(*) FROM said) AS texts
    ), placed AS MATERIALIZED (
      SELECT held.*, row_number() OVER (ORDER BY n) AS place FROM held
    ), counter AS (
      UPDATE reel.feed SET last_page_number = last_page_number + before.posts FROM before
      WHERE id = 1 AND before.posts > 0
      RETURNING last_page_number - before.posts AS last, coalesce($8, \(PostgresSchema.now)) AS moment
    ), made AS (
      INSERT INTO reel.post (page_number, intent, attempt, created_at, document)
      SELECT last + place, number, attempt, moment, document FROM counter CROSS JOIN placed ORDER BY place
    ), told AS (
      INSERT INTO reel.outbox (page_number, owner) SELECT last + place, $7 FROM counter CROSS JOIN placed
    ), counted AS (
      UPDATE reel.destination d SET posts = d.posts + s.posts, bytes = d.bytes + s.bytes
      FROM (
        SELECT destination, count(*) AS posts, sum(bytes)::bigint AS bytes FROM counter CROSS JOIN placed
        GROUP BY destination
      ) s
      WHERE d.id = s.destination
    )
    SELECT n, last + place, moment FROM counter CROSS JOIN placed
    """

  /// Returns those that these very attempts have published.
  func published(_ finishing: [Finishing]) throws -> [(index: Int, place: Place)] {
    try tx.rows(
      """
      SELECT r.n, p.page_number, p.created_at
      FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS r(id, attempt, n)
      JOIN reel.intent i ON i.post_id = r.id
      JOIN reel.post p ON p.intent = i.number AND p.attempt = r.attempt
      """,
      [
        .byteStrings(finishing.map(\.intent.id.bytes)), .ints(finishing.map { Int64($0.intent.attempt) }),
      ]
    ) { (try $0.place(in: finishing.count), Place(pageNumber: try $0[1], createdAt: try $0[2])) }
  }
}
