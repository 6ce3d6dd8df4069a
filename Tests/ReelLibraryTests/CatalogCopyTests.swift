import Foundation
import ReelCatalogCopy
import ReelCore
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelLibrary
@testable import ReelPostgres

@Suite(.besidePostgres) struct CatalogCopyTests {
  private static let host = "this machine"

  private func copy(_ source: any CatalogCopySource, _ target: any CatalogCopyTarget) throws
    -> CatalogCopy.Result
  {
    try CatalogCopy(from: source, to: target).run()
  }

  private func source(_ library: LibraryFolder) -> LibraryCopySource {
    LibraryCopySource(library, host: Self.host)
  }

  /// A library with some dozens of posts whose processes have ended.
  private func randomLibrary(
    _ seed: UInt64, steps: Int = 60
  ) async throws -> (stage: SQLiteStage, made: RandomCatalog) {
    let stage = try await SQLiteStage()
    var made = RandomCatalog(seed: seed)
    let catalog = try await stage.openSQLite(host: Self.host)
    let own = Destination(CanonicalPath(resolving: stage.temporary.library.mediaPath).fileURL)
    try await made.fill(
      catalog, steps: steps,
      stores: [own, Destination("s3://bucket/prefix"), Destination("file:///elsewhere")])
    _ = try await catalog.status()
    try await catalog.die()
    return (stage, made)
  }

  @Test func thereAndBackAgainIsTheSameCatalog() async throws {
    let seed = TestSeed.drawn()
    for round in 0..<UInt64(TestForm.isLong ? 40 : 3) {
      let (stage, made) = try await randomLibrary(seed &+ round)
      let (database, back) = (try await TestDatabase(), try await TemporaryLibrary())
      defer { database.drop() }
      let here = source(stage.temporary.library)
      let before = try here.everything()
      let result = try copy(here, PostgresCopyTarget(try database.pool()))
      let there = PostgresCopySource(try database.pool())
      let onServer = try there.everything()
      for section in CatalogSection.common {
        #expect(onServer[section] == before[section], "seed \(seed), round \(round): \(section)")
        #expect(result.rows(section) == before[section]?.count ?? 0)
      }
      let folder = back.folder.appendingPathComponent("back").path
      _ = try copy(there, LibraryCopyTarget(folder, host: Self.host))
      let again = try await LibraryFolder.prepare(at: folder)
      #expect(try source(again).everything() == before, "seed \(seed), round \(round)")
      // The copy has not changed the source.
      #expect(try here.everything() == before)
      for section in CatalogSection.common where section != .checkpoints {
        #expect(before[section]?.isEmpty == false, "seed \(seed), round \(round): no \(section) to be copied")
      }
      try await bothAreOfUse(stage, try database.pool(), again, made)
    }
  }

