import CPausingVFS
import Foundation
import Glibc
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelLibrary

/// SQLite's WAL-reset bug (https://www.sqlite.org/wal.html#walresetbug), step by step over the system's library. A
/// checkpoint is paused after it has read how far the log goes and before it uses that, while another connection
/// commits and resets the log.
@Suite(.serialized) struct WALResetTests {
  /// Two connections to one database, as two processes have them.
  private struct Stage {
    let temporary: TemporaryDatabase
    let writer: Connection
    let checkpointer: Connection

    init(_ rule: CheckpointRule) throws {
      reel_when_checkpointing(nil, nil)
      temporary = try TemporaryDatabase()
      writer = try Connection(temporary.path, checkpoints: rule)
      try writer.execute(
        """
        PRAGMA journal_mode = WAL;
        CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
        CREATE INDEX byText ON t (text);
        """)
      checkpointer = try Connection(temporary.path, .readWrite, checkpoints: rule)
      #expect(try checkpointer.number("SELECT count(*) FROM t") == 0)
    }

    /// Inserts a row of more than one page in a transaction of its own.
    func commit(_ number: Int) throws {
      try writer.run(
        "INSERT INTO t VALUES (?, ?)",
        [number, String(repeating: "\(number % 7)", count: 3000) + "\(number)"])
    }

    /// Returns what is wrong with the rows up to `last`, all of which were committed. The log is checkpointed and
    /// removed before they are read.
    func broken(upTo last: Int) throws -> [String] {
      try checkpointer.close()
      try writer.close()
      do {
        let reader = try Connection(temporary.path, .readWrite)
        let rows = Set(try reader.values("SELECT n FROM t NOT INDEXED", as: Int.self))
        let lost = (1...last).filter { !rows.contains($0) }.map { "\($0) was committed, and is not there" }
        return try lost + reader.values("PRAGMA integrity_check", as: String.self).filter { $0 != "ok" }
      } catch let error as SQLiteError where [.corrupt, .inputOutput].contains(error.code) {
        return [error.message]
      }
    }

    /// Runs `work` in the middle of a checkpoint by `checkpointer`, and returns its result.
    func duringCheckpoint(_ work: @escaping () throws -> Void) throws -> Result<Void, any Error>? {
      let moment = Moment(work: work)
      try withExtendedLifetime(moment) {
        reel_when_checkpointing(
          { context in
            guard let context else { return }
            Unmanaged<Moment>.fromOpaque(context).takeUnretainedValue().come()
          }, Unmanaged.passUnretained(moment).toOpaque())
        defer { reel_when_checkpointing(nil, nil) }
        try checkpointer.checkpoint(.passive)
      }
      return moment.result
    }
  }

  private final class Moment {
    let work: () throws -> Void
    var result: Result<Void, any Error>?
    /// Other tests make checkpoints, too.
    let thread = pthread_self()

    init(work: @escaping () throws -> Void) { self.work = work }

    func come() {
      guard pthread_equal(thread, pthread_self()) != 0, result == nil else { return }
      result = .failure(CancellationError())
      result = Result { try work() }
    }
  }

  /// - Returns: What is broken, and the result of the commit within the checkpoint.
  private func brokenAfterResetBesideCheckpoint(
    _ rule: CheckpointRule
  ) throws -> (broken: [String], beside: Result<Void, any Error>?) {
    let stage = try Stage(rule)
    // A log of some length, entirely checkpointed.
    var last = 30
    for number in 1...last { try stage.commit(number) }
    try stage.writer.checkpoint(.passive)
    let beside = try stage.duringCheckpoint { try stage.commit(last + 1) }
    if case .success = beside { last += 1 }
    var failures: [String] = []
    do {
      // Commits that do not reach the old log's end, and a checkpoint that resets the log.
      for _ in 0..<2 {
        for _ in 0..<20 {
          try stage.commit(last + 1)
          last += 1
        }
        try stage.writer.checkpoint(.passive)
      }
    } catch let error as SQLiteError where [.corrupt, .inputOutput].contains(error.code) {
      // Damage may already show in a commit, as a page that is not where it should be (SQLITE_IOERR_SHORT_READ).
      failures.append(error.message)
    }
    return (try failures + stage.broken(upTo: last), beside)
  }

  private static let isAffected = SQLiteLibrary.ofThisProcess.walResetBug == .affected

  @Test(
    "with SQLite's own checkpoints, a commit that resets the log during one is lost",
    .enabled(if: isAffected, "SQLite here is \(SQLiteLibrary.ofThisProcess.version), which has no such bug"))
  func bySQLite() throws {
    let (broken, beside) = try brokenAfterResetBesideCheckpoint(.bySQLite(pages: 0))
    #expect(throws: Never.self) { try beside?.get() }
    #expect(beside != nil && broken != [])
  }

