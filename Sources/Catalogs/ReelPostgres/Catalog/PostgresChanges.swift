import FoundationEssentials
import ReelCore

/// The steps of changes, in the name of one owner, each inside a transaction. A batch takes a handful of statements,
/// however many posts it has.
///
/// A transaction that changes a post first locks its intent; those of a batch by number, so that two batches can't
/// deadlock. One that brings a post into a store locks its video before that, as a claim does.
struct PostgresChanges {
  let tx: PostgresTransaction
  /// The owner that takes the steps.
  let me: Int64
  /// The server's name, for messages.
  let server: String

  typealias StoredPost = PostgresPublishing.StoredPost

  /// Tokens that are drawn for a call before its first transaction. If the answer to a COMMIT is lost, the call finds
  /// by them what it has begun, and what it has taken over from dead processes.
  struct Call: Sendable {
    let begun = Int64.random(in: .min ... .max)
    let adopted = Int64.random(in: .min ... .max)
  }

  struct Open: Sendable {
    let number: Int64
    let kind: ChangeKind
    let isDone: Bool
    /// Of a move: its target, or its origin once it is done.
    let other: Int64?
    let otherName: String?
    let keys: String?
    let owner: Int64?
    let claim: Int64
    let isOwnerAlive: Bool
  }

  /// Where a post is, and its publication.
  struct Placed: Sendable {
    let intent: Int64
    let store: Int64
    let storeName: String
    let digest: [UInt8]
    let author: [UInt8]
    let size: Int64
    let showsPoster: Bool
    /// Nil if it is not in the feed.
    var post: StoredPost?
    /// Nil if it was not removed.
    var removed: PostgresRemovals.Stored?
    var open: Open?
  }

  /// An answer whose post has not been decoded yet.
  enum Answer: Sendable {
    case begun(Begun)
    case unfinished(Begun)
    case busy
    case nothing(StoredPost)
    case removed(PostgresRemovals.Stored)
    case unknown
    case taken(StoredPost)
  }

  struct Begun: Sendable {
    let open: Open
    let post: StoredPost
    let removal: Removal?
    let storeName: String
    let objects: [ExaminedObject]
  }

  // MARK: Step 1: begin

  /// A change that begins, and what is to be written for it.
  private struct Beginning {
    let index: Int
    let kind: PostChange.Kind
    var placed: Placed
    let target: Int64?
    let targetName: String?
    var removal: Removal?
    var edit: (document: String, words: String?, keys: [String])?
  }

