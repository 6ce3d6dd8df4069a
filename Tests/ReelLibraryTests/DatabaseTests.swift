import Dispatch
import Glibc
import Synchronization
import ReelTestSupport
import Testing

@testable import ReelLibrary

@Suite(.shortTime) struct DatabaseTests {
  private static let count = "SELECT count(*) FROM t"

  /// Runs `body` on `count` threads of its own, and returns once all have ended.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable () throws -> Void) async throws {
    try await withThrowingTaskGroup { group in
      for number in 0..<count {
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "test.\(number)").async { continuation.resume(with: Result(catching: body)) }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// Counts the threads that are in the same place at the same time.
  private final class Crowd: Sendable {
    private let now = Mutex(0)
    private let largest = Mutex(0)
    var most: Int { largest.withLock { $0 } }

    func enter() {
      let inside = now.withLock { now in
        now += 1
        return now
      }
      largest.withLock { $0 = max($0, inside) }
    }
    func leave() { now.withLock { $0 -= 1 } }
  }

  // MARK: Concurrency

  @Test("as many readers as allowed read at once, and one writer writes beside them")
  func readersAtOnce() async throws {
    let place = try TemporaryDatabase()
    let database = try place.database(readers: 3)
    let crowd = Crowd()
    try await onThreads(3) {
      try database.read { db in
        crowd.enter()
        // None of the three continues until all have arrived.
        while crowd.most < 3 { usleep(1000) }
        #expect(try db.number(Self.count) ?? 0 >= 3)
        try database.write { writer in try writer.run("INSERT INTO t VALUES (4)") }
      }
    }
    #expect(try database.look { db in try db.number(Self.count) } == 6)
  }

  @Test(arguments: [0, 1, 2])
  func noMoreReadThanMay(readers: Int) async throws {
    let place = try TemporaryDatabase()
    let database = readers == 0 ? Database(try place.filled()) : try place.database(readers: readers)
    #expect(database.hasReaders == (readers > 0))
    let crowd = Crowd()
    try await onThreads(6) {
      try database.read { db in
        crowd.enter()
        defer { crowd.leave() }
        usleep(3000)
        let count = try db.number(Self.count)
        #expect(count == 3)
      }
    }
    #expect(crowd.most <= max(1, readers))
  }

  @Test func aReadingIsOfOneMomentAndALookIsNot() throws {
    let place = try TemporaryDatabase()
    let database = try place.database(readers: 1)
    let insert: @Sendable () throws -> Void = {
      try database.write { db in try db.run("INSERT INTO t VALUES (7)") }
    }
    let around: @Sendable (Connection) throws -> [Int64?] = { db in
      let before = try db.number(Self.count)
      try insert()
      return [before, try db.number(Self.count)]
    }
    #expect(try database.read(around) == [3, 3])
    #expect(try database.look(around) == [4, 5])
    #expect(throws: SQLiteError.self) { try database.read { db in try db.run("DELETE FROM t") } }
  }

  @Test func aReaderThatCannotBeOpenedTakesNoPlace() throws {
    let place = try TemporaryDatabase()
    let (writer, path) = (try place.filled(), place.path)
    let attempts = Attempts(failures: 3)
    let database = Database(writer: writer, readers: 1) {
      try attempts.pass()
      return try Connection(path, .readOnly)
    }
    for _ in 0..<3 { expect(.cannotOpen) { try database.look { db in try db.number(Self.count) } } }
    #expect(try database.look { db in try db.number(Self.count) } == 3)
  }

  private final class Attempts: Sendable {
    private let failures: Mutex<Int>
    init(failures: Int) { self.failures = Mutex(failures) }

    func pass() throws {
      try failures.withLock { failures in
        failures -= 1
        if failures >= 0 { throw SQLiteError(.cannotOpen) }
      }
    }
  }

  // MARK: Closing

  @Test func closedItIsOfNoUseAndLeavesNothingBeside() throws {
    let place = try TemporaryDatabase()
    let database = try place.database(readers: 2)
    #expect(try database.read { db in try db.number(Self.count) } == 3)
    #expect(place.isThere("-wal"))
    try database.close()
    try database.close()
    #expect(!place.isThere("-wal") && !place.isThere("-shm"))
    expect(.misuse) { try database.look { db in try db.number(Self.count) } }
    expect(.misuse) { try database.write { db in try db.run("DELETE FROM t") } }
  }

  @Test func closingWaitsForWhoIsAtIt() async throws {
    let place = try TemporaryDatabase()
    let database = try place.database(readers: 2)
    let begun = DispatchSemaphore(value: 0)
    let found = Crowd()
    try await onThreads(1) {
      DispatchQueue(label: "test.reader").async {
        _ = try? database.read { db in
          begun.signal()
          usleep(50_000)
          if try db.number(Self.count) == 3 { found.enter() }
        }
      }
      begun.wait()
      try database.close()
      #expect(found.most == 1)
    }
  }
}
