import Foundation
import Glibc
import ReelCatalogCopy
import ReelCore
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelLibrary
@testable import ReelPostgres

/// Servers that are standbys, stall, are full, or have another version.
@Suite(.besidePostgres, .notQuick) struct PostgresOutageTests {
  private let sketch = Sketch(seed: 5)

  private func pool(
    _ url: String, _ change: (inout PostgresPool.Settings) -> Void = { _ in }
  ) throws -> PostgresPool {
    var settings = PostgresPool.Settings()
    change(&settings)
    let library = try PostgresLibrary()
    let address = try PostgresAddress(url, passwords: .elsewhere, library: library, environment: { _ in nil })
    return PostgresPool(address, library: library, settings: settings)
  }

  private func url(_ servers: [PostgresServer], _ database: TestDatabase) -> String {
    "postgres://postgres@\(servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))/\(database.name)"
  }

  @Test func aStandbyIsReadAndTakesOverWhenItIsPromoted() async throws {
    let first = try await PostgresServer.start()
    let database = try await TestDatabase(on: first)
    let catalog = try await PostgresCatalog.open(try database.pool())
    let publications = (0..<5).map { _ in sketch.publication() }
    for publication in publications {
      _ = try await catalog.publish(sketch.request(publication), with: sketch)
    }
    let held = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
    try await catalog.release(held, because: .retryLater)
    try await catalog.close()

    let second = try await first.startStandby()
    try await untilItHas(5, second, database)
    let alone = try #require(
      try await PostgresCatalog.openReadOnly(try pool(url([second], database))))
    #expect(try await alone.status().posts == 5)
    try await alone.close()
    let refused = await #expect(throws: CatalogError.self) {
      _ = try await PostgresCatalog.open(
        try pool(url([second], database)) { $0.patience = .milliseconds(50) })
    }
    #expect(refused?.message.contains("does not accept writes") == true)

    // A catalog with both addresses writes to the primary, and to the second server once that is promoted.
    let both = try await PostgresCatalog.open(try pool(url([first, second], database)))
    let last = sketch.publication()
    let intent = try #require(try await both.claim(sketch.request(last)).intent)
    try await caughtUp(first, second, database)
    try await first.kill()
    try await second.promote()
    let post = try await both.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    #expect(post.pageNumber == 6)
    for publication in publications + [last] {
      #expect(try await both.claim(sketch.request(publication)).post != nil)
    }
    let resumed = try #require(try await both.claim(sketch.request(held.publication)).intent)
    #expect(resumed.id == held.id && resumed.attempt == 2)
    #expect(try await both.damage().isEmpty)
    try await both.close()
    await second.stop()
    await first.stop()
  }

  private func untilItHas(_ posts: Int, _ server: PostgresServer, _ database: TestDatabase) async throws {
    let pool = try pool(url([server], database))
    while try pool.read({ try $0.value("SELECT count(*) FROM reel.post", as: Int.self) }) != posts {
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Waits until everything committed on the first server is on the second.
  private func caughtUp(
    _ first: PostgresServer, _ second: PostgresServer, _ database: TestDatabase
  ) async throws {
    let (one, other) = (try pool(url([first], database)), try pool(url([second], database)))
    let place = try #require(
      try one.read { try $0.value("SELECT pg_current_wal_lsn()::text", as: String.self) })
    while try other.read({
      try $0.value("SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", [.text(place)], as: Bool.self)
    }) != true { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test(.shortTime) func aServerThatStallsIsGivenUpInTimeAndSoonerByWhoIsInHaste() async throws {
    let server = try await PostgresServer.start()
    let database = try await TestDatabase(on: server)
    func open(_ change: (inout PostgresPool.Settings) -> Void) async throws -> PostgresCatalog {
      try await PostgresCatalog.open(try database.pool(port: nil, change))
    }
    func openPatient() async throws -> PostgresCatalog {
      try await open {
        ($0.statementTimeout, $0.connectTimeout, $0.patience) = (
          .milliseconds(300), .milliseconds(300), .milliseconds(300)
        )
      }
    }
    try await open { _ in }.close()
    // On a busy machine, a server that works may take longer than that, too.
    var opened = try? await openPatient()
    while opened == nil {
      try Task.checkCancellation()
      opened = try? await openPatient()
    }
    let patient = try #require(opened)
    // Without haste, this would take an hour.
    let hasty = try await open {
      ($0.statementTimeout, $0.connectTimeout, $0.patience, $0.haste) = (
        .seconds(3600), .seconds(3600), .seconds(3600), .milliseconds(300)
      )
    }
    let intent = try #require(try await hasty.claim(sketch.request(sketch.publication())).intent)
    try await server.stall()
    let late = await #expect(throws: CatalogError.self) {
      _ = try await patient.claim(sketch.request(sketch.publication()))
    }
    #expect(late?.code == .unusable && late?.message.contains("did not answer") == true)
    let waiting = Task {
      await #expect(throws: CatalogError.self) {
        _ = try await hasty.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
      }
    }
    hasty.makeHaste()
    let given = await waiting.value
    #expect(given?.message.contains("did not answer") == true)
    try await server.wake()
    // The server is back: haste abandons nothing that works.
    let other = try await open { $0.haste = .seconds(600) }
    other.makeHaste()
    #expect(try await other.claim(sketch.request(sketch.publication())).intent != nil)
    #expect(try await other.damage().isEmpty)
    await server.stop()
  }

  @Test(.needsMounting)
  func aFullDiskOfTheServerIsToldAndWhatWasWrittenStays() async throws {
    let disk = try #require(TinyDisk(kilobytes: 24 << 10))
    let server = try await PostgresServer.start()
    let place = disk.path + "/space"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    let admin = try await TestDatabase(on: server)
    if let owner = getpwnam("postgres"), geteuid() == 0 {
      #expect(chown(place, owner.pointee.pw_uid, owner.pointee.pw_gid) == 0)
      #expect(chmod(disk.path, 0o755) == 0)
    }
    let connection = try admin.connect()
    try connection.execute("CREATE TABLESPACE small LOCATION '\(place)'")
    try connection.execute("CREATE DATABASE full_of_it TABLESPACE small")
    let pool = PostgresPool(try admin.address("full_of_it"), library: try PostgresLibrary())
    let catalog = try await PostgresCatalog.open(pool)
    let publication = sketch.publication()
    _ = try await catalog.publish(sketch.request(publication), with: sketch)
    disk.fill()
    var (failure, count) = (CatalogError?.none, 0)
    // The existing pages are filled first.
    while failure == nil, count < 5000 {
      do throws(CatalogError) {
        let requests = (0..<100).map { _ in sketch.request(sketch.publication()) }
        _ = try catalog.claim(requests, noting: [])
        count += 1
      } catch {
        failure = error
      }
    }
    #expect(failure?.code == .diskFull, "\(String(describing: failure))")
    #expect(try await catalog.claim(sketch.request(publication)).post != nil)
    disk.free()
    _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch)
    #expect(try await catalog.status().posts == 2)
    #expect(try await catalog.damage().isEmpty)
    try await catalog.close()
    await server.stop()
  }

  @Test func anOlderReelGoesOnWhileANewerOneAddsToTheTablesAndIsRefusedAfterwards() async throws {
    let database = try await TestDatabase()
    let older = try await PostgresCatalog.open(try database.pool())
    let intent = try #require(try await older.claim(sketch.request(sketch.publication())).intent)
    // Changes that the next version may make: an older program can ignore what is new.
    try database.connect().execute(
      """
      BEGIN; ALTER TABLE reel.intent ADD COLUMN later bigint; ALTER TABLE reel.post ADD COLUMN later text;
      ALTER TABLE reel.poster ADD COLUMN later bigint NOT NULL DEFAULT 7; CREATE TABLE reel.later (id bigint);
      UPDATE reel.schema_version SET version = version + 1; COMMIT
      """)
    let post = try await older.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    #expect(try await older.post(post.id) == post)
    #expect(
      try await older.publish(sketch.request(sketch.publication(), poster: sketch.poster()), with: sketch)
        != nil)
    #expect(try await older.damage().isEmpty)
    try await older.close()
    for isReading in [false, true] {
      let refused = await #expect(throws: CatalogError.self) {
        if isReading {
          _ = try await PostgresCatalog.openReadOnly(try database.pool())
        } else {
          _ = try await PostgresCatalog.open(try database.pool())
        }
      }
      #expect(refused?.code == .newerSchema)
    }
  }

  // MARK: Copies

  @Test(arguments: CuttingProxy.Fault.allCases)
  func aCopyWhoseCommitWasNotAnsweredIsThereWholeOrNotAtAll(_ fault: CuttingProxy.Fault) async throws {
    let stage = try await SQLiteStage()
    let catalog = try await stage.openSQLite()
    for _ in 0..<3 { _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch) }
    try await catalog.close()
    let database = try await TestDatabase()
    try PostgresSchema.prepare(try database.pool())
    let proxy = try CuttingProxy(to: database.server.port)
    let source = LibraryCopySource(stage.temporary.library, host: "here")
    let target = PostgresCopyTarget(try database.pool(port: proxy.port))
    proxy.arm(fault)
    async let copying = onThread {
      Result { () throws(CatalogError) in try CatalogCopy(from: source, to: target).run() }
    }
    if fault == .late {
      // Not on a thread that tasks share: the server soon ends a transaction in which nothing happens.
      try await onThread {
        let watch = try database.connect()
        while try watch.value(
          "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
          as: Int.self) == 0
        { usleep(5000) }
        #expect(proxy.release())
      }
    }
    let result = try await copying
    #expect(proxy.cuts == 1)
    let there = try database.connect().value("SELECT count(*) FROM reel.post", as: Int.self)
    switch result {
    case .success: #expect(there == 3)
    case .failure:
      #expect(there == 0)
      #expect(try CatalogCopy(from: source, to: target).run().rows(.posts) == 3)
    }
  }

  @Test(
    .enabled(
      if: TestForm.isLong || ProcessInfo.processInfo.environment["REEL_MEASURE"] == "1",
      "a part of the long form"))
  func aHundredThousandPostsAreCopied() async throws {
    let count = 100_000
    let stage = try await SQLiteStage()
    let catalog = try await stage.openSQLite()
    _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch)
    try await catalog.close()
    let db = try Connection(stage.temporary.library.catalogPath, .readWrite)
    try db.execute(
      """
      BEGIN;
      CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        SELECT i FROM n;
      INSERT INTO intent (number, postID, destination, objectKey, digest, author, ordinal, size, state, createdAt, changedAt)
        SELECT i, randomblob(16), 1, lower(hex(randomblob(11))) || '.mp4', randomblob(32), x'', 0, 1000, 1, 1700000000000 + i,
          1700000000000 + i FROM n;
      INSERT INTO post (pageNumber, id, intent, createdAt, document)
        SELECT i, postID, i, 1700000000000 + i,
          json_set((SELECT document FROM post WHERE pageNumber = 1), '$.caption', 'a video of number ' || i)
        FROM n JOIN intent ON number = i;
      INSERT INTO knownFile (device, inode, size, modifiedAt, changedAt, digest)
        SELECT 1, i, 1000, 1, 1, digest FROM n JOIN intent ON number = i;
      UPDATE feed SET lastPageNumber = \(count);
      UPDATE destination SET posts = \(count), bytes = 1000 * \(count);
      COMMIT
      """)
    try db.close()
    let (one, two) = (try await TestDatabase(), stage.temporary.folder.appendingPathComponent("back").path)
    let here = LibraryCopySource(stage.temporary.library, host: "here")
    let there = PostgresCopySource(try one.pool())
    let clock = ContinuousClock()
    let before = Self.peak()
    let begun = clock.now
    let copied = try CatalogCopy(from: here, to: PostgresCopyTarget(try one.pool())).run()
    let out = clock.now - begun
    let again = clock.now
    let returned = try CatalogCopy(from: there, to: LibraryCopyTarget(two, host: "here")).run()
    let back = clock.now - again
    #expect(copied.rows(.posts) == count && returned.rows(.posts) == count)
    let grown = Self.peak() - before
    print("\(count) posts: to the server \(out), back \(back), \(grown) kB more memory at the most")
    #expect(grown < 64 << 10)
    one.drop()
  }

  /// The peak memory of this process, in kB.
  private static func peak() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