  /// Checks that posts are found, searched and known, and that unfinished intents are resumed under their names, as the
  /// next attempt.
  private func bothAreOfUse(
    _ stage: SQLiteStage, _ pool: PostgresPool, _ folder: LibraryFolder, _ made: RandomCatalog
  ) async throws {
    let old = try #require(try await SQLiteCatalog.openReadOnly(library: stage.temporary.library))
    let posts = try await old.newestPosts(matching: PostFilter(), before: nil, limit: 1000).posts
    let found = try await old.newestPosts(
      matching: PostFilter(text: "beach"), before: nil, limit: 1000
    ).posts
    let (status, revision) = (try await old.status(), try await old.feedRevision())
    let changes = try old.abandonedChanges().count
    try await old.close()
    let sketch = Sketch(seed: 99)
    let server = try await PostgresCatalog.open(pool, host: Self.host)
    let library = try await SQLiteCatalog.open(library: folder, host: Self.host)
    let catalogs: [any PostCatalog & CatalogExamination] = [server, library]
    for catalog in catalogs {
      #expect(try await catalog.damage().isEmpty)
      #expect(try await catalog.newestPosts(matching: PostFilter(), before: nil, limit: 1000).posts == posts)
      #expect(
        try await catalog.newestPosts(matching: PostFilter(text: "beach"), before: nil, limit: 1000).posts
          == found)
      #expect(try await catalog.feedRevision() == revision)
      let copied = try await catalog.status()
      #expect(copied.posts == status.posts && copied.bytes == status.bytes)
      #expect(copied.unfinished == status.unfinished && copied.failureCount == status.failureCount)
      for publication in made.published.prefix(10) {
        let claim = try await catalog.claim(sketch.request(publication))
        #expect(claim.post != nil)
      }
      let changing = try #require(catalog as? any PostChanging)
      for publication in made.removed {
        #expect(try await catalog.claim(sketch.request(publication)).removed != nil)
        #expect(try !changing.removedPosts(of: publication.digest).isEmpty)
      }
      #expect(!made.removed.isEmpty)
      // The process that began these changes has ended.
      let left = try changing.unfinishedChanges(after: 0, limit: 99)
      #expect(left.count == changes)
      try changing.release(left)
      let open = made.unfinished.filter { !made.published.contains($0.publication) }
      for intent in open.prefix(5) {
        let request = sketch.request(intent.publication)
        let claim = try await catalog.claim(request)
        let granted = try #require(claim.intent, "\(claim) of \(intent)")
        #expect(open.contains { $0.id == granted.id && $0.key == granted.key })
        #expect(granted.attempt > 1)
        // Its number comes after all the copied ones.
        let new = try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch))
        #expect(new.pageNumber ?? 0 > posts.count)
      }
      try await catalog.close()
    }
  }

  /// Compares the tables row by row, with statements of its own.
  @Test func whatWasRemovedAndIsChangingIsThereInEveryCatalog() async throws {
    let (stage, _) = try await randomLibrary(21, steps: 90)
    let (database, back) = (try await TestDatabase(), try await TemporaryLibrary())
    defer { database.drop() }
    let folder = back.folder.appendingPathComponent("back").path
    _ = try copy(source(stage.temporary.library), PostgresCopyTarget(try database.pool()))
    _ = try copy(
      PostgresCopySource(try database.pool()), LibraryCopyTarget(folder, host: Self.host))
    let inSQLite = [
      """
      SELECT hex(postID) || '|' || pageNumber || '|' || attempt || '|' || removal.createdAt || '|' || coalesce(reason, '-')
        || '|' || coalesce(removedBy, '-') || '|' || removedAt || '|' || coalesce(keptUntil, '-') || '|' || isStored
        || '|' || json_extract(document, '$.id') || '|' || coalesce(json_extract(document, '$.caption'), '-')
      FROM removal JOIN intent ON number = intent ORDER BY 1
      """,
      """
      SELECT hex(postID) || '|' || change.number || '|' || kind || '|' || isDone || '|' || coalesce(name, '-') || '|'
        || coalesce(keys, '-') || '|' || coalesce(change.owner, '-')
      FROM change JOIN intent ON intent.number = intent LEFT JOIN destination ON id = change.destination ORDER BY 1
      """,
    ]
    let onServer = [
      """
      SELECT upper(encode(post_id, 'hex')) || '|' || page_number || '|' || attempt || '|' || m.created_at || '|'
        || coalesce(reason, '-') || '|' || coalesce(removed_by, '-') || '|' || removed_at || '|'
        || coalesce(kept_until::text, '-') || '|' || is_stored::int || '|' || (document::json ->> 'id') || '|'
        || coalesce(document::json ->> 'caption', '-') AS line
      FROM reel.removal m JOIN reel.intent i ON i.number = m.intent ORDER BY upper(encode(post_id, 'hex')) COLLATE "C"
      """,
      """
      SELECT upper(encode(post_id, 'hex')) || '|' || c.number || '|' || kind || '|' || is_done::int || '|'
        || coalesce(name, '-') || '|' || coalesce(keys, '-') || '|' || coalesce(c.owner::text, '-') AS line
      FROM reel.change c JOIN reel.intent i ON i.number = c.intent
      LEFT JOIN reel.destination d ON d.id = c.destination ORDER BY upper(encode(post_id, 'hex')) COLLATE "C"
      """,
    ]
    let (first, last) = (
      try Connection(stage.temporary.library.catalogPath, .readOnly),
      try Connection(folder + "/catalog.sqlite", .readOnly)
    )
    let server = try database.connect()
    for (sqlite, postgres) in zip(inSQLite, onServer) {
      // A copy's rows have no owner, and PostgreSQL can't store NUL in text.
      let before = try first.values(sqlite, as: String.self).map { line in
        line.replacing("\0", with: "\u{FFFD}").replacing(
          /[|][0-9]+$/,
          with: { match in
            sqlite.contains("FROM change") ? "|-" : String(match.output)
          })
      }
      let between = try server.rows(postgres) { try $0[0] as String }
      #expect(before.count > 3)
      #expect(between == before)
      #expect(try last.values(sqlite, as: String.self) == between)
    }
    try first.close()
    try last.close()
  }

  @Test func betweenTwoServersTheQueueGoesAlong() async throws {
    let (one, two) = (try await TestDatabase(), try await TestDatabase())
    let catalog = try await PostgresCatalog.open(try one.pool(), host: Self.host)
    var made = RandomCatalog(seed: 7)
    try await made.fill(catalog, steps: 30, stores: [Destination("s3://bucket")])
    try await catalog.close()
    try await unpublished(in: one)
    let queue = try WorkQueue(try one.pool())
    _ = try queue.enqueue(
      ["a", "b", "c"].map { NewItem(address: SourcePath("/uploads/\($0)"), version: "1", size: nil) },
      priority: 3)
    let worker = try QueueWorker(
      queue, host: "host", destination: "s3://bucket", settings: QueueWorker.Settings())
    #expect(try worker.take(upTo: 2).count == 2)
    // The worker has died.
    try await unpublished(in: one)

    let folder = try await TemporaryLibrary().folder.appendingPathComponent("copy").path
    let refused = #expect(throws: CatalogError.self) {
      try copy(PostgresCopySource(try one.pool()), LibraryCopyTarget(folder, host: Self.host))
    }
    #expect(refused?.message.contains("3 items of the queue") == true)

    let result = try copy(PostgresCopySource(try one.pool()), PostgresCopyTarget(try two.pool()))
    #expect(result.rows(.items) == 3 && result.rows(.workers) == 1)
    #expect(
      try PostgresCopySource(try two.pool()).everything() == PostgresCopySource(try one.pool()).everything())
    // The copy has no such worker: its items are free, and the death is not counted against them.
    let another = try QueueWorker(
      WorkQueue(try two.pool()), host: "host", destination: "s3://bucket", settings: QueueWorker.Settings())
    #expect(try another.freeWhatIsDue() == 2)
    #expect(try another.take(upTo: 3).map(\.deaths).sorted() == [0, 0, 0])
  }

  /// Deletes all owners. `close()` releases what its process holds, but what a dead process held would remain.
  private func unpublished(in database: TestDatabase) async throws {
    try database.connect().execute("DELETE FROM reel.owner")
  }

  @Test func aLibraryIsCopiedToAnother() async throws {
    let (stage, _) = try await randomLibrary(3)
    let folder = stage.temporary.folder.appendingPathComponent("other").path
    _ = try copy(source(stage.temporary.library), LibraryCopyTarget(folder, host: Self.host))
    let other = try await LibraryFolder.prepare(at: folder)
    #expect(try source(other).everything() == source(stage.temporary.library).everything())
    let catalog = try await SQLiteCatalog.open(library: other, host: Self.host)
    // The objects stay in the first library's folder, which is not the second library's own store.
    let stores = try await catalog.destinations().map(\.name)
    #expect(stores.contains(CanonicalPath(resolving: stage.temporary.library.mediaPath).fileURL))
    try await catalog.close()
  }

  @Test func whatIsRememberedOfOtherMachinesStaysOnTheServer() async throws {
    let (stage, _) = try await randomLibrary(5)
    let database = try await TestDatabase()
    _ = try copy(source(stage.temporary.library), PostgresCopyTarget(try database.pool()))
    let folder = stage.temporary.folder.appendingPathComponent("other").path
    let result = try copy(
      PostgresCopySource(try database.pool()), LibraryCopyTarget(folder, host: "another machine"))
    let left = result.parts.filter { $0.leftBehind > 0 }
    #expect(left.map(\.section) == [.files, .failures])
    let addresses = try source(stage.temporary.library).everything()[.failures]?.filter { $0[1] == .text("") }
    #expect(result.rows(.failures) == addresses?.count && result.rows(.files) == 0)
  }

  // MARK: Refusals

  @Test func nothingIsCopiedOverAnotherCatalog() async throws {
    let (stage, _) = try await randomLibrary(11)
    let database = try await TestDatabase()
    _ = try copy(source(stage.temporary.library), PostgresCopyTarget(try database.pool()))
    let twice = #expect(throws: CatalogError.self) {
      try copy(source(stage.temporary.library), PostgresCopyTarget(try database.pool()))
    }
    #expect(twice?.message.contains("is not empty (destination, intent") == true)
    let other = try await SQLiteStage()
    try await other.openSQLite().close()
    let over = #expect(throws: CatalogError.self) {
      try copy(
        source(stage.temporary.library), LibraryCopyTarget(other.temporary.library.path, host: Self.host))
    }
    #expect(over?.message.contains("a copy never replaces one") == true)
  }

  @Test func nobodyMayBeAtWork() async throws {
    let (stage, _) = try await randomLibrary(12)
    let database = try await TestDatabase()
    let target = PostgresCopyTarget(try database.pool())
    let living = try await stage.openSQLite(host: Self.host)
    #expect(throws: CatalogError.self) { try copy(source(stage.temporary.library), target) }
    try await living.close()
    let publisher = try await PostgresCatalog.open(try database.pool(), host: Self.host)
    let busy = #expect(throws: CatalogError.self) { try copy(source(stage.temporary.library), target) }
    #expect(busy?.code == .locked)
    #expect(throws: CatalogError.self) {
      try copy(PostgresCopySource(try database.pool()), LibraryCopyTarget("/nowhere", host: Self.host))
    }
    try await publisher.close()
    #expect(try copy(source(stage.temporary.library), target).rows(.posts) > 0)
  }

  @Test func whatIsPublishedMeanwhileEndsTheCopy() async throws {
    let database = try await TestDatabase()
    let first = try await PostgresCatalog.open(try database.pool(), host: Self.host)
    let sketch = Sketch(seed: 3)
    _ = try await first.publish(sketch.request(sketch.publication()), with: sketch)
    try await first.close()
    let source = PostgresCopySource(try database.pool())
    let folder = try await TemporaryLibrary()
    let path = folder.folder.appendingPathComponent("copy").path
    let meanwhile = InterruptedSource(base: source, after: 1) {
      // Acts like a process that wrote to the catalog meanwhile.
      try database.connect().execute("UPDATE reel.feed SET revision = revision + 1")
    }
    let error = #expect(throws: CatalogError.self) {
      try copy(meanwhile, LibraryCopyTarget(path, host: Self.host))
    }
    #expect(error?.code == .locked)
  }

  @Test func onlyCatalogsOfThisVersionAreCopied() async throws {
    let (stage, _) = try await randomLibrary(13, steps: 5)
    let database = try await TestDatabase()
    let target = PostgresCopyTarget(try database.pool())
    let none = #expect(throws: CatalogError.self) {
      try copy(PostgresCopySource(try database.pool()), LibraryCopyTarget("/nowhere", host: Self.host))
    }
    #expect(none?.message.contains("there is no catalog") == true)
    try PostgresSchema.prepare(try database.pool())
    for (version, code) in [(PostgresSchema.version + 1, CatalogError.Code.newerSchema), (1, .unusable)] {
      try database.connect().execute("UPDATE reel.schema_version SET version = \(version)")
      let error = #expect(throws: CatalogError.self) {
        try copy(PostgresCopySource(try database.pool()), LibraryCopyTarget("/nowhere", host: Self.host))
      }
      #expect(error?.code == code)
      if version > 1 {
        let newer = #expect(throws: CatalogError.self) { try copy(source(stage.temporary.library), target) }
        #expect(newer?.code == .newerSchema)
      }
    }
    try database.connect().execute("UPDATE reel.schema_version SET version = \(PostgresSchema.version)")
    for (version, code) in [(CatalogSchema.version + 1, CatalogError.Code.newerSchema), (4, .unusable)] {
      let connection = try Connection(stage.temporary.library.catalogPath, .readWrite)
      try connection.execute("PRAGMA user_version = \(version)")
      try connection.close()
      let error = #expect(throws: CatalogError.self) { try copy(source(stage.temporary.library), target) }
      #expect(error?.code == code)
      // The catalog is unchanged.
      let looked = try Connection(stage.temporary.library.catalogPath, .readOnly)
      #expect(try looked.value("PRAGMA user_version") == version)
      try looked.close()
    }
  }

  @Test func aReaderMayCopyAndAnotherMayNot() async throws {
    let (stage, _) = try await randomLibrary(14)
    let (database, other) = (try await TestDatabase(), try await TestDatabase())
    _ = try copy(source(stage.temporary.library), PostgresCopyTarget(try database.pool()))
    let role = "reader_\(database.name)"
    try database.connect().execute(
      """
      CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA reel TO \(role);
      GRANT SELECT ON ALL TABLES IN SCHEMA reel TO \(role); REVOKE SELECT ON reel.checkpoint FROM \(role)
      """)
    let address = try PostgresAddress(
      database.url().replacing("postgres@", with: "\(role)@"), passwords: .elsewhere,
      library: try PostgresLibrary(), environment: { _ in nil })
    let reader = PostgresCopySource(PostgresPool(address, library: try PostgresLibrary()))
    let refused = #expect(throws: CatalogError.self) {
      try copy(reader, PostgresCopyTarget(try other.pool()))
    }
    #expect(refused?.code == .notOurs && refused?.message.contains("checkpoint") == true)
    try database.connect().execute("GRANT SELECT ON reel.checkpoint TO \(role)")
    #expect(try copy(reader, PostgresCopyTarget(try other.pool())).rows(.posts) > 0)
  }

  // MARK: Interruptions

  @Test func aCopyThatEndsEarlyIsNone() async throws {
    let (stage, _) = try await randomLibrary(15)
    let database = try await TestDatabase()
    let here = source(stage.temporary.library)
    let batches = try here.read { rows in
      var count = 0
      for section in rows.sections { try rows.each(of: section) { _ in count += 1 } }
      return count
    }
    let folder = stage.temporary.folder.appendingPathComponent("copy").path
    let targets: [any CatalogCopyTarget] = [
      PostgresCopyTarget(try database.pool()), LibraryCopyTarget(folder, host: Self.host),
    ]
    // The interruptions also cover the second reading, for comparison.
    for target in targets {
      for end in 1...(2 * batches) {
        #expect(throws: CatalogError.self) {
          try copy(
            InterruptedSource(base: here, after: end) { throw CatalogError(.unusable, "the end") }, target)
        }
        let catalog = try await PostgresCatalog.openReadOnly(try database.pool())
        #expect(try await catalog?.status().posts ?? 0 == 0)
        try await catalog?.close()
        let library = try #require(try await LibraryFolder.existing(at: stage.temporary.library.path))
        _ = library
        if let made = try await LibraryFolder.existing(at: folder) {
          #expect(try await SQLiteCatalog.openReadOnly(library: made) == nil)
        }
      }
    }
    for target in targets { #expect(try copy(here, target).rows(.posts) > 0) }
  }

  @Test func aCopyThatIsNotTheSameIsNone() async throws {
    let (stage, _) = try await randomLibrary(16)
    let database = try await TestDatabase()
    let here = source(stage.temporary.library)
    for section in CatalogSection.common where section != .checkpoints {
      let error = #expect(throws: CatalogError.self) {
        try copy(here, LossyTarget(base: PostgresCopyTarget(try database.pool()), section: section))
      }
      #expect(error?.code == .corrupt, "\(section): \(String(describing: error))")
    }
    let catalog = try #require(try await PostgresCatalog.openReadOnly(try database.pool()))
    #expect(try await catalog.status().posts == 0)
    try await catalog.close()
  }
}