  /// Answers all of `changes`, in their order, each as if it came alone after those before it.
  func begin(_ changes: [PostChange], of call: Call) throws -> [Answer] {
    if changes.isEmpty { return [] }
    try lockVideos(of: changes.filter { [.restoration, .move].contains($0.kind.sort) }.map(\.post))
    let targets = try targets(of: changes)
    try lock(changes.map(\.post))
    let found = try find(changes.map(\.post))
    let coming = zip(changes, found).map { change, placed in
      placed.flatMap { Coming(change.kind, $0, to: target(of: change).flatMap { targets[$0] }) }
    }
    let obstacles = try self.obstacles(coming, othersMayCome: false)
    var answers = [Answer?](repeating: nil, count: changes.count)
    var beginnings: [Beginning] = []
    var adopted: [(index: Int, placed: Placed, open: Open, isSame: Bool)] = []
    var mine: [(index: Int, placed: Placed, open: Open)] = []
    // The posts of which this batch holds a change, and what it brings into which stores.
    var held: Set<PostID> = []
    var brought: Set<Publication> = []
    for (index, change) in changes.enumerated() {
      guard let placed = found[index] else {
        answers[index] = .unknown
        continue
      }
      if held.contains(change.post) {
        answers[index] = .busy
        continue
      }
      if let open = placed.open, open.owner == me, open.claim == call.begun {
        // An earlier transaction of this very call has begun it, but its answer was lost.
        mine.append((index, placed, open))
        held.insert(change.post)
        continue
      }
      let target = target(of: change).flatMap { targets[$0] }
      let kind = change.kind.sort
      let decision = ChangeDecision.decide(
        kind, of: placed.where, open: placed.open?.kind, isHeld: isHeld(placed.open, in: call),
        isSame: kind != .edit && placed.open?.isDone == false && placed.open?.other == target
          && (kind != .removal || change.kind.keeps == placed.removed?.removal.keeps),
        isInPlace: target == placed.store)
      switch decision {
      case .unknown: answers[index] = .unknown
      case .busy: answers[index] = .busy
      case .nothing: answers[index] = (placed.post ?? placed.removed?.post).map { .nothing($0) } ?? .unknown
      case .removed: answers[index] = placed.removed.map { .removed($0) } ?? .unknown
      case .resume, .finishOther:
        guard let open = placed.open else { continue }
        adopted.append((index, placed, open, decision == .resume))
        held.insert(change.post)
        if !open.isDone {
          switch open.kind {
          case .restoration: brought.insert(Publication(placed, in: placed.store))
          case .move: if let other = open.other { brought.insert(Publication(placed, in: other)) }
          case .removal, .purge, .edit: break
          }
        }
      case .begin:
        switch obstacles[index] {
        case .taken(let other)?: answers[index] = .taken(other)
        case .held?: answers[index] = .busy
        case nil: break
        }
        if answers[index] != nil { continue }
        if let publication = coming[index]?.publication, !brought.insert(publication).inserted {
          answers[index] = .busy
          continue
        }
        var one = Beginning(
          index: index, kind: change.kind, placed: placed, target: target,
          targetName: self.target(of: change), removal: placed.removed?.removal)
        if let same = try prepare(&one) {
          answers[index] = same
          continue
        }
        beginnings.append(one)
        held.insert(change.post)
      }
    }
    let opened = try write(beginnings, of: call)
    let taken = try adopt(adopted.map(\.open), of: call)
    adopted.removeAll { !taken.contains($0.open.number) }
    let answered =
      zip(beginnings, opened).map { ($0.index, $0.placed, $1, $0.removal, true) }
      + mine.map { ($0.index, $0.placed, $0.open, $0.placed.removed?.removal, true) }
      + adopted.map { ($0.index, $0.placed, $0.open, $0.placed.removed?.removal, $0.isSame) }
    let objects = try objects(of: answered.map { $0.1.intent })
    for ((index, placed, open, removal, isBegun), objects) in zip(answered, objects) {
      let begun = try begun(placed, open, removal, objects)
      answers[index] = isBegun ? .begun(begun) : .unfinished(begun)
    }
    // Another process has released or taken a change at this moment. The caller may ask again.
    return answers.map { $0 ?? .busy }
  }

  private func target(of change: PostChange) -> String? {
    if case .move(let other) = change.kind { other.name } else { nil }
  }

