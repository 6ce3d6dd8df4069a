import Dispatch
import Glibc
import ReelTestSupport
import Testing

@testable import ReelLibrary

@Suite(.shortTime) struct InterruptionTests {
  /// A statement that ends only when it is interrupted.
  private static let endless =
    "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"

  @Test("a running statement is interrupted, however far it has come", arguments: [0, 100, 1000, 20_000])
  func running(after microseconds: UInt32) throws {
    let place = try TemporaryDatabase()
    let database = try place.database(readers: 1)
    for isRead in [true, false] {
      let interruption = Interruption()
      DispatchQueue(label: "test.requesting").async {
        usleep(microseconds)
        interruption.request()
      }
      expect(.interrupted) {
        let work: @Sendable (Connection) throws -> Void = { db in _ = try db.number(Self.endless) }
        if isRead {
          try database.read(endedBy: interruption, work)
        } else {
          try database.look(endedBy: interruption, work)
        }
      }
      // The connection still works.
      #expect(try database.read { db in try db.number("SELECT count(*) FROM t") } == 3)
    }
  }

  @Test func whatHasNotBegunDoesNotBegin() throws {
    let place = try TemporaryDatabase()
    let database = try place.database(readers: 1)
    let interruption = Interruption()
    interruption.request()
    expect(.interrupted) {
      try database.read(endedBy: interruption) { db in try db.number("SELECT count(*) FROM t") }
    }
  }

  @Test func whatHasEndedIsNotDisturbed() throws {
    let place = try TemporaryDatabase()
    let database = Database(try place.filled())
    let interruption = Interruption()
    let count = "SELECT count(*) FROM t"
    #expect(try database.read(endedBy: interruption) { db in try db.number(count) } == 3)
    interruption.request()
    #expect(try database.read { db in try db.number(count) } == 3)
    try database.close()
    interruption.request()
  }
}
