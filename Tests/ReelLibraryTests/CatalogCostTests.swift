import ReelCore
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelLibrary

/// The cost of a post to the database with few and with many posts in the catalog: a million in the long form.
@Suite(.besidePostgres, .notQuick) struct CatalogCostTests {
  @Test(.shortTime) func aPostCostsTheSameHoweverManyThereAre() async throws {
    let (few, many) = TestForm.isLong ? (20_000, 1_000_000) : (1_000, 10_000)
    let stage = try await PostgresStage()
    let pool = try stage.database.pool { $0.connections = 1 }
    let catalog = try await open(pool, stage)
    var cost = Cost(backend: try BackendCost(pool), catalog: catalog)
    let early = try cost.publish(few)
    let earlyAgain = try cost.askAgain()
    try fill(pool, from: few + 1, to: many)
    let late = try cost.publish(few)
    let lateAgain = try cost.askAgain()
    print("published: early \(early), behind \(many) \(late); known: early \(earlyAgain), late \(lateAgain)")
    try await catalog.close()
    // Not 1: an index of a million entries is a level deeper than one of a thousand.
    #expect(late.pages <= early.pages * 4 / 3)
    #expect(lateAgain.pages <= earlyAgain.pages * 4 / 3)
    // Statements per batch of 32: the look-up (2), T1 (5), and T2 with what is remembered (4).
    #expect(late.statements * 32 <= 12 && lateAgain.statements * 32 <= 3)
  }

  private func open(_ pool: PostgresPool, _ stage: PostgresStage) async throws -> PostgresCatalog {
    try await PostgresCatalog.open(
      pool, clock: stage.clock, postClock: stage.clock, lease: .seconds(3600), heartbeat: .seconds(86_400),
      host: nil)
  }

  @Test func aPostAloneIsElevenStatements() async throws {
    let stage = try await PostgresStage()
    let pool = try stage.database.pool { $0.connections = 1 }
    let catalog = try await open(pool, stage)
    var cost = Cost(backend: try BackendCost(pool), catalog: catalog)
    // A connection plans each statement once, and the store gets its number.
    _ = try cost.publish(10, atOnce: 1)
    let alone = try cost.publish(100, atOnce: 1)
    print("a post alone:", alone)
    #expect(alone.statements <= 11.1)
    #expect(try await catalog.damage().isEmpty)
    try await catalog.close()
  }

  @Test(.shortTime) func aRemovalIsAFractionOfAStatement() async throws {
    let stage = try await PostgresStage()
    let pool = try stage.database.pool { $0.connections = 1 }
    let catalog = try await open(pool, stage)
    var cost = Cost(backend: try BackendCost(pool), catalog: catalog)
    _ = try cost.publish(2048)
    let posts = try await catalog.posts(from: 1, count: 2048).map(\.id)
    let removal = PostChange.Kind.removal(Removal(at: stage.clock.now()))
    func remove(_ posts: ArraySlice<PostID>) throws -> BackendCost.PerItem {
      try cost.backend.each(of: posts.count) {
        for start in stride(from: posts.startIndex, to: posts.endIndex, by: 256) {
          let answers = try catalog.begin(posts[start..<start + 256].map { PostChange($0, removal) })
          let open = answers.compactMap { if case .begun(let open) = $0 { open } else { nil } }
          try #require(open.count == 256)
          _ = try catalog.finish(open)
          try catalog.strikeOut(open)
        }
      }
    }
    try fill(pool, from: 2049, to: 10_000)
    let (early, late) = (try remove(posts[..<1024]), try remove(posts[1024...]))
    print("removed of 10,000: early \(early), late \(late)")
    // Statements per batch of 256: begin (9), finish (7), and delete.
    #expect(late.statements * 256 <= 18)
    #expect(late.pages <= early.pages * 4 / 3)
    #expect(try await catalog.status().posts == 10_000 - 2048)
    #expect(try await catalog.damage().isEmpty)
    try await catalog.close()
  }

