import ReelCore
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelPostgres

/// Runs the same random script on PostgreSQL and on the simulation's tables, and compares the two after each step.
@Suite(.besidePostgres, .notQuick) struct QueueMirrorTests {
  @Test(.shortTime) func theSimulationsTablesAreThoseOfTheServer() async throws {
    let first = TestSeed.drawn()
    var kinds: Set<Script.Kind> = []
    for number in 0..<(TestForm.isLong ? 100 : 4) {
      var script = try await Script(seed: first &+ UInt64(number))
      for _ in 0..<(TestForm.isLong ? 200 : 100) {
        kinds.insert(try script.step())
        let (real, mirrored) = (try script.real(), script.mirrored())
        if real != mirrored {
          Issue.record(
            "seed \(script.seed), after \(script.steps):\nthe server has \(real)\nthe mirror has \(mirrored)")
          return
        }
      }
    }
    #expect(kinds == Set(Script.Kind.allCases))
  }

  /// The machines' clock, which moves only when told to.
  private final class Clock: Sendable {
    private let start = ContinuousClock.now
    private let passed = Mutex(Duration.zero)
    var now: ContinuousClock.Instant { start + passed.withLock { $0 } }
    func pass(_ time: Duration) { passed.withLock { $0 += time } }
  }

  private struct Script {
    enum Kind: CaseIterable {
      case enqueue, take, begin, finish, renew, free, silence, outage, due, retire, putBack, pass
    }

    /// A worker in both worlds.
    private struct Pair {
      let real: QueueWorker
      let owner: Int64
      var memory: WorkerMemory
    }

    /// The state by which the two are compared.
    struct Picture: Equatable {
      var items: [String] = []
      var workers: [String] = []
      var owners: [Int64] = []
      var noted: [String] = []
      var held: [[Int64]] = []
    }

    let seed: UInt64
    private(set) var steps: [String] = []
    private var random: SplitMix64
    private let pool: PostgresPool
    private let queue: WorkQueue
    private let clock = Clock()
    private var tables: QueueTables
    private var pairs: [Pair] = []
    /// The server's time.
    private var now = 0

    init(seed: UInt64) async throws {
      self.seed = seed
      random = SplitMix64(seed: seed)
      pool = try await TestDatabase().pool()
      queue = try WorkQueue(pool)
      tables = QueueTables(lease: 3_600_000)
      try readClock()
      tables.serverStart = now
      for _ in 0..<3 { try addWorker() }
    }

    private mutating func draw(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private mutating func readClock() throws {
      now = try pool.read { db in try db.value("SELECT \(PostgresSchema.now)", as: Int.self) } ?? 0
    }

    private mutating func addWorker() throws {
      let real = try QueueWorker(
        queue, host: "host", destination: "file:///media", lease: .seconds(3600),
        clock: { [clock] in clock.now })
      let owner = tables.newOwner(at: now)
      var memory = WorkerMemory(at: clock.now)
      memory.isWrittenDown(as: tables.register(owner, at: now), at: clock.now)
      pairs.append(Pair(real: real, owner: owner, memory: memory))
    }

    // MARK: Steps

    mutating func step() throws -> Kind {
      try readClock()
      let kinds: [Kind] = [
        .enqueue, .take, .take, .take, .begin, .begin, .finish, .finish, .renew, .free, .free, .silence,
        .silence,
        .outage, .due, .retire, .putBack, .pass,
      ]
      let (kind, index) = (kinds[draw(kinds.count)], draw(pairs.count))
      steps.append("\(kind) \(index)")
      switch kind {
      case .enqueue: try enqueue()
      case .take: try take(1 + draw(4), index)
      case .begin: try begin(index)
      case .finish: try finish(index)
      case .renew: try renew(index)
      case .free: try free(index)
      case .silence:
        let silent = pairs.filter { _ in draw(2) == 0 }.map(\.memory.worker)
        try silence(Set(silent), at: now - 1)
      case .outage:
        // Before the server was started.
        try silence([pairs[index].memory.worker], at: 1)
      case .due:
        try change("UPDATE reel.work SET due_at = 0 WHERE state = 2")
        tables.makeAllDue()
      case .retire:
        try pairs[index].real.retire()
        tables.retire(pairs[index].owner)
        pairs.remove(at: index)
        try addWorker()
      case .putBack:
        #expect(try queue.putBack([.failed, .setAside]) == tables.putBack([.failed, .setAside]))
      case .pass: clock.pass([.milliseconds(200), .seconds(2), .seconds(3000)][draw(3)])
      }
      // The two workers were registered some milliseconds apart.
      for worker in tables.workers {
        try change("UPDATE reel.worker SET started_at = \(worker.startedAt) WHERE id = \(worker.id)")
      }
      return kind
    }

    private func change(_ statement: String) throws {
      try pool.transaction { tx in _ = try tx.run(statement) }
    }

    private mutating func enqueue() throws {
      let (count, priority) = (1 + draw(4), draw(2))
      let known = tables.items.count
      let new = (0..<count).map {
        NewItem(address: SourcePath("/\(known + $0 + 1)"), version: "1", size: nil)
      }
      _ = try queue.enqueue(new, priority: priority)
      tables.enqueue(new.map { _ in QueueTables.Item(priority: Int64(priority)) })
    }

    private mutating func take(_ count: Int, _ index: Int) throws {
      let real = try pairs[index].real.take(upTo: count)
      var mirrored: [TakenItem] = []
      if var look = pairs[index].memory.look(at: clock.now) {
        var taking = tables.take(count, look, mayBeDone: false)
        while let found = taking, let next = look.next(after: found) {
          look = next
          taking = tables.take(count, look, mayBeDone: false)
        }
        if let taking {
          pairs[index].memory.took(taking, at: look, clock.now)
          mirrored = taking.items
        } else {
          writeDown(index)
        }
      }
      #expect(
        real.map { [$0.id, $0.attempts, $0.priority] } == mirrored.map { [$0.id, $0.attempts, $0.priority] })
    }

