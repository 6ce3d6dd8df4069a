import Foundation
import ReelCore
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelPostgres

/// Publishing while the database, or the connection to it, fails.
@Suite(.besidePostgres) struct PostgresFaultTests {
  private let sketch = Sketch()

  private func stage(behind proxy: CuttingProxy, _ database: TestDatabase) async throws -> PostgresCatalog {
    try await PostgresCatalog.open(
      try database.pool(port: proxy.port), lease: .seconds(3600), heartbeat: .seconds(86_400))
  }

  /// Runs `body`, and releases the message that the proxy holds back once a statement waits for a lock, or `body` has
  /// ended.
  private func releasing<Value: Sendable>(
    _ proxy: CuttingProxy, _ database: TestDatabase, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let before = proxy.cuts
    let isDone = Mutex(false)
    let task = Task {
      defer { isDone.withLock { $0 = true } }
      return try await body()
    }
    let watch = try database.connect()
    while proxy.cuts == before { try await Task.sleep(for: .milliseconds(5)) }
    var waiting = 0
    while waiting == 0, !isDone.withLock({ $0 }) {
      waiting =
        try watch.value(
          """
          SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          """) ?? 0
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(proxy.release())
    return try await task.value
  }

  private func carryOut<Value: Sendable>(
    _ fault: CuttingProxy.Fault, _ proxy: CuttingProxy, _ database: TestDatabase,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let before = proxy.cuts
    proxy.arm(fault)
    let value = fault == .late ? try await releasing(proxy, database, body) : try await body()
    #expect(proxy.cuts == before + 1)
    return value
  }

  @Test(arguments: CuttingProxy.Fault.allCases)
  func aClaimWhoseCommitWasNotAnsweredIsGrantedOnce(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let catalog = try await stage(behind: proxy, database)
    let request = sketch.request(sketch.publication(), poster: sketch.poster())
    let claim = try await carryOut(fault, proxy, database) { try await catalog.claim(request) }
    let intent = try #require(claim.intent)
    #expect(intent.id == request.newID && intent.attempt == 1 && intent.poster == request.poster?.newKey)
    #expect(try await catalog.claim(request).isHeld)
    let post = try await catalog.complete(
      intent, draft: sketch.draft(poster: try sketch.shown(intent)), stored: sketch.stored(intent))
    #expect(post.pageNumber == 1)
    #expect(try await catalog.damage().isEmpty)
    try await catalog.close()
  }

  @Test(arguments: CuttingProxy.Fault.allCases)
  func aTakeOverWhoseCommitWasNotAnsweredIsGrantedOnce(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let dead = try await PostgresCatalog.open(try database.pool())
    let request = sketch.request(sketch.publication())
    _ = try await dead.claim(request)
    try await dead.die()
    let catalog = try await stage(behind: proxy, database)
    let claim = try await carryOut(fault, proxy, database) { try await catalog.claim(request) }
    #expect(claim.intent?.attempt == 2)
    #expect(try await catalog.claim(request).isHeld)
    try await catalog.close()
  }

  /// Whether or not the COMMIT took effect, the repeated transaction contains a row that the server refuses.
  @Test(arguments: [CuttingProxy.Fault.before, .after])
  func aPostIsToldAsOneAlthoughItsRepetitionFails(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let catalog = try await stage(behind: proxy, database)
    let intent = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
    // The second insertion of a failure raises an error.
    try database.connect().execute(
      """
      CREATE SEQUENCE public.times;
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('public.times') > 1 THEN RAISE EXCEPTION 'no' USING ERRCODE = '22P05'; END IF;
          RETURN NEW;
        END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON reel.failure FOR EACH ROW EXECUTE FUNCTION public.refuse();
      """)
    let failure = FailureRecord(code: "notMedia", message: "no", refused: false, at: Date())
    let one = Completion(intent: intent, draft: sketch.draft(), stored: sketch.stored(intent))
    let post = try await carryOut(fault, proxy, database) {
      try await onThread {
        try catalog.complete([one], noting: [.failure(failure, at: SourcePath("/a.mp4"))])[0].get()
      }
    }
    #expect(post.pageNumber == 1)
    #expect(try await catalog.post(post.id) == post)
    try await catalog.close()
  }

  /// In a group of transactions, each gets its own result, regardless of the others.
  @Test func ofTasksEachIsToldWhatBecameOfIts() async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let catalog = try await stage(behind: proxy, database)
    let requests = (0..<8).map { _ in sketch.request(sketch.publication()) }
    try database.connect().execute(
      """
      CREATE SEQUENCE public.times;
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('public.times') > 1 THEN RAISE EXCEPTION 'no' USING ERRCODE = '22P05'; END IF;
          RETURN NEW;
        END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON reel.failure FOR EACH ROW EXECUTE FUNCTION public.refuse();
      """)
    proxy.arm(.after)
    catalog.note([
      .failure(
        FailureRecord(code: "notMedia", message: "no", refused: false, at: Date()), at: SourcePath("/a.mp4"))
    ])
    let intents = try await withThrowingTaskGroup { group in
      for request in requests { group.addTask { try await catalog.claim(request).intent } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(intents.map { $0?.id }) == Set(requests.map(\.newID)))
    #expect(intents.allSatisfy { $0?.attempt == 1 })
    // The note may have been alone in its group and refused. Then `close()` reports that.
    do throws(CatalogError) {
      try await catalog.close()
    } catch {
      #expect(error.message.contains("22P05"))
    }
  }

  @Test func whatIsAbandonedIsFreeAtOnceAndFencedOff() async throws {
    let database = try await TestDatabase()
    let (ending, other) = (
      try await PostgresCatalog.open(try database.pool()), try await PostgresCatalog.open(try database.pool())
    )
    let request = sketch.request(sketch.publication())
    let intent = try #require(try await ending.claim(request).intent)
    #expect(try await other.claim(request).isHeld)
    try ending.abandonClaims()
    #expect(try await other.claim(request).intent?.attempt == 2)
    await #expect(throws: CatalogError.self) {
      _ = try await ending.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    }
    try await other.close()
  }