  @Test("nobody can commit during a checkpoint that Reel makes, and nothing is lost")
  func alone() throws {
    let (broken, beside) = try brokenAfterResetBesideCheckpoint(.alone(pages: 1_000_000))
    let error = #expect(throws: SQLiteError.self) { try beside?.get() }
    #expect(error?.code == .busy)
    #expect(broken == [])
  }

  @Test("a commit is followed by a checkpoint once the log is long, so the log stays short")
  func automatic() throws {
    let stage = try Stage(.alone(pages: 20))
    var longest = 0
    for number in 1...200 {
      try stage.commit(number)
      longest = max(longest, try stage.temporary.size("-wal"))
    }
    #expect(longest > 20 * 4096 && longest < 40 * 4096)
    #expect(try stage.broken(upTo: 200) == [])
    #expect(!stage.temporary.isThere("-wal"))
  }

  @Test("a checkpoint that can't get the writer's lock is postponed, and the commit still counts")
  func putOff() throws {
    let stage = try Stage(.alone(pages: 20))
    // Holds the lock after each commit, and releases it when the writer waits for it.
    let holder = try Connection(stage.temporary.path, .readWrite, checkpoints: .bySQLite(pages: 0))
    var waits = 0
    try stage.writer.whenBusy { _ in
      waits += 1
      try? holder.run("ROLLBACK")
      return true
    }
    for number in 1...15 {
      try stage.commit(number)
      if number == 5 { try holder.run("BEGIN IMMEDIATE") }
      if number > 5, !holder.isInsideTransaction { try holder.run("BEGIN IMMEDIATE") }
    }
    #expect(waits > 0)
    if holder.isInsideTransaction { try holder.run("ROLLBACK") }
    try holder.close()
    #expect(try stage.broken(upTo: 15) == [])
  }

  @Test("a log whose beginning a reader needs is not reset, and the reader's snapshot does not change")
  func reader() throws {
    let stage = try Stage(.alone(pages: 20))
    for number in 1...10 { try stage.commit(number) }
    let reader = try Connection(stage.temporary.path, .readOnly)
    try reader.transaction(.deferred) {
      #expect(try reader.number("SELECT count(*) FROM t") == 10)
      for number in 11...60 { try stage.commit(number) }
      #expect(try reader.number("SELECT count(*) FROM t") == 10)
      #expect(try reader.values("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
    try reader.close()
    try stage.commit(61)
    let size = try stage.temporary.size("-wal")
    for number in 62...120 { try stage.commit(number) }
    #expect(try stage.temporary.size("-wal") == size)
    #expect(try stage.broken(upTo: 120) == [])
  }

  @Test("no checkpoint is made once another file has taken the database's place")
  func moved() throws {
    let stage = try Stage(.alone(pages: 1_000_000))
    for number in 1...10 { try stage.commit(number) }
    let (path, aside) = (stage.temporary.path, stage.temporary.path + ".aside")
    try FileManager.default.moveItem(atPath: path, toPath: aside)
    defer { unlink(aside) }
    let other = try Connection(path)
    try other.execute("CREATE TABLE other (n)")
    let before = try Data(contentsOf: URL(fileURLWithPath: aside))
    try stage.writer.checkpoint(.passive)
    #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == before)
    try other.close()
  }

  @Test(
    "the versions of SQLite that have the bug",
    arguments: [
      (3_007_000, true), (3_040_001, true), (3_044_005, true), (3_044_006, false), (3_045_000, true),
      (3_046_001, true), (3_050_006, true), (3_050_007, false), (3_051_000, true), (3_051_002, true),
      (3_051_003, false), (3_052_000, false), (3_053_004, false), (4_000_000, false),
    ])
  func versions(_ number: Int32, _ isAffected: Bool) {
    let library = SQLiteLibrary(number: number)
    #expect((library.walResetBug == .affected) == isAffected)
    #expect(CheckpointRule(for: library) == (isAffected ? .alone(pages: 1000) : .bySQLite(pages: nil)))
  }

  @Test("all connections of a library follow this process's checkpoint rule")
  func everyConnection() throws {
    let temporary = try TemporaryDatabase()
    let isAlone: Bool
    if case .alone = CheckpointRule.ofThisProcess { isAlone = true } else { isAlone = false }
    for access in [Connection.Access.create, .readWrite] {
      let connection = try Connection(temporary.path, access)
      try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (n)")
      // SQLite's own checkpoints are off where Reel makes them.
      #expect(try connection.number("PRAGMA wal_autocheckpoint") == (isAlone ? 0 : 1000))
      try connection.close()
    }
  }
}

extension TemporaryDatabase {
  fileprivate func size(_ ending: String) throws -> Int {
    var facts = stat()
    try #require(stat(path + ending, &facts) == 0)
    return Int(facts.st_size)
  }
}

/// The same with random processes: several instances of Tests/CatalogWriters on one library, with pauses in their
/// checkpoints.
@Suite("Reported posts and SQLite's WAL-reset bug", .serialized, .notQuick)
struct WALResetCampaign {
  private struct Run {
    var told = 0
    var lost = 0
    var damage: [String] = []
    var failures: [String] = []