    private mutating func writeDown(_ index: Int) {
      pairs[index].memory.isWrittenDown(as: tables.register(pairs[index].owner, at: now), at: clock.now)
    }

    private mutating func begin(_ index: Int) throws {
      let hands = pairs[index].memory.held.keys.sorted().filter { _ in draw(2) == 0 }
      try pairs[index].real.begin(hands)
      tables.begin(hands, by: pairs[index].memory.worker)
    }

    private mutating func finish(_ index: Int) throws {
      let endings: [ItemOutcome.Ending] = [
        .done, .done, .refused(code: "policy", message: ""), .failed(code: "corrupt", message: ""),
        .failedForNow(code: "busy", message: ""), .failedForNow(code: "busy", message: ""),
        .putOff(code: "denied", message: ""), .givenBack,
      ]
      let outcomes = pairs[index].memory.held.keys.sorted().filter { _ in draw(3) > 0 }
        .map { ItemOutcome($0, endings[draw(endings.count)]) }
      try pairs[index].real.finish(outcomes)
      let (held, worker) = (pairs[index].memory.held, pairs[index].memory.worker)
      let rows = outcomes.compactMap { one in held[one.item].map { QueueWorker.Row(one, of: $0, on: "host") }
      }
      tables.finish(rows, by: worker, at: now)
      pairs[index].memory.isSaid(of: rows.map { ($0.item, $0.attempts) }, as: worker)
    }

    private mutating func renew(_ index: Int) throws {
      let isThere = try pairs[index].real.renew()
      let life = tables.renew(pairs[index].owner, pairs[index].memory.worker, at: now)
      pairs[index].memory.isHeard(at: clock.now, lease: .seconds(3600))
      if !life.isWorkerThere { writeDown(index) }
      #expect(isThere == life.isWorkerThere)
    }

    private mutating func free(_ index: Int) throws {
      try pairs[index].real.freeWhatIsDue()
      let wasCutOff = pairs[index].memory.wasCutOffLately(
        at: clock.now, lastOutage: nil, lease: .seconds(3600))
      _ = tables.free(wasCutOff: wasCutOff, at: now)
    }

    private mutating func silence(_ workers: Set<Int64>, at end: Int) throws {
      let ids = "(\(([0] + workers.sorted()).map { "\($0)" }.joined(separator: ", ")))"
      try change("UPDATE reel.worker SET lease = 0, lease_until = \(end) WHERE id IN \(ids)")
      try change(
        "UPDATE reel.owner SET lease_until = \(end) WHERE id IN (SELECT owner FROM reel.worker WHERE worker.id IN \(ids))"
      )
      tables.silence(workers, at: end)
    }

    // MARK: Comparing

    func real() throws -> Picture {
      try pool.read { db in
        var picture = Picture(held: pairs.map { $0.real.held.sorted() })
        picture.items = try db.rows(
          """
          SELECT item, priority, state, coalesce(worker, 0), attempts, deaths, failures, due_at IS NOT NULL, coalesce(code, '')
          FROM reel.work ORDER BY item
          """
        ) { row in
          "\(try row[0] as Int64) \(try row[1] as Int64) \(try row[2] as Int64) \(try row[3] as Int64) \(try row[4] as Int64) "
            + "\(try row[5] as Int64) \(try row[6] as Int64) \(try row[7] as Bool) \(try row[8] as String)"
        }
        picture.workers = try db.rows(
          "SELECT id, owner, finished, failed, array_to_string(hands, ',') FROM reel.worker ORDER BY id"
        ) { row in
          "\(try row[0] as Int64) \(try row[1] as Int64) \(try row[2] as Int64) \(try row[3] as Int64) \(try row[4] as String)"
        }
        picture.owners = try db.rows("SELECT id FROM reel.owner ORDER BY id") { try $0[0] }
        picture.noted = try db.rows(
          "SELECT convert_from(path, 'UTF8') || ' ' || code FROM reel.failure ORDER BY length(path), path"
        ) { try $0[0] }
        return picture
      }
    }

    func mirrored() -> Picture {
      var picture = Picture(held: pairs.map { $0.memory.held.keys.sorted() })
      picture.items = tables.items.enumerated().map { place, item in
        "\(place + 1) \(item.priority) \(item.state.rawValue) \(item.worker ?? 0) \(item.attempts) "
          + "\(item.deaths) \(item.failures) \(item.dueAt != nil) \(item.code ?? "")"
      }
      picture.workers = tables.workers.sorted { $0.id < $1.id }.map { worker in
        "\(worker.id) \(worker.owner) \(worker.finished) \(worker.failed) "
          + worker.hands.map { "\($0)" }.joined(separator: ",")
      }
      picture.owners = tables.owners.map(\.id).sorted()
      picture.noted = tables.noted.sorted { $0.key < $1.key }.map { "/\($0.key) \($0.value)" }
      return picture
    }
  }
}