  /// The process stored under the old name, and comes back.
  @Test func whoWasCutOffCompletesNothingInAStoreThatWasRelocated() async throws {
    let database = try await TestDatabase()
    let late = try await PostgresCatalog.open(try database.pool())
    let request = sketch.request(sketch.publication())
    let intent = try #require(try await late.claim(request).intent)
    try await late.die()
    let mover = try await PostgresCatalog.open(try database.pool())
    try await mover.relocate(
      request.publication.destination, to: Destination("file:///elsewhere"), holding: 0, duplicates: .skip)
    await #expect(throws: CatalogError.self) {
      _ = try await late.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    }
    #expect(try await mover.status().posts == 0)
    try await mover.close()
  }

  @Test(arguments: CuttingProxy.Fault.allCases)
  func aPostWhoseCommitWasNotAnsweredIsPublishedOnce(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let catalog = try await stage(behind: proxy, database)
    let requests = (0..<3).map { _ in sketch.request(sketch.publication(), poster: sketch.poster()) }
    let intents = try catalog.claim(requests, noting: []).compactMap { try $0.get().intent }
    let completions = try intents.map {
      Completion(
        intent: $0, draft: sketch.draft(poster: try sketch.shown($0)), stored: sketch.stored($0))
    }
    let posts = try await carryOut(fault, proxy, database) {
      try await onThread { try catalog.complete(completions, noting: []).map { try $0.get() } }
    }
    #expect(posts.map(\.pageNumber) == [1, 2, 3])
    for post in posts { #expect(try await catalog.post(post.id) == post) }
    let status = try await catalog.status()
    #expect(status.posts == 3 && status.bytes == 3000 && status.unfinished == 0)
    #expect(try await catalog.damage().isEmpty)
    try await catalog.close()
  }

  @Test(arguments: CuttingProxy.Fault.allCases)
  func anEventThatWasHandedOverWithoutAnAnswerIsToldOnce(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let dead = try await PostgresCatalog.open(try database.pool())
    let publication = sketch.publication()
    _ = try await dead.publish(sketch.request(publication), with: sketch)
    try await dead.die()
    let catalog = try await stage(behind: proxy, database)
    let found = try await carryOut(fault, proxy, database) {
      try await onThread { try catalog.published(publication) }
    }
    #expect(found?.announced == false)
    #expect(try catalog.published(publication)?.announced == true)
    try await catalog.close()
  }

  /// Changes of every kind, in three steps each of which is cut off.
  @Test(arguments: CuttingProxy.Fault.allCases)
  func changesWhoseCommitWasNotAnsweredAreMadeOnce(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let catalog = try await stage(behind: proxy, database)
    var posts: [Post] = []
    for _ in 0..<5 {
      posts.append(
        try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch)))
    }
    let kept = Removal(at: Date(), keptUntil: Date() + 99)
    for post in posts[1...2] { try catalog.carryOut(.init(post.id, .removal(kept))) }
    let changes = [
      PostChange(posts[0].id, .removal(Removal(at: Date()))), PostChange(posts[1].id, .purge),
      PostChange(posts[2].id, .restoration), PostChange(posts[3].id, .edit(PostEdit(caption: "new"))),
      PostChange(posts[4].id, .move(to: Destination("file:///other"))),
    ]
    func cut<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
      try await carryOut(fault, proxy, database) { try await onThread(body) }
    }
    let answers = try await cut { try catalog.begin(changes) }
    let open = answers.compactMap { if case .begun(let open) = $0 { open } else { nil } }
    #expect(open.map(\.post.id) == posts.map(\.id))
    #expect(open[3].kind == .edit(["caption"]))
    let finished = try await cut { try catalog.finish(open) }
    #expect(finished.map { $0?.id } == posts.map(\.id))
    try await cut { try catalog.release([open[0]]) }
    let adopted = try await cut { try catalog.unfinishedChanges(after: 0, limit: 9) }
    #expect(adopted.map(\.number) == [open[0].number])
    try await cut { try catalog.strikeOut(open) }
    #expect(try catalog.unfinishedChanges(after: 0, limit: 9).isEmpty)
    #expect(try database.connect().value("SELECT count(*) FROM reel.change", as: Int.self) == 0)
    #expect(try posts.map { try catalog.removedPost($0.id) != nil } == [true, true, false, false, false])
    #expect(try await catalog.post(posts[3].id)?.caption == "new")
    let status = try await catalog.status()
    #expect(status.posts == 3 && status.bytes == 3000)
    #expect(try await catalog.damage().isEmpty)
    try await catalog.close()
  }

  @Test func aServerThatCrashesInBetweenLosesNothingAndIsWaitedFor() async throws {
    let server = try await PostgresServer.start()
    let database = try await TestDatabase(on: server)
    let catalog = try await PostgresCatalog.open(try database.pool())
    var posts: [Post] = []
    for round in 0..<3 {
      let intent = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      let next = sketch.request(sketch.publication())
      try await server.kill()
      // Requests made meanwhile wait.
      async let post = catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
      async let claim = catalog.claim(next)
      try await server.startAgain()
      let done = try await post
      posts.append(done)
      #expect(done.pageNumber == 2 * round + 1)
      let second = try #require(try await claim.intent)
      let later = try await catalog.complete(second, draft: sketch.draft(), stored: sketch.stored(second))
      posts.append(later)
    }
    #expect(try await catalog.posts(from: 1, count: 100) == posts)
    #expect(try await catalog.damage().isEmpty)
    try await catalog.close()
    await server.stop()
  }

  @Test func aServerThatStaysAwayIsNamedWithoutAPassword() async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let pool = try database.pool(port: proxy.port) { $0.patience = .milliseconds(200) }
    let catalog = try await PostgresCatalog.open(pool)
    proxy.refuse(true)
    proxy.arm(.before)
    let error = await #expect(throws: CatalogError.self) {
      _ = try await catalog.claim(sketch.request(sketch.publication()))
    }
    #expect(error?.code == .unusable && error?.message.contains("127.0.0.1:\(proxy.port)") == true)
    proxy.refuse(false)
    // Where a refusal took long, the server is not asked again at once.
    #expect(
      try await eventually {
        (try? await catalog.claim(sketch.request(sketch.publication())))?.intent != nil
      })
    try await catalog.close()
  }

  @Test func whoIsStoppedPastItsLeaseIsFencedOff() async throws {
    let database = try await TestDatabase()
    // It sends no heartbeat, like a stopped process.
    let first = try await PostgresCatalog.open(
      try database.pool(), lease: .milliseconds(300), heartbeat: .seconds(86_400))
    let second = try await PostgresCatalog.open(try database.pool())
    let request = sketch.request(sketch.publication())
    let old = try #require(try await first.claim(request).intent)
    var taken: Intent?
    while taken == nil { taken = try await second.claim(request).intent }
    #expect(taken?.attempt == 2)
    // It resumes and sends a heartbeat, but another process has its intent.
    try await first.renew()
    await expect(.leaseLost) {
      _ = try await first.complete(old, draft: sketch.draft(), stored: sketch.stored(old))
    }
    let fresh = try await first.publish(sketch.request(sketch.publication()), with: sketch)
    #expect(fresh?.pageNumber == 1)
    let new = try #require(taken)
    let post = try await second.complete(new, draft: sketch.draft(), stored: sketch.stored(new))
    #expect(post.pageNumber == 2)
    #expect(try await second.status().posts == 2)
  }

  @Test(arguments: [-86_400.0, 86_400.0])
  func theClockOfAMachineDecidesNothing(_ seconds: Double) async throws {
    let database = try await TestDatabase()
    let wrong = SettableClock()
    wrong.advance(by: Date().timeIntervalSince(wrong.now()) + seconds)
    let (first, second) = (
      try await PostgresCatalog.open(try database.pool()),
      try await PostgresCatalog.open(try database.pool(), clock: wrong)
    )
    let request = sketch.request(sketch.publication())
    _ = try await first.claim(request)
    #expect(try await second.claim(request).isHeld)
    let post = try #require(
      try await second.publish(sketch.request(sketch.publication()), with: sketch))
    #expect(abs(try #require(post.createdAt).timeIntervalSinceNow) < 3600)
  }

  /// Claims and completes all `publications` in batches, in random order.
  private static func publish(
    _ publications: [Publication], to catalog: PostgresCatalog, seed: Int, _ sketch: Sketch, _ tally: Tally
  ) throws {
    var random = SplitMix64(seed: UInt64(seed))
    for batch in publications.shuffled(using: &random).chunks(of: 7) {
      let claims = try catalog.claim(batch.map { sketch.request($0) }, noting: [])
      let completions = try claims.compactMap { try $0.get().intent }.map {
        Completion(intent: $0, draft: sketch.draft(), stored: sketch.stored($0))
      }
      for post in try catalog.complete(completions, noting: []) { tally.count(try post.get().id) }
    }
  }

  @Test func manyWhoRaceForTheSameVideosMakeOnePostOfEach() async throws {
    let database = try await TestDatabase()
    let publications = (0..<60).map { _ in sketch.publication() }
    let tally = Tally()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for racer in 0..<8 {
        group.addTask { [sketch] in
          let catalog = try await PostgresCatalog.open(try database.pool { $0.connections = 2 })
          try await onThread { try Self.publish(publications, to: catalog, seed: racer, sketch, tally) }
          try await catalog.close()
        }
      }
      try await group.waitForAll()
    }
    let reader = try #require(try await PostgresCatalog.openReadOnly(try database.pool()))
    let posts = try await reader.posts(from: 1, count: 1000)
    #expect(posts.count == publications.count)
    #expect(posts.map(\.pageNumber) == Array(1...publications.count))
    #expect(Set(posts.compactMap(\.digest)) == Set(publications.map(\.digest)))
    #expect(tally.counts == Dictionary(uniqueKeysWithValues: posts.map { ($0.id, 1) }))
    #expect(try await reader.damage().isEmpty)
  }
}

