import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelLibrary

/// Which owners are alive, according to lock and lease.
@Suite struct OwnerTests {
  private let sketch = Sketch()

  private func resumes(_ catalog: SQLiteCatalog, _ publication: Publication) async throws -> Bool {
    try await catalog.claim(sketch.request(publication)).intent != nil
  }

  @Test func onOneMachineTheLockTells() async throws {
    let stage = try await SQLiteStage()
    let (first, second) = (try await stage.openSQLite(), try await stage.openSQLite())
    let publication = sketch.publication()
    _ = try await first.claim(sketch.request(publication))
    stage.clock.advance(by: 59)
    #expect(try await !resumes(second, publication))
    try await first.die()
    #expect(try await resumes(second, publication))
  }

  @Test("in memory only the lock counts, however much time passes, and a released one is free")
  func inMemory() throws {
    let clock = SettableClock()
    let first = MemoryCatalog(clock: clock)
    var second: MemoryCatalog? = first.another()
    let request = sketch.request(sketch.publication())
    func claimed(by catalog: MemoryCatalog) throws -> Claim {
      try catalog.claim([request], noting: [])[0].get()
    }
    #expect(try second.map(claimed)?.intent?.attempt == 1)
    clock.advance(by: 1e12)
    #expect(try claimed(by: first).isHeld)
    second = nil
    #expect(try claimed(by: first).intent?.attempt == 2)
  }

  @Test func fromAnotherMachineTheLeaseTells() async throws {
    let stage = try await SQLiteStage()
    let first = try await stage.openSQLite(host: "elsewhere")
    let second = try await stage.openSQLite()
    let publication = sketch.publication()
    let old = try #require(try await first.claim(sketch.request(publication)).intent)
    try await first.die()
    stage.clock.advance(by: 59.9)
    #expect(try await !resumes(second, publication))
    stage.clock.advance(by: 0.1)
    #expect(try await resumes(second, publication))
    await expect(.leaseLost) {
      _ = try await first.complete(old, draft: sketch.draft(), stored: sketch.stored(old))
    }
  }