/// Runs `interruption` before batch number `after`.
private struct InterruptedSource: CatalogCopySource {
  let base: any CatalogCopySource
  let after: Int
  let interruption: @Sendable () throws -> Void

  var name: String { base.name }

  func read<Value: Sendable>(_ body: @Sendable (any CatalogRows) throws -> Value) throws -> Value {
    let count = Mutex(0)
    return try base.read { rows in
      try body(
        Rows(base: rows) {
          let isDue = count.withLock { count in
            count += 1
            return count == after
          }
          if isDue { try interruption() }
        })
    }
  }

  private struct Rows: CatalogRows {
    let base: any CatalogRows
    let before: () throws -> Void

    var sections: [CatalogSection] { base.sections }

    func each(of section: CatalogSection, _ body: ([CatalogRow]) throws -> Void) throws {
      try base.each(of: section) { rows in
        try before()
        try body(rows)
      }
    }
  }
}

/// Drops the last row of a section, or changes a value in it.
private struct LossyTarget: CatalogCopyTarget {
  let base: any CatalogCopyTarget
  let section: CatalogSection

  var name: String { base.name }

  func fill<Value>(_ body: (any CatalogFilling) throws -> Value) throws -> Value {
    try base.fill { try body(Filling(base: $0, section: section)) }
  }

  private struct Filling: CatalogFilling {
    let base: any CatalogFilling
    let section: CatalogSection

    var sections: [CatalogSection] { base.sections }
    func takes(_ row: CatalogRow, of section: CatalogSection) -> Bool { base.takes(row, of: section) }

    func add(_ rows: [CatalogRow], to section: CatalogSection) throws {
      var rows = rows
      if section == self.section, let last = rows.indices.last, let place = rows[last].indices.last {
        switch rows[last][place] {
        case .int(let value): rows[last][place] = .int(value + 1)
        case .text(let value): rows[last][place] = .text(value + " ")
        case .bytes(let value): rows[last][place] = .bytes(value.map { $0 ^ 1 })
        case .null: rows.removeLast()
        }
      }
      try base.add(rows, to: section)
    }

    func settle() throws { try base.settle() }
    func each(of section: CatalogSection, _ body: ([CatalogRow]) throws -> Void) throws {
      try base.each(of: section, body)
    }
  }
}
