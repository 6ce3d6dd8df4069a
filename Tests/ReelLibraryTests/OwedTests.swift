import Foundation
import ReelCore
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelLibrary
@testable import ReelPostgres

/// A process that stays alive, but whose catalog could not be written for a while. What it could not release must not
/// remain its own forever.
@Suite(.shortTime) struct OwedTests {
  private let sketch = Sketch()

  private func publish(_ request: ClaimRequest, in catalog: any PostCatalog) async throws -> Post {
    try #require(try await catalog.publish(request, with: sketch))
  }

  /// Claims intents, fails to release them while `during` blocks writes, and then checks that all of them can be
  /// claimed again.
  private func check(
    _ catalog: any PostCatalog & PostChanging, during: (() async throws -> Void) async throws -> Void
  ) async throws {
    let post = try await publish(sketch.request(sketch.publication()), in: catalog)
    let requests = (0..<3).map { _ in sketch.request(sketch.publication()) }
    var intents: [Intent] = []
    for request in requests { intents.append(try #require(try await catalog.claim(request).intent)) }
    let removal = PostChange(post.id, .removal(Removal(at: Date())))
    guard case .begun(let open)? = try catalog.begin([removal]).first else {
      Issue.record("not begun")
      return
    }
    try await during {
      await #expect(throws: CatalogError.self) {
        _ = try await catalog.complete(intents[0], draft: sketch.draft(), stored: sketch.stored(intents[0]))
      }
      await #expect(throws: CatalogError.self) { try await catalog.release(intents[0], because: .retryLater) }
      await #expect(throws: CatalogError.self) { _ = try await catalog.giveUp(intents[1]) }
      #expect(throws: CatalogError.self) { try catalog.release([open]) }
    }
    let again = try #require(try await catalog.claim(requests[0]).intent)
    #expect(again.id == intents[0].id && again.attempt == 2)
    // The intent that was given up keeps its name, so the new one gets another.
    let other = try #require(try await catalog.claim(sketch.request(requests[1].publication)).intent)
    #expect(other.id != intents[1].id && other.attempt == 1)
    // An intent in progress can't be claimed again, even by the same process.
    #expect(try await catalog.claim(requests[0]).isHeld)
    #expect(try await catalog.claim(requests[2]).isHeld)
    guard case .begun(let resumed)? = try catalog.begin([removal]).first else {
      Issue.record("held")
      return
    }
    #expect(resumed.number == open.number)
    _ = try catalog.finish([resumed])
    try catalog.strikeOut([resumed])
    for intent in [again, intents[2]] {
      _ = try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    }
    try await catalog.close()
  }

  @Test func whatALockedCatalogDidNotTakeBackIsGivenBackLater() async throws {
    let stage = try await SQLiteStage()
    let catalog = try await SQLiteCatalog.open(
      library: stage.temporary.library, clock: stage.clock, heartbeat: .seconds(86_400),
      busyTimeout: .milliseconds(20))
    try await check(catalog) { body in
      let other = try Connection(stage.temporary.library.catalogPath)
      try other.execute("BEGIN IMMEDIATE")
      try await body()
      try other.execute("ROLLBACK")
    }
  }

  @Test(.besidePostgres) func whatAServerDidNotTakeBackIsGivenBackLater() async throws {
    let stage = try await PostgresStage()
    let catalog = try await stage.openPostgres()
    let tables = ["attempt", "change"]
    try await check(catalog) { body in
      let other = try stage.database.connect()
      for table in tables { try other.execute("ALTER TABLE reel.\(table) RENAME TO \(table)_away") }
      try await body()
      for table in tables { try other.execute("ALTER TABLE reel.\(table)_away RENAME TO \(table)") }
    }
  }

  /// The process itself does not ask for the intent again: another one waits for it.
  @Test(.besidePostgres) func aSignOfLifeGivesItBack() async throws {
    let stage = try await PostgresStage()
    let catalog = try await stage.openPostgres(heartbeat: .milliseconds(50))
    let other = try await stage.openPostgres()
    let request = sketch.request(sketch.publication())
    let intent = try #require(try await catalog.claim(request).intent)
    let db = try stage.database.connect()
    try db.execute("ALTER TABLE reel.attempt RENAME TO attempt_away")
    await #expect(throws: CatalogError.self) { try await catalog.release(intent, because: .retryLater) }
    try db.execute("ALTER TABLE reel.attempt_away RENAME TO attempt")
    var taken: Intent?
    while taken == nil { taken = try await other.claim(request).intent }
    #expect(taken?.attempt == 2)
    try await catalog.close()
    try await other.close()
  }

  /// Waits until the catalog uses the server again: where a refusal took long, it does not ask at once.
  private func restore(_ proxy: CuttingProxy, for catalog: PostgresCatalog) async throws {
    proxy.refuse(false)
    #expect(try await eventually { (try? await catalog.status()) != nil })
  }

  /// The server has committed, but is unreachable before it can answer, for longer than anybody waits.
  @Test(.besidePostgres) func whatWasGrantedAndNeverHeardOfIsFreeAgain() async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let catalog = try await PostgresCatalog.open(
      try database.pool(port: proxy.port) { $0.patience = .milliseconds(200) }, lease: .seconds(3600),
      heartbeat: .seconds(86_400))
    let post = try await publish(sketch.request(sketch.publication()), in: catalog)
    let (alone, batched) = (sketch.request(sketch.publication()), sketch.request(sketch.publication()))
    let removal = PostChange(post.id, .removal(Removal(at: Date())))
    func cut(_ body: @escaping @Sendable () async throws -> Void) async throws {
      // Makes sure that there is a connection to cut.
      #expect(try await catalog.status().posts <= 1)
      let before = proxy.cuts
      proxy.arm(.after)
      proxy.refuse(true)
      await #expect(throws: CatalogError.self) { try await body() }
      #expect(proxy.cuts == before + 1)
      try await restore(proxy, for: catalog)
    }
    try await cut { _ = try await catalog.claim(alone) }
    try await cut { try await onThread { _ = try catalog.claim([batched], noting: []) } }
    try await cut { try await onThread { _ = try catalog.begin([removal]) } }
    for request in [alone, batched] {
      var claim = try await catalog.claim(request)
      while claim.isHeld { claim = try await catalog.claim(request) }
      #expect(claim.intent?.id == request.newID && claim.intent?.attempt == 2)
    }
    guard case .begun(let open)? = try catalog.begin([removal]).first else {
      Issue.record("held")
      return
    }
    _ = try catalog.finish([open])
    try catalog.strikeOut([open])
    #expect(try database.connect().value("SELECT count(*) FROM reel.change", as: Int.self) == 0)
    try await catalog.close()
  }