  @Test("after a reboot no owner from before counts as alive, whatever the clock says")
  func startedAnew() async throws {
    let stage = try await SQLiteStage()
    let publication = sketch.publication()
    let first = try await stage.openSQLite(host: "boot-1 machine")
    let post = try #require(
      try await first.publish(sketch.request(sketch.publication()), with: sketch))
    _ = try await first.claim(sketch.request(publication))
    try await first.die()
    stage.clock.advance(by: -86_400 * 365)
    let another = try await stage.openSQLite(host: "boot-2 other")
    #expect(try await !resumes(another, publication))
    try await another.close()
    let second = try await stage.openSQLite(host: "boot-2 machine")
    #expect(try await resumes(second, publication))
    #expect(try await second.status().posts == 1)
    #expect(try await second.post(post.id) != nil)
  }

  @Test("a running clone of this machine is not taken for dead because of its ids")
  func copyOfTheMachine() async throws {
    let stage = try await SQLiteStage()
    let publication = sketch.publication()
    let first = try await stage.openSQLite(host: "boot-1 machine")
    let intent = try #require(try await first.claim(sketch.request(publication)).intent)
    let second = try await stage.openSQLite(host: "boot-2 machine")
    #expect(try await !resumes(second, publication))
    let examined = try #require(
      try await SQLiteCatalog.openReadOnly(
        library: stage.temporary.library, clock: stage.clock, host: "boot-2 machine"))
    #expect(try await examined.owners().map(\.life) == [.alive, .alive])
    try await examined.close()
    _ = try await first.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    #expect(try await second.status().posts == 1)
  }

  @Test("if another kernel may have the file system open, the lease also decides for other boots")
  func otherBootElsewhere() async throws {
    let stage = try await SQLiteStage()
    let first = try await stage.openSQLite(host: "boot-1 machine")
    let owner = try first.writable().steps.me
    try await first.die()
    let second = try await stage.openSQLite(host: "boot-1 machine")
    func isAlive(isLocal: Bool) async throws -> Bool {
      let owners = ProcessRegistry(
        library: stage.temporary.library, clock: stage.clock, host: "boot-2 machine", lease: .seconds(60),
        isLocal: isLocal)
      return try await second.connection.look { db in try owners.isAlive(owner, in: db) }
    }
    // Recorded again, because the second catalog has deleted it.
    let (writer, steps) = (try second.writable().writer, try first.writable().steps)
    try await writer.commit { db in try steps.owners.renew(owner, lock: "catalog-gone", in: db) }
    #expect(try await isAlive(isLocal: false))
    #expect(try await !isAlive(isLocal: true))
    stage.clock.advance(by: 60)
    #expect(try await !isAlive(isLocal: false))
  }

  @Test(arguments: [
    ("b1 m", "b2 m", true), ("b1 m", "b1 m", false), ("b1 m", "b2 n", false), (" m", "b2 m", false),
    ("b1 ", "b2 ", false), ("", "b2 m", false), ("elsewhere", "b2 m", false),
  ])
  func anotherBoot(_ then: String, _ now: String, _ isAnother: Bool) {
    #expect(HostIdentity.isAnotherBoot(then, of: now) == isAnother)
  }

  @Test(arguments: [
    ("b m", "b m", true), ("b m", "b n", true), ("b ", "b m", true), ("b1 m", "b2 m", false),
    (" m", " m", false),
    ("", "", false), ("elsewhere", "b m", false),
  ])
  func oneKernel(_ one: String, _ other: String, _ isOne: Bool) {
    #expect(HostIdentity.isOneKernel(one, other) == isOne)
  }

  @Test("an intent can be given up for good only while no live process holds it")
  func givingUp() async throws {
    let stage = try await SQLiteStage()
    let publication = sketch.publication()
    let holder = try await stage.openSQLite(host: "elsewhere")
    let begun = try #require(try await holder.claim(sketch.request(publication)).intent)
    let doctor = try await stage.openSQLite()
    #expect(try await !doctor.giveUp(begun.id))
    try await holder.die()
    stage.clock.advance(by: 61)
    #expect(try await doctor.giveUp(begun.id))
    #expect(try await doctor.giveUp(begun.id))
    await expect(.leaseLost) {
      _ = try await holder.complete(begun, draft: sketch.draft(), stored: sketch.stored(begun))
    }
    let next = try #require(try await doctor.claim(sketch.request(publication)).intent)
    #expect(next.key != begun.key && next.attempt == 1)
    _ = try await doctor.complete(next, draft: sketch.draft(), stored: sketch.stored(next))
    #expect(try await !doctor.giveUp(next.id))
  }

  @Test("an intent that the process holds itself can't be given up, even after its lease")
  func givingUpOnesOwn() async throws {
    let stage = try await SQLiteStage()
    let catalog = try await stage.openSQLite()
    let begun = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
    stage.clock.advance(by: 61)
    #expect(try await !catalog.giveUp(begun.id))
    try await catalog.close()
  }

  @Test func aClockThatJumpsAheadCostsAnAttemptAndNoMore() async throws {
    let stage = try await SQLiteStage()
    let (first, second) = (try await stage.openSQLite(), try await stage.openSQLite())
    let publication = sketch.publication()
    let old = try #require(try await first.claim(sketch.request(publication)).intent)
    stage.clock.advance(by: 86_400 * 365)
    let new = try #require(try await second.claim(sketch.request(publication)).intent)
    #expect(new.attempt == 2)
    await expect(.leaseLost) {
      _ = try await first.complete(old, draft: sketch.draft(), stored: sketch.stored(old))
    }
    _ = try await second.complete(new, draft: sketch.draft(), stored: sketch.stored(new))
    #expect(try await first.status().posts == 1)
  }

  @Test func nobodyTakesOverFromItself() async throws {
    let stage = try await SQLiteStage()
    let catalog = try await stage.openSQLite()
    let publication = sketch.publication()
    let intent = try #require(try await catalog.claim(sketch.request(publication)).intent)
    stage.clock.advance(by: 3600)
    #expect(try await !resumes(catalog, publication))
    _ = try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
  }

  @Test func aClockThatJumpsBackTakesNothingFromTheLiving() async throws {
    let stage = try await SQLiteStage()
    let first = try await stage.openSQLite()
    let publication = sketch.publication()
    let intent = try #require(try await first.claim(sketch.request(publication)).intent)
    stage.clock.advance(by: -86_400 * 365)
    let second = try await stage.openSQLite()
    #expect(try await !resumes(second, publication))
    let post = try await first.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    #expect(try await second.post(post.id) == post)
  }

  @Test func aHeartbeatKeepsTheLease() async throws {
    let stage = try await SQLiteStage()
    let first = try await stage.openSQLite(host: "elsewhere", heartbeat: .milliseconds(10))
    let second = try await stage.openSQLite()
    let publication = sketch.publication()
    _ = try await first.claim(sketch.request(publication))
    let owner = try first.writable().steps.me
    for _ in 0..<4 {
      stage.clock.advance(by: 40)
      let leaseEnd = stage.clock.now().milliseconds + 60_000
      let isRenewed = try await eventually {
        try await second.connection.look { db in
          try db.number("SELECT leaseUntil FROM owner WHERE id = ?", [owner]) == leaseEnd
        }
      }
      #expect(isRenewed)
      #expect(try await !resumes(second, publication))
    }
    try await first.die()
    stage.clock.advance(by: 61)
    #expect(try await resumes(second, publication))
  }

  @Test func anOwnerThatWasStruckOutIsWrittenDownAgain() async throws {
    let stage = try await SQLiteStage()
    let first = try await stage.openSQLite(host: "elsewhere")
    stage.clock.advance(by: 2 * 86_400)
    let second = try await stage.openSQLite()
    let steps = try first.writable().steps
    let (writer, others) = (try second.writable().writer, try second.writable().steps.owners)
    let before = try await writer.commit { db in try others.isAlive(steps.me, in: db) }
    #expect(!before)
    try await writer.commit { db in try steps.owners.renew(steps.me, lock: "catalog-x", in: db) }
    let after = try await writer.commit { db in try others.isAlive(steps.me, in: db) }
    #expect(after)
  }

  @Test func locksOfTheDeadAreRemovedAndNoOthers() async throws {
    let stage = try await SQLiteStage()
    let folder = stage.temporary.library.temporaryPath
    let dead = try await stage.openSQLite()
    let alive = try await stage.openSQLite()
    try await dead.die()
    _ = try OwnerLock(directory: folder, name: "catalog-diedBeforeItHadARow")
    try await waitForDeath(of: "catalog-diedBeforeItHadARow", LockFiles(stage.temporary.library))
    _ = try OwnerLock(directory: folder, name: "upload-somebodyElses")
    try Data().write(to: URL(fileURLWithPath: folder + "/catalog-something.part"))
    let last = try await stage.openSQLite()
    let left = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(left.count == 4)
    #expect(left.contains("upload-somebodyElses.owner"))
    #expect(left.contains("catalog-something.part"))
    let owners = try await last.writable().writer.commit { db in
      try db.number("SELECT count(*) FROM owner")
    }
    #expect(owners == 2)
    try await alive.close()
    try await last.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
  }

  @Test func aCatalogThatIsLetGoOfIsDead() async throws {
    let stage = try await SQLiteStage()
    let publication = sketch.publication()
    var first: SQLiteCatalog? = try await stage.openSQLite()
    _ = try await first?.claim(sketch.request(publication))
    let second = try await stage.openSQLite()
    #expect(try await !resumes(second, publication))
    first = nil
    let isFree = try await eventually { try await resumes(second, publication) }
    #expect(isFree)
  }
}