    var isBroken: Bool { lost > 0 || !damage.isEmpty || !failures.isEmpty }
  }

  private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("reel-catalog-writer")

  /// Returns what is wrong with a library after several processes that checkpoint by `rule` have used it.
  private func run(_ rule: String, seed: UInt64) async throws -> Run {
    let temporary = try await TemporaryLibrary()
    var choices = SplitMix64(seed: seed)
    let (processes, longest) = (
      Int.random(in: 3...5, using: &choices), Int.random(in: 3...25, using: &choices)
    )
    var ends: [(Process, Aside<Data>, Aside<Data>)] = []
    for number in 0..<processes {
      let process = Process()
      process.executableURL = Self.program
      process.arguments = [
        temporary.library.path, "\(seed &+ UInt64(number))", "\(Int.random(in: 5...10, using: &choices))",
        "\(Int.random(in: 1...6, using: &choices))",
      ]
      process.environment = [
        "REEL_CHECKPOINTS": rule, "REEL_PAUSE_CHECKPOINTS": "\(longest * 1000)",
        "REEL_SEED": "\(seed % 1_000_000 + UInt64(number))",
      ]
      let (output, errors) = (Pipe(), Pipe())
      (process.standardOutput, process.standardError) = (output, errors)
      // A server that starts meanwhile would hold the pipes open, too.
      try Spawning.alone { try process.run() }
      let (out, err) = (output.fileHandleForReading, errors.fileHandleForReading)
      ends.append((process, Aside { out.readDataToEndOfFile() }, Aside { err.readDataToEndOfFile() }))
    }
    var (run, told) = (Run(), Set<String>())
    for (process, output, errors) in ends {
      #expect(try await eventually { output.isOver && errors.isOver })
      let text = String(decoding: try output.value(), as: UTF8.self)
      let said = String(decoding: try errors.value(), as: UTF8.self)
      process.waitUntilExit()
      told.formUnion(text.split(separator: "\n").map(String.init))
      if process.terminationStatus != 0 { run.failures.append("\(process.terminationStatus): \(said)") }
    }
    run.told = told.count
    do {
      let look = try Connection(
        temporary.library.catalogPath, .readWrite, checkpoints: .bySQLite(pages: 0))
      run.damage = try look.values("PRAGMA integrity_check", as: String.self).filter { $0 != "ok" }
      let ids = try look.values("SELECT hex(id) FROM post NOT INDEXED", as: String.self)
      let known = Set(ids)
      run.lost = told.count { !known.contains($0.replacing("-", with: "").uppercased()) }
    } catch let error as SQLiteError where error.code == .corrupt {
      run.damage.append(error.message)
    }
    return run
  }

  @Test("no post is lost, and no catalog damaged", .timeLimit(.minutes(240)))
  func alone() async throws {
    let seed = TestSeed.drawn()
    let count =
      ProcessInfo.processInfo.environment["REEL_ROUNDS"].flatMap(Int.init) ?? (TestForm.isLong ? 1000 : 8)
    let begun = ContinuousClock.now
    var told = 0
    for number in 0..<count {
      let run = try await run("alone:50", seed: seed &+ UInt64(number) &* 1000)
      told += run.told
      #expect(run.told > 0)
      #expect(!run.isBroken, "run \(number) of REEL_SEED=\(seed): \(run)")
    }
    print("WAL reset: \(count) runs, \(told) told posts, \(ContinuousClock.now - begun); REEL_SEED=\(seed)")
  }

  /// Proves that the campaign would notice the bug: SQLite's own checkpoints, with the same pauses.
  @Test(
    "with SQLite's own checkpoints, posts are lost or catalogs damaged", .timeLimit(.minutes(240)),
    .enabled(if: TestForm.isLong, "a long campaign"),
    .enabled(if: SQLiteLibrary.ofThisProcess.walResetBug == .affected, "SQLite here has no such bug"))
  func bySQLite() async throws {
    let seed = TestSeed.drawn()
    var (count, broken) = (0, [Run]())
    while count < 1000, broken.isEmpty || count < 60 {
      let run = try await run("sqlite:50", seed: seed &+ UInt64(count) &* 1000)
      count += 1
      // `cache clear` may meet another process's checkpoint, and report that the catalog is locked.
      if run.lost > 0 || !run.damage.isEmpty || run.failures.contains(where: { $0.contains("malformed") }) {
        broken.append(run)
      }
    }
    print(
      "WAL reset, SQLite's own checkpoints: \(broken.count) of \(count) runs broken, "
        + "\(broken.count { $0.lost > 0 }) lost told posts, \(broken.count { !$0.damage.isEmpty }) damaged, "
        + "\(broken.count { $0.failures.isEmpty }) with every exit 0; REEL_SEED=\(seed)")
    #expect(!broken.isEmpty)
  }
}