  /// The server has made a post, but the reply was lost. Whoever claims its video next sends the event.
  @Test(.besidePostgres, arguments: [false, true])
  func whatWasPublishedAndNeverHeardOfIsTold(_ isTriedAgain: Bool) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let catalog = try await PostgresCatalog.open(
      try database.pool(port: proxy.port) { $0.patience = .milliseconds(200) }, lease: .seconds(3600),
      heartbeat: .seconds(86_400))
    let requests = (0..<3).map { _ in sketch.request(sketch.publication()) }
    for (place, request) in requests.enumerated() {
      let intent = try #require(try await catalog.claim(request).intent)
      proxy.arm(.after)
      proxy.refuse(true)
      let completion = Completion(intent: intent, draft: sketch.draft(), stored: sketch.stored(intent))
      await #expect(throws: CatalogError.self) {
        try await onThread { _ = try catalog.complete([completion], noting: []) }
      }
      if !isTriedAgain {
        await #expect(throws: CatalogError.self) { try await catalog.release(intent, because: .retryLater) }
      }
      #expect(proxy.cuts == place + 1)
      try await restore(proxy, for: catalog)
      if isTriedAgain {
        let error = await #expect(throws: CatalogError.self) {
          try await onThread { _ = try catalog.complete([completion], noting: [])[0].get() }
        }
        #expect(error?.code == .leaseLost)
      }
      let told: Bool?
      switch place {
      case 0: told = try catalog.published(request.publication)?.announced
      case 1: told = try await catalog.claim(request).post?.announced
      default: told = try catalog.claim([request], noting: [])[0].get().post?.announced
      }
      #expect(told == false)
      #expect(try catalog.published(request.publication)?.announced == true)
    }
    #expect(try database.connect().value("SELECT count(*) FROM reel.outbox", as: Int.self) == 3)
    try await catalog.close()
  }

  /// The server has handed a dead process's event over, but the reply was lost.
  @Test(.besidePostgres) func whatWasHandedOverAndNeverHeardOfIsTold() async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let dead = try await PostgresCatalog.open(try database.pool())
    let requests = (0..<2).map { _ in sketch.request(sketch.publication()) }
    for request in requests { _ = try await publish(request, in: dead) }
    try await dead.die()
    let catalog = try await PostgresCatalog.open(
      try database.pool(port: proxy.port) { $0.patience = .milliseconds(200) }, lease: .seconds(3600),
      heartbeat: .seconds(86_400))
    for request in requests {
      #expect(try await catalog.status().posts == 2)
      proxy.arm(.after)
      proxy.refuse(true)
      await #expect(throws: CatalogError.self) {
        if request.newID == requests[0].newID {
          try await onThread { _ = try catalog.published(request.publication) }
        } else {
          _ = try await catalog.claim(request)
        }
      }
      try await restore(proxy, for: catalog)
      #expect(try catalog.published(request.publication)?.announced == false)
      #expect(try catalog.published(request.publication)?.announced == true)
    }
    #expect(proxy.cuts == 2)
    try await catalog.close()
  }
}