/// Counts how often each post was reported.
private final class Tally: Sendable {
  private let told = Mutex<[PostID: Int]>([:])

  var counts: [PostID: Int] { told.withLock { $0 } }

  func count(_ post: PostID) { told.withLock { $0[post, default: 0] += 1 } }
}

/// How the tables are created, and who may do what with them.
@Suite(.besidePostgres) struct PostgresSchemaTests {
  private let sketch = Sketch()

  @Test func severalThatStartAtTheSameMomentMakeOneCatalog() async throws {
    let database = try await TestDatabase()
    let owners = try await withThrowingTaskGroup(of: PostgresCatalog.self) { group in
      for _ in 0..<8 {
        group.addTask { try await PostgresCatalog.open(try database.pool { $0.connections = 1 }) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(try await owners[0].owners().count == 8)
    #expect(try await owners[0].feedRevision() == owners[7].feedRevision())
  }

  @Test func thereIsNoneToReadBeforeSomebodyWrites() async throws {
    let database = try await TestDatabase()
    #expect(try await PostgresCatalog.openReadOnly(try database.pool()) == nil)
    try await PostgresCatalog.open(try database.pool()).close()
    #expect(try await PostgresCatalog.openReadOnly(try database.pool()) != nil)
  }

  @Test func whatANewerReelHasMadeIsLeftAlone() async throws {
    let database = try await TestDatabase()
    try await PostgresCatalog.open(try database.pool()).close()
    try database.connect().execute("UPDATE reel.schema_version SET version = version + 1")
    await expect(.newerSchema) { _ = try await PostgresCatalog.open(try database.pool()) }
    await expect(.newerSchema) { _ = try await PostgresCatalog.openReadOnly(try database.pool()) }
  }

  @Test func whoMayOnlyReadReads() async throws {
    let database = try await TestDatabase()
    let writer = try await PostgresCatalog.open(try database.pool())
    let post = try #require(try await writer.publish(sketch.request(sketch.publication()), with: sketch))
    let role = "r\(database.name)"
    let admin = try database.connect()
    try admin.execute(
      """
      CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA reel TO \(role);
      GRANT SELECT ON reel.schema_version, reel.intent, reel.post, reel.feed, reel.destination, reel.said, reel.attempt,
        reel.removal, reel.failure TO \(role)
      """)
    let url = database.url().replacing("postgres@", with: "\(role)@")
    let library = try PostgresLibrary()
    let address = try PostgresAddress(url, passwords: .elsewhere, library: library, environment: { _ in nil })
    let reader = try #require(
      try await PostgresCatalog.openReadOnly(PostgresPool(address, library: library)))
    #expect(try await reader.newestPosts(before: nil, limit: 3).posts == [post])
    #expect(try await reader.status().posts == 1)
    await expect(.notOurs) { _ = try await PostgresCatalog.open(PostgresPool(address, library: library)) }
    await expect(.unusable) { _ = try await reader.claim(sketch.request(sketch.publication())) }
  }

  @Test func aDatabaseThatKeepsOtherTextThanUnicodeIsRefused() async throws {
    let database = try await TestDatabase()
    let name = "l\(database.name)"
    try database.connect().execute(
      "CREATE DATABASE \(name) ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    let library = try PostgresLibrary()
    let pool = PostgresPool(try database.address(name), library: library)
    let error = await #expect(throws: CatalogError.self) { _ = try await PostgresCatalog.open(pool) }
    #expect(error?.message.contains("UTF8") == true)
  }

  @Test func twoMachinesKnowDifferentFilesByTheSameNumbers() async throws {
    let database = try await TestDatabase()
    let (first, second) = (
      try await PostgresCatalog.open(try database.pool(), host: "a"),
      try await PostgresCatalog.open(try database.pool(), host: "b")
    )
    let file = FileIdentity(device: 1, inode: 2, size: 3, modifiedAt: 4, changedAt: 5)
    let digest = sketch.digest()
    let failure = FailureRecord(code: "c", message: "m", refused: false, at: Date(timeIntervalSince1970: 1))
    first.note([
      .digest(digest, of: file), .failure(failure, at: SourcePath("/a.mp4")),
      .failure(failure, at: SourcePath("s3://uploads/a.mp4")),
    ])
    _ = try await first.cacheStatus()
    #expect(try first.knownFile(file) == digest)
    #expect(try second.knownFile(file) == nil)
    second.note([
      .failure(nil, at: SourcePath("/a.mp4")), .failure(nil, at: SourcePath("s3://uploads/a.mp4")),
    ])
    _ = try await second.cacheStatus()
    #expect(try await first.status().failures.map(\.path) == [SourcePath("/a.mp4")])
  }
}

/// The contract again, over connections that are shared with others from one transaction to the next.
@Suite(
  .enabled(if: PostgresServer.isInstalled, PostgresServer.absence),
  .enabled(if: PostgresServer.hasBouncer, PostgresServer.bouncerAbsence))
struct PostgresBehindPgBouncerTests {
  private static let bouncer = Task { try await PostgresServer.shared().startBouncer() }

  @Test(arguments: PostCatalogContractTests.all)
  func keeps(_ promise: CatalogContractTest) async throws {
    try await promise.check(try await PostgresStage(port: try await Self.bouncer.value.port))
  }
}

extension Array {
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