  /// Returns the ids of the stores that posts are to move to, adding rows for stores that have none.
  private func targets(of changes: [PostChange]) throws -> [String: Int64] {
    let names = Set(changes.compactMap(target)).sorted()
    if names.isEmpty { return [:] }
    try tx.run(
      "INSERT INTO reel.destination (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [.texts(names)])
    let ids = try tx.rows("SELECT name, id FROM reel.destination WHERE name = ANY($1)", [.texts(names)]) {
      (try $0[0] as String, try $0[1] as Int64)
    }
    return Dictionary(ids) { first, _ in first }
  }

  /// A video that is to come into a store, or back into the feed of one.
  private struct Coming {
    let placed: Placed
    let target: Int64
    /// Of a restoration: when its post was removed. Posts that were published before that may stand beside it.
    let since: Int64?

    /// Nil for a change that brings no post.
    init?(_ kind: PostChange.Kind, _ placed: Placed, to target: Int64?) {
      switch (kind, target, placed.removed) {
      case (.move, let target?, _): (self.placed, self.target, since) = (placed, target, nil)
      case (.restoration, _, let removed?):
        (self.placed, self.target, since) = (placed, placed.store, removed.removal.at.milliseconds)
      default: return nil
      }
    }

    var publication: Publication { Publication(placed, in: target) }
  }

  /// A publication, which can be a post of a store.
  private struct Publication: Hashable {
    let (digest, author): ([UInt8], [UInt8])
    let store: Int64

    init(_ placed: Placed, in store: Int64) {
      (digest, author, self.store) = (placed.digest, placed.author, store)
    }
  }

  /// A reason why a video can't come.
  private enum Obstacle {
    /// It has already become that post there.
    case taken(StoredPost)
    /// A process is about to bring it there.
    case held
  }

  /// Finds what prevents each video from coming.
  /// - Parameter othersMayCome: whether to ignore changes that are about to bring
  ///   another post of the publication there.
  private func obstacles(_ coming: [Coming?], othersMayCome: Bool) throws -> [Int: Obstacle] {
    let asked = coming.enumerated().compactMap { index, one in one.map { (index: index, coming: $0) } }
    if asked.isEmpty { return [:] }
    let rows = try tx.rows(
      """
      SELECT r.n, CASE WHEN r.since IS NULL THEN f.page_number ELSE s.page_number END AS page_number,
        CASE WHEN r.since IS NULL THEN f.created_at ELSE s.created_at END AS created_at,
        CASE WHEN r.since IS NULL THEN f.document ELSE s.document END AS document, EXISTS (
          SELECT 1 FROM reel.intent i JOIN reel.attempt a ON a.intent = i.number JOIN reel.owner o ON o.id = a.owner
          WHERE i.digest = r.digest AND i.destination + 0 = d.id AND i.author = r.author
            AND (o.id = $5 OR o.lease_until > \(PostgresSchema.now))
        ) OR NOT $7 AND EXISTS (
          SELECT 1 FROM (SELECT * FROM reel.intent WHERE digest = r.digest OFFSET 0) i
          CROSS JOIN LATERAL (SELECT * FROM reel.change WHERE intent = i.number OFFSET 0) c
          JOIN reel.owner o ON o.id = c.owner
          WHERE i.author = r.author AND i.number <> r.intent AND NOT c.is_done
            AND (c.kind = \(ChangeKind.move.rawValue) AND c.destination = d.id
              OR c.kind = \(ChangeKind.restoration.rawValue) AND i.destination = d.id)
            AND (o.id = $5 OR o.lease_until > \(PostgresSchema.now))
        ) AS is_held
      FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bigint[], $6::bigint[]) WITH ORDINALITY
        AS r(digest, store, author, since, intent, n)
      CROSS JOIN LATERAL (SELECT id FROM reel.destination WHERE id = r.store OFFSET 0) d
      \(PostgresCatalog.firstPost)
      LEFT JOIN LATERAL (
        SELECT p.page_number, p.created_at, p.document FROM reel.intent i JOIN reel.post p ON p.intent = i.number
        WHERE i.digest = r.digest AND i.destination + 0 = d.id AND i.author = r.author AND p.created_at >= r.since
        ORDER BY i.ordinal LIMIT 1
      ) s ON r.since IS NOT NULL
      """,
      [
        .byteStrings(asked.map(\.coming.placed.digest)), .ints(asked.map(\.coming.target)),
        .byteStrings(asked.map(\.coming.placed.author)), .ints(asked.map(\.coming.since)), .int(me),
        .ints(asked.map(\.coming.placed.intent)), .bool(othersMayCome),
      ]
    ) { row in
      (
        place: try row.place(in: asked.count),
        taken: try (row["page_number"] as Int?).map { _ in try StoredPost(row) },
        isHeld: try row["is_held"] as Bool
      )
    }
    var obstacles: [Int: Obstacle] = [:]
    for row in rows {
      obstacles[asked[row.place].index] = row.taken.map { Obstacle.taken($0) } ?? (row.isHeld ? .held : nil)
    }
    return obstacles
  }

  /// Prepares what the change makes of the post. Returns the answer if there is nothing to do.
  private func prepare(_ one: inout Beginning) throws -> Answer? {
    // A post that can't be read could not be changed, and would block the changes behind it.
    let found = try (one.placed.post ?? one.placed.removed?.post)?.post(at: server)
    switch one.kind {
    case .removal(let removal): one.removal = removal
    case .edit(let edit):
      guard let stored = one.placed.post, var post = found else { return .unknown }
      let keys = edit.apply(to: &post)
      if keys.isEmpty { return .nothing(stored) }
      let document = try post.document(at: server)
      one.edit = (document, PostgresWords.vector(of: post), keys)
      one.placed.post = StoredPost(
        pageNumber: stored.pageNumber, createdAt: stored.createdAt, document: document)
    case .purge, .restoration, .move: break
    }
    return nil
  }

  /// Writes the changes, and returns them in the order of `beginnings`.
  private func write(_ beginnings: [Beginning], of call: Call) throws -> [Open] {
    if beginnings.isEmpty { return [] }
    var removals: [(placed: Placed, removal: Removal)] = []
    var edits: [(intent: Int64, document: String, words: String?, isSaid: Bool)] = []
    var restored: [Int64] = []
    for one in beginnings {
      switch one.kind {
      case .removal(let removal): removals.append((one.placed, removal))
      case .restoration: restored.append(one.placed.intent)
      case .edit:
        guard let edit = one.edit else { continue }
        edits.append(
          (
            one.placed.intent, edit.document, edit.words,
            edit.keys.contains(where: PostEdit.wordKeys.contains)
          ))
      case .purge, .move: break
      }
    }
    let numbers = try writeDown(beginnings, of: call)
    if !restored.isEmpty {
      try tx.run("UPDATE reel.removal SET is_stored = true WHERE intent = ANY($1)", [.ints(restored)])
    }
    try replaceDocuments(edits.map { ($0.intent, $0.document) })
    try replaceWords(edits.filter(\.isSaid).map { ($0.intent, $0.words) })
    try remove(removals)
    try count(
      removals.map { Counted(store: $0.placed.store, posts: -1, bytes: -$0.placed.size) },
      revising: !removals.isEmpty || !edits.isEmpty)
    return try beginnings.map { one in
      guard let number = numbers[one.placed.intent] else {
        throw PostgresError(.unexpected, "no number for a new change")
      }
      return Open(
        number: number, kind: one.kind.sort, isDone: false, other: one.target, otherName: one.targetName,
        keys: one.edit.map { PostEdit.document(ofKeys: $0.keys) }, owner: me, claim: call.begun,
        isOwnerAlive: true)
    }
  }

  /// Inserts the changes, and returns their numbers by intent.
  private func writeDown(_ beginnings: [Beginning], of call: Call) throws -> [Int64: Int64] {
    let rows = try tx.rows(
      """
      INSERT INTO reel.change (intent, kind, destination, keys, owner, claim)
      SELECT r.intent, r.kind, r.target, r.keys, $5, $6
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) WITH ORDINALITY
        AS r(intent, kind, target, keys, n) ORDER BY r.n
      RETURNING intent, number
      """,
      [
        .ints(beginnings.map(\.placed.intent)), .ints(beginnings.map { Int64($0.kind.sort.rawValue) }),
        .ints(beginnings.map(\.target)),
        .texts(beginnings.map { $0.edit.map { PostEdit.document(ofKeys: $0.keys) } }), .int(me),
        .int(call.begun),
      ]
    ) { (try $0[0] as Int64, try $0[1] as Int64) }
    return Dictionary(rows) { first, _ in first }
  }

  /// Takes posts out of the feed, with their searched words. The events of their
  /// publication need not be delivered any more.
  private func remove(_ removals: [(placed: Placed, removal: Removal)]) throws {
    if removals.isEmpty { return }
    try tx.run(
      """
      WITH asked AS (
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
          AS r(intent, reason, removed_by, removed_at, kept_until)
      ), gone AS (
        DELETE FROM reel.post p USING asked r WHERE p.intent = r.intent
        RETURNING p.intent, p.page_number, p.attempt, p.created_at, p.document, r.reason, r.removed_by, r.removed_at,
          r.kept_until
      ), told AS (
        DELETE FROM reel.outbox x USING gone WHERE x.page_number = gone.page_number
      ), unsaid AS (
        DELETE FROM reel.said w USING asked r WHERE w.intent = r.intent
      )
      INSERT INTO reel.removal (intent, page_number, attempt, created_at, document, reason, removed_by, removed_at,
        kept_until)
      SELECT * FROM gone
      """,
      [
        .ints(removals.map(\.placed.intent)), .texts(removals.map(\.removal.reason)),
        .texts(removals.map(\.removal.by)), .ints(removals.map(\.removal.at.milliseconds)),
        .ints(removals.map { $0.removal.keptUntil?.milliseconds }),
      ])
  }

  // MARK: Step 2: finish

  /// Completes changes, and returns their posts; nil for changes that are no longer this owner's. A change that an
  /// earlier transaction has finished, with its answer lost, stays as it is.
  func finish(_ changes: [OpenChange]) throws -> [StoredPost?] {
    if changes.isEmpty { return [] }
    try lockVideos(of: changes.filter(\.bringsPost).map(\.post.id))
    try lock(changes.map(\.post.id))
    let found = try find(changes.map(\.post.id))
    var finished = [StoredPost?](repeating: nil, count: changes.count)
    let mine = zip(changes, found).map { change, placed in
      placed.flatMap { placed in
        placed.open.flatMap {
          $0.number == change.number && $0.owner == me ? (placed: placed, open: $0) : nil
        }
      }
    }
    let coming: [Coming?] = mine.map { one in
      guard let one, !one.open.isDone else { return nil }
      return switch one.open.kind {
      case .restoration: Coming(.restoration, one.placed, to: nil)
      case .move: Coming(.move(to: Destination(one.open.otherName ?? "")), one.placed, to: one.open.other)
      case .removal, .purge, .edit: nil
      }
    }
    let obstacles = try self.obstacles(coming, othersMayCome: true)
    // When the posts that come with this batch were published.
    var arrived: [Publication: [Int64]] = [:]
    var batch = Finishing()
    for (index, change) in changes.enumerated() {
      guard let one = mine[index] else { continue }
      let publication = coming[index]?.publication
      let others = publication.flatMap { arrived[$0] } ?? []
      if obstacles[index] != nil || others.contains(where: { $0 >= coming[index]?.since ?? .min }) {
        // The objects that a restoration has stored are removed once the removal no longer keeps them. A move can be
        // undone by any process.
        if one.open.kind == .restoration {
          batch.struckOut.append(one.open.number)
        } else {
          batch.released.append(one.open.number)
        }
        continue
      }
      finished[index] = try add(change, one.placed, one.open, to: &batch)
      if let publication, let post = one.placed.post ?? one.placed.removed?.post {
        arrived[publication, default: []].append(post.createdAt)
      }
    }
    if !batch.struckOut.isEmpty {
      try tx.run("DELETE FROM reel.change WHERE number = ANY($1)", [.ints(batch.struckOut)])
    }
    if !batch.released.isEmpty {
      try tx.run("UPDATE reel.change SET owner = NULL WHERE number = ANY($1)", [.ints(batch.released)])
    }
    try forget(batch.unstored)
    try takeBack(batch.restored)
    try transfer(batch.moved)
    try replaceWords(batch.restored.map { ($0.placed.intent, $0.words) })
    try replaceDocuments(batch.moved.map { ($0.placed.intent, $0.document) })
    if !batch.done.isEmpty {
      try tx.run(
        """
        UPDATE reel.change c SET is_done = true, destination = r.other FROM unnest($1::bigint[], $2::bigint[]) AS r(number, other)
        WHERE c.number = r.number
        """, [.ints(batch.done.map(\.number)), .ints(batch.done.map(\.other))])
    }
    try count(
      batch.restored.map { Counted(store: $0.placed.store, posts: 1, bytes: $0.placed.size) }
        + batch.moved.map { Counted(store: $0.placed.store, posts: -1, bytes: -$0.placed.size) }
        + batch.moved.map { Counted(store: $0.target, posts: 1, bytes: $0.placed.size) },
      revising: !batch.restored.isEmpty || !batch.moved.isEmpty)
    return finished
  }

  /// What is to be written for changes that are completed.
  private struct Finishing {
    /// Intents whose objects are gone.
    var unstored: [Int64] = []
    var restored: [(placed: Placed, document: String, words: String?)] = []
    var moved: [(placed: Placed, target: Int64, document: String)] = []
    var done: [(number: Int64, other: Int64?)] = []
    /// Changes that are not completed.
    var struckOut: [Int64] = []
    var released: [Int64] = []
  }

  /// Adds a change to the batch, and returns its post as it will be.
  private func add(
    _ change: OpenChange, _ placed: Placed, _ open: Open, to batch: inout Finishing
  ) throws -> StoredPost? {
    var changed: StoredPost?
    switch open.kind {
    case .removal, .purge:
      guard let removed = placed.removed else { return nil }
      if open.kind == .purge || removed.removal.keptUntil == nil { batch.unstored.append(placed.intent) }
      changed = removed.post
    case .restoration where !open.isDone:
      guard let removed = placed.removed else { return nil }
      let post = shown(change.post, placed)
      let document = try post.document(at: server)
      batch.restored.append((placed, document, PostgresWords.vector(of: post)))
      changed = removed.post.saying(document)
    case .move where !open.isDone:
      guard let post = placed.post, let target = open.other else { return nil }
      let document = try shown(change.post, placed).document(at: server)
      batch.moved.append((placed, target, document))
      changed = post.saying(document)
    case .restoration, .move, .edit: changed = placed.post
    }
    if !open.isDone { batch.done.append((open.number, open.kind == .move ? placed.store : nil)) }
    return changed
  }

  /// Returns the post, which names a poster only if that is stored.
  private func shown(_ post: Post, _ placed: Placed) -> Post {
    var post = post
    if !placed.showsPoster { post.show(nil) }
    return post
  }

  private func forget(_ intents: [Int64]) throws {
    if intents.isEmpty { return }
    try tx.run("UPDATE reel.removal SET is_stored = false WHERE intent = ANY($1)", [.ints(intents)])
    try tx.run(
      """
      UPDATE reel.poster SET state = 2, owner = NULL, changed_at = \(PostgresSchema.now)
      WHERE intent = ANY($1) AND state <> 2
      """, [.ints(intents)])
  }

  /// Puts these posts back in their old places in the feed.
  private func takeBack(_ restored: [(placed: Placed, document: String, words: String?)]) throws {
    if restored.isEmpty { return }
    try tx.run(
      """
      WITH back AS (
        DELETE FROM reel.removal m USING unnest($1::bigint[], $2::text[]) AS r(intent, document) WHERE m.intent = r.intent
        RETURNING m.page_number, m.intent, m.attempt, m.created_at, r.document
      )
      INSERT INTO reel.post (page_number, intent, attempt, created_at, document) SELECT * FROM back
      """, [.ints(restored.map(\.placed.intent)), .texts(restored.map(\.document))])
  }

  /// Moves the intents and their posters to the target stores.
  private func transfer(_ moved: [(placed: Placed, target: Int64, document: String)]) throws {
    if moved.isEmpty { return }
    let (intents, targets) = (moved.map(\.placed.intent), moved.map(\.target))
    try tx.run(
      """
      INSERT INTO reel.departure (intent, destination)
      SELECT number, destination FROM reel.intent WHERE number = ANY($1) ON CONFLICT DO NOTHING
      """, [.ints(intents)])
    try tx.run(
      """
      DELETE FROM reel.departure v USING unnest($1::bigint[], $2::bigint[]) AS r(intent, target)
      WHERE v.intent = r.intent AND v.destination = r.target
      """, [.ints(intents), .ints(targets)])
    try tx.run(
      """
      UPDATE reel.intent i SET destination = r.target, ordinal = coalesce((
        SELECT max(there.ordinal) + 1 FROM reel.intent there
        WHERE there.digest = i.digest AND there.destination + 0 = r.target AND there.author = i.author), 0)
      FROM unnest($1::bigint[], $2::bigint[]) AS r(intent, target) WHERE i.number = r.intent
      """, [.ints(intents), .ints(targets)])
    // A poster that no post shows yet stays where it was, and `reel doctor` removes it.
    try tx.run(
      "UPDATE reel.poster SET state = 2, owner = NULL WHERE intent = ANY($1) AND state = 0", [.ints(intents)])
    try tx.run(
      """
      UPDATE reel.poster p SET destination = r.target FROM unnest($1::bigint[], $2::bigint[]) AS r(intent, target)
      WHERE p.intent = r.intent AND p.state = 1
      """, [.ints(intents), .ints(targets)])
  }

  // MARK: Changes that dead processes left

  func adopt(after number: Int64, limit: Int, of call: Call) throws -> [Begun] {
    let posts = try tx.rows(
      """
      SELECT i.post_id FROM reel.change c JOIN reel.intent i ON i.number = c.intent
      WHERE c.number > $1 AND (c.owner IS DISTINCT FROM $2 AND \(Self.isAbandoned) OR c.owner = $2 AND c.claim = $3)
      ORDER BY c.number LIMIT $4
      """, [.int(number), .int(me), .int(call.adopted), .int(Int64(max(0, limit)))]
    ) { PostID(bytes: try $0[0]) }.compactMap(\.self)
    if posts.isEmpty { return [] }
    try lock(posts)
    let left = try find(posts).compactMap { placed -> (placed: Placed, open: Open)? in
      guard let placed, let open = placed.open, !isHeld(open, in: call) else { return nil }
      return (placed, open)
    }
    let taken = try adopt(left.map(\.open), of: call)
    let mine = left.filter { taken.contains($0.open.number) }
    return try zip(mine, objects(of: mine.map(\.placed.intent))).map { one, objects in
      try begun(one.placed, one.open, one.placed.removed?.removal, objects)
    }
  }

  /// A condition on a change `c` that no living process holds.
  static let isAbandoned =
    "NOT EXISTS (SELECT 1 FROM reel.owner o WHERE o.id = c.owner AND o.lease_until > \(PostgresSchema.now))"

  /// Takes changes over, and returns the numbers of those for which that succeeded.
  private func adopt(_ changes: [Open], of call: Call) throws -> Set<Int64> {
    if changes.isEmpty { return [] }
    return Set(
      try tx.rows(
        """
        UPDATE reel.change c SET owner = $4, claim = $5
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r(number, owner, claim)
        WHERE c.number = r.number AND c.owner IS NOT DISTINCT FROM r.owner AND c.claim = r.claim
        RETURNING c.number
        """,
        [
          .ints(changes.map(\.number)), .ints(changes.map(\.owner)), .ints(changes.map(\.claim)), .int(me),
          .int(call.adopted),
        ]
      ) { try $0[0] as Int64 })
  }

  // MARK: Queries

  private func isHeld(_ open: Open?, in call: Call) -> Bool {
    guard let open else { return false }
    // An earlier transaction of this very call has taken it over, but its answer was lost.
    if open.owner == me, open.claim == call.adopted { return false }
    return IntentHolding(owner: open.owner, claimant: me) { _ in open.isOwnerAlive } == .held
  }

  /// Locks these posts. Until this transaction ends, no other can change them, or show posters of them.
  private func lock(_ posts: [PostID]) throws {
    try tx.run(
      "SELECT FROM reel.intent WHERE post_id = ANY($1) ORDER BY number FOR NO KEY UPDATE",
      [.byteStrings(posts.map(\.bytes))])
  }

  /// Locks the posts' videos, as ``PostgresPublishing/lock(_:)`` does.
  private func lockVideos(of posts: [PostID]) throws {
    if posts.isEmpty { return }
    try tx.run(
      PostgresPublishing.locking("SELECT digest, author FROM reel.intent WHERE post_id = ANY($1)"),
      [.byteStrings(posts.map(\.bytes))])
  }

  private func find(_ posts: [PostID]) throws -> [Placed?] {
    var found = [Placed?](repeating: nil, count: posts.count)
    for (place, placed) in try tx.rows(
      """
      SELECT r.n, i.number, i.destination, d.name AS store, i.digest, i.author, i.size, p.page_number, p.created_at,
        p.document, \(PostgresRemovals.columns), c.number AS change, c.kind, c.is_done, c.destination AS other,
        t.name AS other_name, c.keys, c.owner, c.claim, coalesce(o.lease_until > \(PostgresSchema.now), false) AS owner_lives,
        EXISTS (SELECT 1 FROM reel.poster s WHERE s.intent = i.number AND s.state = 1) AS shows_poster
      FROM unnest($1::bytea[]) WITH ORDINALITY AS r(id, n)
      CROSS JOIN LATERAL (SELECT * FROM reel.intent WHERE post_id = r.id OFFSET 0) i
      CROSS JOIN LATERAL (SELECT name FROM reel.destination WHERE id = i.destination OFFSET 0) d
      LEFT JOIN LATERAL (SELECT * FROM reel.post WHERE intent = i.number OFFSET 0) p ON true
      LEFT JOIN LATERAL (SELECT * FROM reel.removal WHERE intent = i.number OFFSET 0) m ON true
      LEFT JOIN LATERAL (SELECT * FROM reel.change WHERE intent = i.number OFFSET 0) c ON true
      LEFT JOIN LATERAL (SELECT name FROM reel.destination WHERE id = c.destination OFFSET 0) t ON true
      LEFT JOIN LATERAL (SELECT lease_until FROM reel.owner WHERE id = c.owner OFFSET 0) o ON true
      """, [.byteStrings(posts.map(\.bytes))], { (try $0.place(in: posts.count), try Placed($0)) })
    { found[place] = placed }
    return found
  }

  /// Returns the video of each intent, and every poster that was named for it and not given up.
  private func objects(of intents: [Int64]) throws -> [[ExaminedObject]] {
    var objects = [[ExaminedObject]](repeating: [], count: intents.count)
    if intents.isEmpty { return objects }
    for (place, object) in try tx.rows(
      """
      SELECT r.n, i.post_id, k.object_key, k.size, k.digest, false AS is_given_up, true AS is_published,
        false AS is_changing, NULL::boolean AS is_stored, NULL::bigint AS owner, false AS lives, k.poster_state, k.changed_at
      FROM unnest($1::bigint[]) WITH ORDINALITY AS r(intent, n)
      CROSS JOIN LATERAL (SELECT * FROM reel.intent WHERE number = r.intent OFFSET 0) i
      CROSS JOIN LATERAL (
        SELECT 0 AS number, i.object_key, i.size, i.digest, NULL::bigint AS poster_state, i.created_at AS changed_at
        UNION ALL
        SELECT number, object_key, size, digest, state, changed_at FROM reel.poster WHERE intent = i.number AND state < 2
      ) k ORDER BY r.n, k.number
      """, [.ints(intents)], { (try $0.place(in: intents.count), try ExaminedObject($0)) })
    { objects[place].append(object) }
    return objects
  }

  private func begun(
    _ placed: Placed, _ open: Open, _ removal: Removal?, _ objects: [ExaminedObject]
  ) throws -> Begun {
    guard let post = placed.post ?? placed.removed?.post else {
      throw PostgresError(.unexpected, "a change of no post")
    }
    return Begun(open: open, post: post, removal: removal, storeName: placed.storeName, objects: objects)
  }

  // MARK: Writing

  private func replaceDocuments(_ documents: [(intent: Int64, document: String)]) throws {
    if documents.isEmpty { return }
    try tx.run(
      """
      UPDATE reel.post p SET document = r.document FROM unnest($1::bigint[], $2::text[]) AS r(intent, document)
      WHERE p.intent = r.intent
      """, [.ints(documents.map(\.intent)), .texts(documents.map(\.document))])
  }

  /// Replaces the searched words of posts; nil for none.
  private func replaceWords(_ words: [(intent: Int64, words: String?)]) throws {
    if words.isEmpty { return }
    try tx.run(
      """
      WITH asked AS (SELECT * FROM unnest($1::bigint[], $2::text[]) AS r(intent, words)), unsaid AS (
        DELETE FROM reel.said w USING asked r WHERE w.intent = r.intent AND r.words IS NULL
      )
      INSERT INTO reel.said (intent, words) SELECT intent, words::tsvector FROM asked WHERE words IS NOT NULL
      ON CONFLICT (intent) DO UPDATE SET words = excluded.words
      """, [.ints(words.map(\.intent)), .texts(words.map(\.words))])
  }

  /// Updates the counters: last of all, and the feed before the stores, as publishing does, because all who publish
  /// wait for these rows.
  /// - Parameter revising: whether posts changed that were in the feed, or are.
  private func count(_ counted: [Counted], revising: Bool) throws {
    if revising { try tx.run("UPDATE reel.feed SET revision = revision + 1 WHERE id = 1") }
    if counted.isEmpty { return }
    try tx.run(
      """
      UPDATE reel.destination d SET posts = greatest(0, d.posts + s.posts), bytes = greatest(0, d.bytes + s.bytes)
      FROM (
        SELECT store, sum(posts)::bigint AS posts, sum(bytes)::bigint AS bytes
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r(store, posts, bytes) GROUP BY store
      ) s WHERE d.id = s.store
      """,
      [.ints(counted.map(\.store)), .ints(counted.map(\.posts)), .ints(counted.map(\.bytes))])
  }

  /// The posts and bytes that a store gains or loses.
  private struct Counted {
    let (store, posts, bytes): (Int64, Int64, Int64)

    init(store: Int64, posts: Int64, bytes: Int64) {
      (self.store, self.posts, self.bytes) = (store, posts, bytes)
    }
  }
}

extension PostgresChanges.Placed {
  var `where`: ChangeDecision.Place {
    if post != nil { return .feed }
    guard let removed else { return .nowhere }
    return removed.isStored ? .kept : .gone
  }

