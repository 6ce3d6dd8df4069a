import FoundationEssentials
import ReelCore

extension PostgresCatalog: PostChanging {
  package func begin(_ changes: [PostChange]) throws(CatalogError) -> [ChangeAnswer] {
    let call = PostgresChanges.Call()
    let answers = try changing(owing: .begun(call)) { steps in try steps.begin(changes, of: call) }
    for _ in answers { Failpoint.changeCommitted.pass() }
    return try answers.map { answer throws(CatalogError) in
      switch answer {
      case .begun(let begun): .begun(try begun.change(at: server))
      case .unfinished(let begun): .unfinished(try begun.change(at: server))
      case .busy: .busy
      case .nothing(let stored): .nothing(try post(stored))
      case .removed(let removed): .removed(try removed.post(at: server))
      case .unknown: .unknown
      case .taken(let stored): .taken(try post(stored))
      }
    }
  }

  package func noteFreeNames(of change: OpenChange) throws(CatalogError) -> Bool {
    // Not as one statement: it could reach the server late, and apply to a change that has been begun again meanwhile.
    let noted = try changing { steps in
      try steps.tx.run(
        "UPDATE reel.change SET keys = $1 WHERE number = $2 AND owner = $3",
        [change.freeNamesDocument.map { .text($0) } ?? .null, .int(change.number), .int(steps.me)])
    }
    Failpoint.changeNoted.pass()
    return noted > 0
  }

  package func finish(_ changes: [OpenChange]) throws(CatalogError) -> [Post?] {
    let posts = try changing { steps in try steps.finish(changes) }
    for _ in posts { Failpoint.changeFinishedCommitted.pass() }
    return try posts.map { stored throws(CatalogError) in try stored.map(post) }
  }

  package func strikeOut(_ changes: [OpenChange]) throws(CatalogError) {
    if changes.isEmpty { return }
    let me = try writable().owner.id
    // A number is never reused, so it does no harm if the server executes this again.
    try CatalogError.mapping(at: server) {
      _ = try pool.transaction(ofOneStatement: true) { tx in
        try tx.run(
          "DELETE FROM reel.change WHERE number = ANY($1) AND owner = $2",
          [.ints(changes.map(\.number)), .int(me)])
      }
    }
  }

  package func areHeld(_ changes: [OpenChange]) throws(CatalogError) -> [Bool] {
    let me = try writable().owner.id
    let mine: Set<Int64> = Set(
      try lookUp { db in
        try db.rows(
          "SELECT number FROM reel.change WHERE number = ANY($1) AND owner = $2",
          [.ints(changes.map(\.number)), .int(me)]
        ) { try $0[0] as Int64 }
      })
    return changes.map { mine.contains($0.number) }
  }

  package func release(_ changes: [OpenChange]) throws(CatalogError) {
    if changes.isEmpty { return }
    // Not as one statement: it could reach the server late, and release what has been taken again meanwhile.
    let debt = PostgresDebt.changes(changes.map(\.number))
    try changing(owing: debt) { steps in try debt.pay(in: steps.tx, by: steps.me) }
  }

  package func unfinishedChanges(after number: Int64, limit: Int) throws(CatalogError) -> [OpenChange] {
    let call = PostgresChanges.Call()
    return try changing(owing: .begun(call)) { steps in
      try steps.adopt(after: number, limit: limit, of: call)
    }
    .map { begun throws(CatalogError) in try begun.change(at: server) }
  }

  package func abandonedChanges() throws(CatalogError) -> [(post: PostID, kind: ChangeKind)] {
    try lookUp { db in
      try db.rows(
        """
        SELECT i.post_id, c.kind FROM reel.change c JOIN reel.intent i ON i.number = c.intent
        WHERE \(PostgresChanges.isAbandoned) ORDER BY c.number
        """
      ) { row in
        guard let post = PostID(bytes: try row[0]), let kind = ChangeKind(rawValue: try row[1]) else {
          throw PostgresError(.unexpected, "a change of an unknown kind")
        }
        return (post, kind)
      }
    }
  }

  package func removedPost(_ id: PostID) throws(CatalogError) -> RemovedPost? {
    try removed("JOIN reel.intent i ON i.number = m.intent WHERE i.post_id = $1", [.bytes(id.bytes)]).first
  }

  package func removedPosts(of digest: ContentDigest) throws(CatalogError) -> [RemovedPost] {
    try removed(
      """
      JOIN (
        SELECT number FROM reel.intent WHERE digest = $1 UNION SELECT intent FROM reel.arrival WHERE digest = $1
      ) i ON i.number = m.intent ORDER BY m.page_number
      """, [.bytes(digest.bytes)])
  }

  package func readings(besides reel: String) throws(CatalogError) -> Int {
    try lookUp { db in
      try db.value("SELECT count(*) FROM reel.reading WHERE reel <> $1", [.text(reel)], as: Int.self)
    } ?? 0
  }

  package func forgetReadings(besides reel: String, atMost limit: Int) throws(CatalogError) -> Int {
    try changing { steps in
      try steps.tx.run(
        """
        DELETE FROM reel.reading WHERE ctid = ANY(ARRAY(
          SELECT ctid FROM reel.reading WHERE reel <> $1 LIMIT $2))
        """, [.text(reel), .int(Int64(limit))])
    }
  }

  package func forgetFailures() throws(CatalogError) -> Int {
    try changing { steps in try steps.tx.run("DELETE FROM reel.failure") }
  }

  package func expiredPosts(
    at moment: Date, after pageNumber: Int, limit: Int
  ) throws(CatalogError) -> [RemovedPost] {
    try removed(
      """
      WHERE m.is_stored AND m.page_number > $1 AND coalesce(m.kept_until, 0) <= $2
        AND NOT EXISTS (SELECT 1 FROM reel.change c WHERE c.intent = m.intent)
      ORDER BY m.page_number LIMIT $3
      """, [.int(Int64(pageNumber)), .int(moment.milliseconds), .int(Int64(max(0, limit)))])
  }

  private func removed(
    _ which: String, _ values: [PostgresValue]
  ) throws(CatalogError) -> [RemovedPost] {
    try lookUp { db in
      try db.rows("SELECT \(PostgresRemovals.columns) FROM reel.removal m \(which)", values) {
        try PostgresRemovals.stored($0)
      }
    }.compactMap(\.self).map { removed throws(CatalogError) in try removed.post(at: server) }
  }

  /// Runs `body` in a transaction. If that violates a unique constraint, another process has drawn the same number for
  /// a publication at the same moment; so `body` runs again, which then sees that number.
  /// - Parameter debt: what is owed if this throws.
  @discardableResult
  private func changing<Value>(
    owing debt: PostgresDebt? = nil, _ body: (PostgresChanges) throws -> Value
  ) throws(CatalogError) -> Value {
    let writing = try writable()
    func once() throws -> Value {
      try pool.transaction { tx in
        try body(PostgresChanges(tx: tx, me: writing.owner.id, server: server))
      }
    }
    do throws(CatalogError) {
      return try CatalogError.mapping(at: server) {
        do {
          return try once()
        } catch let error as PostgresError where error.isUniqueViolation {
          return try once()
        }
      }
    } catch {
      if let debt { writing.writer.owe(debt) }
      throw error
    }
  }
}
