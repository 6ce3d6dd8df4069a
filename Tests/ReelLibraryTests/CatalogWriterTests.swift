import Foundation
import ReelCore
import Synchronization
import ReelTestSupport
import Testing

@testable import ReelLibrary

@Suite struct CatalogWriterTests {
  /// A database with one table, and a writer for it.
  private struct Bench {
    let temporary: TemporaryLibrary
    let database: Database
    let catalog: CatalogWriter

    init(patience: Int = 50) async throws {
      temporary = try await TemporaryLibrary()
      let path = temporary.library.catalogPath
      let writer = try Connection(path)
      try CatalogBusyHandler(longest: 0.05).install(on: writer)
      try writer.execute(
        """
        PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER CHECK (n >= 0)) STRICT
        """)
      database = Database(writer: writer, readers: 2) { try Connection(path, .readOnly) }
      catalog = CatalogWriter(
        database: database, connection: CatalogConnection(database, path: path),
        patience: .milliseconds(patience))
    }

    func numbers() throws -> [Int] {
      try database.read { db in try db.values("SELECT n FROM t ORDER BY id") }
    }
  }

  @Test("writing to a file that was moved or removed does not succeed", arguments: [true, false])
  func gone(isMoved: Bool) async throws {
    let bench = try await Bench()
    let path = bench.temporary.library.catalogPath
    try await bench.catalog.commit { try $0.run("INSERT INTO t (n) VALUES (1)") }
    try #require(isMoved ? rename(path, path + ".moved") == 0 : unlink(path) == 0)
    let error = await #expect(throws: CatalogError.self) {
      try await bench.catalog.commit { try $0.run("INSERT INTO t (n) VALUES (2)") }
    }
    #expect(error?.code == .unusable && error?.message.contains("was moved, removed or replaced") == true)
  }

  /// Blocks the writer until a given number of changes are queued.
  private final class Hold: Sendable {
    private let catalog: CatalogWriter
    private let isOver = DispatchSemaphore(value: 0)

    init(_ catalog: CatalogWriter) async {
      self.catalog = catalog
      await withCheckedContinuation { begun in
        Task { [isOver] in
          try? await catalog.alone { _ in
            begun.resume()
            isOver.wait()
          }
        }
      }
    }

    func end(with count: Int) async {
      while catalog.pendingCount < count { try? await Task.sleep(for: .milliseconds(1)) }
      isOver.signal()
    }
  }

  @Test func whatComesTogetherIsCommittedTogether() async throws {
    let bench = try await Bench()
    let commits = Commits()
    try bench.database.write { db in try commits.count(of: db) }
    let hold = await Hold(bench.catalog)
    await withTaskGroup { group in
      for number in 0..<500 {
        group.addTask {
          let given = try? await bench.catalog.commit { db in
            try db.run("INSERT INTO t (n) VALUES (?)", [number])
            return number
          }
          #expect(given == number)
        }
      }
      await hold.end(with: 500)
    }
    #expect(try bench.numbers().sorted() == Array(0..<500))
    #expect(commits.count == 1)
  }

  @Test func whatBlocksIsCommittedWithTheOthers() async throws {
    let bench = try await Bench()
    let commits = Commits()
    try bench.database.write { db in try commits.count(of: db) }
    let (hold, lanes) = (await Hold(bench.catalog), BlockingQueue(label: "test.lanes", width: 40))
    await withTaskGroup { group in
      for number in 0..<40 {
        group.addTask {
          let given = await lanes.run { () throws(Never) in
            try? bench.catalog.writeTogether { db in
              try db.run("INSERT INTO t (n) VALUES (?)", [number])
              if number == 7 { throw CatalogError(.leaseLost, "mine") }
              return number
            }
          }
          #expect(given == (number == 7 ? nil : number))
        }
      }
      await hold.end(with: 40)
    }
    #expect(try bench.numbers().sorted() == (0..<40).filter { $0 != 7 })
    #expect(commits.count == 1)
    bench.catalog.close()
    let error = #expect(throws: CatalogError.self) { try bench.catalog.writeTogether { _ in } }
    #expect(error?.code == .unusable)
  }

  @Test func oneThatFailsTakesNoOtherWithIt() async throws {
    let bench = try await Bench()
    await withTaskGroup { group in
      for number in 0..<200 {
        group.addTask {
          let result = await Self.result { () throws(CatalogError) in
            try await bench.catalog.commit { db in
              try db.run("INSERT INTO t (n) VALUES (?)", [number])
              if number % 4 == 1 { try db.run("INSERT INTO t (n) VALUES (-1)") }
              if number % 4 == 2 { throw CatalogError(.leaseLost, "mine") }
              // An error that can't come from the row itself.
              if number % 8 == 3 { throw SQLiteError(.corrupt, "mine") }
            }
          }
          let expected: CatalogError.Code? =
            number % 8 == 3 ? .corrupt : [nil, .unusable, .leaseLost, nil][number % 4]
          #expect(result?.code == expected)
        }
      }
    }
    #expect(try bench.numbers().sorted() == (0..<200).filter { [0, 4, 7].contains($0 % 8) })
  }

  private static func result(_ body: () async throws(CatalogError) -> Void) async -> CatalogError? {
    do {
      try await body()
      return nil
    } catch {
      return error
    }
  }

  @Test func whatIsHandedInFirstIsWrittenFirst() async throws {
    let bench = try await Bench(patience: 100_000)
    for number in 0..<2000 {
      bench.catalog.enqueue { db in try db.run("INSERT INTO t (n) VALUES (?)", [number]) }
    }
    try await bench.catalog.flush()
    #expect(try bench.numbers() == Array(0..<2000))
  }

  @Test func whatNobodyWaitsForIsWrittenSoon() async throws {
    let bench = try await Bench(patience: 20)
    for round in 1...3 {
      bench.catalog.enqueue { db in try db.run("INSERT INTO t (n) VALUES (1)") }
      let isWritten = try await eventually { try bench.numbers().count >= round }
      #expect(isWritten)
      #expect(try bench.numbers().count == round)
    }
  }

  @Test func aLoneWriterDoesNotWaitForCompany() async throws {
    let bench = try await Bench(patience: 100_000)
    for number in 0..<5 {
      try await bench.catalog.commit { db in try db.run("INSERT INTO t (n) VALUES (?)", [number]) }
    }
    #expect(try bench.numbers() == Array(0..<5))
  }

  @Test func aFullDiskIsSaidAndNothingIsHalfWritten() async throws {
    let bench = try await Bench(patience: 100_000)
    let pages = try await bench.catalog.alone { db in try db.number("PRAGMA page_count") ?? 0 }
    try await bench.catalog.alone { db in try db.execute("PRAGMA max_page_count = \(pages + 2)") }
    bench.catalog.enqueue { db in try db.run("INSERT INTO t (n) VALUES (7)") }
    let failures = await withTaskGroup(of: CatalogError?.self) { group in
      for _ in 0..<20 {
        group.addTask {
          await Self.result { () throws(CatalogError) in
            try await bench.catalog.commit { db in
              for number in 0..<2000 { try db.run("INSERT INTO t (n) VALUES (?)", [number]) }
            }
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1?.code) }
    }
    #expect(failures == Array(repeating: .diskFull, count: 20))
    #expect(try bench.numbers().count < 2)
    try await bench.catalog.alone { db in try db.execute("PRAGMA max_page_count = 100000") }
    try await bench.catalog.commit { db in try db.run("INSERT INTO t (n) VALUES (8)") }
    #expect(try bench.numbers() == [7, 8])
  }

  @Test func whatNobodyWaitsForIsKeptWhileTheCatalogIsLocked() async throws {
    let bench = try await Bench(patience: 30)
    let other = try Connection(bench.temporary.library.catalogPath)
    try other.execute("BEGIN IMMEDIATE")
    bench.catalog.enqueue { db in try db.run("INSERT INTO t (n) VALUES (1)") }
    await expect(.locked) {
      try await bench.catalog.commit { db in try db.run("INSERT INTO t (n) VALUES (2)") }
    }
    try await Task.sleep(for: .milliseconds(200))
    try other.execute("COMMIT")
    let isWritten = try await eventually { try !bench.numbers().isEmpty }
    #expect(isWritten)
    #expect(try bench.numbers() == [1])
  }

  @Test func nothingIsTakenInAfterTheEnd() async throws {
    let bench = try await Bench()
    try await bench.catalog.commit { db in try db.run("INSERT INTO t (n) VALUES (1)") }
    bench.catalog.close()
    bench.catalog.enqueue { db in try db.run("INSERT INTO t (n) VALUES (2)") }
    await expect(.unusable) { try await bench.catalog.flush() }
    #expect(try bench.numbers() == [1])
  }

  @Test func aThreadThatBlocksHasATransactionToItself() async throws {
    let bench = try await Bench(patience: 100_000)
    #expect(throws: CatalogError.self) {
      try bench.catalog.write { db in
        try db.run("INSERT INTO t (n) VALUES (1)")
        throw CatalogError(.leaseLost, "mine")
      }
    }
    let count = try bench.catalog.write { db -> Int64? in
      for number in 2...4 { try db.run("INSERT INTO t (n) VALUES (?)", [number]) }
      return try db.number("SELECT count(*) FROM t")
    }
    #expect(count == 3)
    #expect(try bench.numbers() == [2, 3, 4])
  }
}