  fileprivate init(_ row: PostgresRow) throws {
    let pageNumber: Int? = try row["page_number"]
    self.init(
      intent: try row["number"], store: try row["destination"], storeName: try row["store"],
      digest: try row["digest"], author: try row["author"], size: try row["size"],
      showsPoster: try row["shows_poster"],
      post: try pageNumber.map { _ in try PostgresPublishing.StoredPost(row) },
      removed: try PostgresRemovals.stored(row), open: try PostgresChanges.Open(row))
  }
}

extension OpenChange {
  /// Whether finishing it brings the post into a store, or back into the feed of one.
  fileprivate var bringsPost: Bool {
    switch kind {
    case .restoration, .move(_, moved: false): true
    case .removal, .purge, .edit, .move: false
    }
  }
}

extension PostgresChanges.Open {
  /// Nil for a row without a change.
  fileprivate init?(_ row: PostgresRow) throws {
    guard let number: Int64 = try row["change"] else { return nil }
    guard let kind = ChangeKind(rawValue: try row["kind"]) else {
      throw PostgresError(.unexpected, "a change of an unknown kind")
    }
    self.init(
      number: number, kind: kind, isDone: try row["is_done"], other: try row["other"],
      otherName: try row["other_name"], keys: try row["keys"], owner: try row["owner"],
      claim: try row["claim"], isOwnerAlive: try row["owner_lives"])
  }
}

extension PostgresChanges.Begun {
  func change(at server: String) throws(CatalogError) -> OpenChange {
    OpenChange(
      number: open.number, open.kind, isDone: open.isDone, post: try post.post(at: server), removal: removal,
      at: Destination(storeName), other: open.otherName.map { Destination($0) }, keys: open.keys,
      objects: objects)
  }
}