  /// Inserts posts like the first one, within a second instead of minutes.
  private func fill(_ pool: PostgresPool, from first: Int, to last: Int) throws {
    func bytes(_ count: Int) -> String {
      "substring(sha256(convert_to(\(count) || ' ' || i, 'UTF8')) FROM 1 FOR \(count))"
    }
    try pool.withConnection { connection in
      for statement in [
        """
        INSERT INTO reel.intent (number, post_id, destination, object_key, digest, author, ordinal, size, created_at)
          OVERRIDING SYSTEM VALUE
          SELECT i, \(bytes(16)), 1, encode(\(bytes(11)), 'hex') || '.mp4', \(bytes(32)), '', 0, 1000, 1700000000000 + i
          FROM generate_series(\(first), \(last)) AS n(i)
        """,
        "SELECT setval(pg_get_serial_sequence('reel.intent', 'number'), \(last))",
        """
        INSERT INTO reel.post (page_number, intent, attempt, created_at, document)
          SELECT i, i, 1, 1700000000000 + i, (SELECT document FROM reel.post WHERE page_number = 1)
          FROM generate_series(\(first), \(last)) AS n(i)
        """,
        """
        INSERT INTO reel.said SELECT i, to_tsvector('simple', 'video number ' || i)
          FROM generate_series(\(first), \(last)) AS n(i)
        """,
        """
        INSERT INTO reel.known_file SELECT 'here', 1, i, 1000, 1, 1, \(bytes(32))
          FROM generate_series(\(first), \(last)) AS n(i)
        """,
        "UPDATE reel.feed SET last_page_number = \(last)",
        "UPDATE reel.destination SET posts = \(last), bytes = 1000 * \(last)",
        // Autovacuum does the same within a minute.
        "VACUUM ANALYZE reel.intent, reel.post, reel.said, reel.known_file, reel.attempt",
      ] {
        try connection.execute(statement)
      }
    }
  }

  private struct Cost {
    let backend: BackendCost
    let catalog: PostgresCatalog
    let sketch = Sketch()
    private(set) var requests: [ClaimRequest] = []
    private var inode: UInt64 = 0

    init(backend: BackendCost, catalog: PostgresCatalog) { (self.backend, self.catalog) = (backend, catalog) }

    /// Publishes new files as a run does: looks them up, claims, completes, and remembers them.
    mutating func publish(_ count: Int, atOnce most: Int = 32) throws -> BackendCost.PerItem {
      requests = (0..<count).map { _ in sketch.request(sketch.publication()) }
      let firstInode = inode
      inode += UInt64(count)
      return try backend.each(of: count) {
        for start in stride(from: 0, to: count, by: most) {
          let batch = Array(requests[start..<min(start + most, count)])
          try #require(try ask(batch) == 0)
          let intents = try catalog.claim(batch, noting: []).compactMap { try $0.get().intent }
          let notes = intents.enumerated().map { index, intent in
            CatalogNote.digest(
              intent.publication.digest,
              of: FileIdentity(
                device: 1, inode: firstInode + UInt64(start + index), size: 3, modifiedAt: 4, changedAt: 5))
          }
          let posts = try catalog.complete(
            intents.map {
              Completion(
                intent: $0, draft: sketch.draft(caption: "a video of the sea"), stored: sketch.stored($0))
            }, noting: notes)
          try #require(posts.count == batch.count && posts.allSatisfy { (try? $0.get()) != nil })
        }
      }
    }

    /// Looks up the files of the last call again. All are known.
    func askAgain() throws -> BackendCost.PerItem {
      try backend.each(of: requests.count) {
        for start in stride(from: 0, to: requests.count, by: 32) {
          let batch = Array(requests[start..<min(start + 32, requests.count)])
          try #require(try ask(batch) == batch.count)
        }
      }
    }

    /// Returns how many of them have posts.
    private func ask(_ batch: [ClaimRequest]) throws -> Int {
      try catalog.contents(
        of: batch.map { ContentQuestion(digest: $0.publication.digest, publication: $0.publication) }
      ).count { $0.post != nil }
    }
  }
}
