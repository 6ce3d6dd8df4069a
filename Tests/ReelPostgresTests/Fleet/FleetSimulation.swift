import ReelCore
import ReelTestSupport

@testable import ReelPostgres

/// A fleet, its database, the network between them and every clock, all controlled by one seed. Nothing here waits, and
/// a seed always gives the same run.
///
/// A statement or its answer may be lost, or the statement may arrive late, after it has been repeated. A process may
/// be killed, told to end, stopped, or cut off, and the database may be away. The processes' decisions are made by the
/// real code: ``WorkerMemory``, ``DeathVerdict``, ``QueueWord``, `ClaimDecision`, and ``QueueWorker/Row``.
/// `QueueTables` stands in for the SQL.
struct FleetSimulation {
  /// The invariants.
  enum Law: String, CaseIterable {
    case onlyTheDeadAreStruckOut
    case whatIsTakenHasAWorker
    case onlyWhoHasTakenItEndsIt
    case nobodyTakesFromTheLiving
    case aVideoIsOnePost
    case doneIsAPost
    case aDeathCountsOnlyAlone
    case setAsideAfterThreeDeaths
    case noItemKillsForEver
    case whatIsInQuestionIsAlone
    case failuresAreCountedOnce
    case retriesAreSpacedOut
    case theReasonIsThere
    case endingsAreCountedOnce
    case nothingIsHeldByWhoLostIt
    case whoWaitsIsTold
    case everythingEnds
  }

  struct Violation {
    let law: Law
    let text: String
  }

  /// How an item behaves when it is processed.
  enum Nature: Hashable {
    case post, refused, corrupt, deadly
    /// Fails, or is put off, this many times before it becomes a post.
    case busy(Int), elsewhere(Int)
  }

  enum Request {
    case open
    case register(old: Int64)
    case take(WorkerMemory.Look, Int)
    case begin([Int64], Int64)
    case finish([QueueWorker.Row], Int64)
    case renew(Int64)
    case free(wasCutOff: Bool)
    case retire
    case claim(Int, number: Int)
    case complete(Int, attempt: Int)

    /// Whether the request is a single statement, which may arrive late. A longer transaction ends before its COMMIT is
    /// sent.
    func isOne(_ mistake: FleetMistake?) -> Bool {
      switch self {
      case .open, .begin, .renew, .complete: true
      case .finish(let rows, _): rows.allSatisfy { $0.state != ItemState.waiting.rawValue }
      case .take: mistake == .takenByALateStatement
      case .register: mistake == .writtenDownByALateStatement
      case .free, .retire, .claim: false
      }
    }
  }

  enum Answer {
    case nothing
    case number(Int64)
    case taking(WorkerMemory.Taking?)
    case life(PostgresOwner.Life)
    case claim(QueueTables.Answer)
    case isDone(Bool)
  }

  /// The parts of a process that wait for answers.
  enum Voice: Hashable {
    case feeder, noter, heart
    case job(Int)
  }

  struct Call {
    let serial: Int
    let request: Request
    var tries = 0
    var mayBeDone = false
    var sawOutage = false
  }

  /// One take of an item, as a process works on it.
  struct Job {
    let item: TakenItem
    var attempt = 0
    var isStored = false
  }

  struct Process {
    var life = 0
    var isThere = false
    var isEnding = false
    var stoppedUntil = 0
    var cutUntil = 0
    /// The error of its clock.
    var clock = 0
    var owner: Int64 = 0
    var memory: WorkerMemory
    var calls: [Voice: Call] = [:]
    var ready: [TakenItem] = []
    var beginning: [TakenItem] = []
    var jobs: [Int: Job] = [:]
    var outcomes: [(item: TakenItem, ending: ItemOutcome.Ending)] = []
    var said: [(item: Int64, attempts: Int64)] = []
    var lastOutage: ContinuousClock.Instant?
    /// The process waits for a notification: until when, since when, and in which of its waits.
    var waitsUntil: Int?
    var waitsSince = 0
    var wait = 0
    var wokeByTime = false
    var hasWord = false
    /// Whether it may have missed a notification.
    var mayHaveMissed = false
  }

  enum Event {
    case start(Int)
    case arrival(Int, life: Int, owner: Int64, Voice, serial: Int, Request, mayBeDone: Bool, isAnswered: Bool)
    case answer(Int, life: Int, Voice, serial: Int, Answer)
    case retry(Int, life: Int, Voice, serial: Int)
    case beat(Int, life: Int)
    case work(Int, life: Int, job: Int)
    case word(Int, life: Int, [String])
    case wake(Int, life: Int, wait: Int)
    case look(Int, life: Int)
    case enqueue
    case fault
    case databaseBack
  }

  static let lease = 120_000
  private static let beat = 40_000
  private static let start = ContinuousClock.now
  /// For how long faults occur, and how long everything may take afterwards, in milliseconds.
  private static let faultTime = 400_000
  private static let patience = 20_000_000

  let mistake: FleetMistake?
  let jobs: Int
  let faultEvery: Int
  let lossOfTen: Int
  var random: SplitMix64
  var now = 0
  var tables: QueueTables
  var processes: [Process]
  var natures: [Nature] = []
  /// The video of each item.
  var videos: [Int] = []
  var agenda = Agenda()
  var databaseAwayUntil = 0
  var enqueuingsLeft: Int
  var serials = 0
  var violation: Violation?
  var steps = 0
  let isTold: Bool
  var story: [String] = []

  // The true state, whatever the tables say.
  var posts: [Int: Int] = [:]
  var takers: [Int64: (process: Int, life: Int)] = [:]
  var failures: [Int]
  var kills: [Int]
  var calmKills: [Int]
  var ended: [Int64: Int] = [:]
  var heard: [Int64: Int] = [:]
  var retired: Set<Int64> = []
  /// Workers that the tables credit with items they held before, because of a statement that arrived late.
  var misled: Set<Int64> = []
  var waitingSince: [Int]
  var workersOf: [Int64: (process: Int, life: Int)] = [:]
  /// The items in hand when a process was killed, by process and life.
  var handsAtDeath: [Int64: (hands: [Int64], untold: [Int64])] = [:]

  init(seed: UInt64, mistake: FleetMistake? = nil, isTold: Bool = false) {
    var random = SplitMix64(seed: seed)
    self.mistake = mistake
    self.isTold = isTold
    func draw(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    jobs = 1 + draw(2)
    faultEvery = [0, 15_000, 40_000, 120_000][draw(4)]
    lossOfTen = faultEvery == 0 ? 0 : [0, 1, 3][draw(3)]
    tables = QueueTables(lease: Self.lease, mistake: mistake)
    let memory = WorkerMemory(at: Self.start)
    processes = (0..<1 + draw(4)).map { _ in Process(memory: memory) }
    for index in processes.indices { processes[index].clock = draw(2) * 200_000 }
    enqueuingsLeft = 1 + draw(3)
    (failures, kills, calmKills, waitingSince) = ([], [], [], [])
    self.random = random
    for index in processes.indices { agenda.add(.start(index), at: self.draw(20_000)) }
    agenda.add(.enqueue, at: self.draw(60_000))
    if faultEvery > 0 { agenda.add(.fault, at: self.draw(faultEvery * 2)) }
  }

  mutating func draw(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  static func instant(_ now: Int) -> ContinuousClock.Instant { start + .milliseconds(now) }

  mutating func tell(_ text: @autoclosure () -> String) { if isTold { story.append("\(now) \(text())") } }

  mutating func breaks(_ law: Law, _ text: String) {
    if violation == nil {
      violation = Violation(law: law, text: text)
      tell("BROKEN: \(law.rawValue): \(text)")
    }
  }

  // MARK: Running

  mutating func run() -> Violation? {
    while violation == nil, let (time, event) = agenda.next() {
      now = max(now, time)
      steps += 1
      if now > Self.faultTime + Self.patience {
        breaks(.everythingEnds, "\(unfinished)")
        break
      }
      carryOut(event)
      if enqueuingsLeft == 0, now > Self.faultTime || faultEvery == 0, steps & 15 == 0, isOver { break }
    }
    return violation
  }

  private var isOver: Bool {
    tables.items.allSatisfy { $0.state.rawValue > ItemState.later.rawValue }
  }

  private var unfinished: [Int] {
    tables.items.indices.filter { tables.items[$0].state.rawValue <= ItemState.later.rawValue }.map { $0 + 1 }
  }

  private mutating func carryOut(_ event: Event) {
    switch event {
    case .start(let index): begin(index)
    case .arrival(
      let index, let life, let owner, let voice, let serial, let request, let mayBeDone, let isAnswered):
      arrive(index, life, owner, voice, serial, request, mayBeDone, isAnswered)
    case .answer(let index, let life, let voice, let serial, let answer):
      guard isThere(index, life, event) else { return }
      guard let call = processes[index].calls[voice], call.serial == serial else { return }
      processes[index].calls[voice] = nil
      if call.sawOutage { processes[index].lastOutage = Self.instant(now) }
      hear(index, voice, call.request, answer)
    case .retry(let index, let life, let voice, let serial):
      guard isThere(index, life, event) else { return }
      guard var call = processes[index].calls[voice], call.serial == serial else { return }
      if voice == .feeder { processes[index].wokeByTime = false }
      call.sawOutage = call.sawOutage || isDatabaseAway(for: index)
      processes[index].calls[voice] = call
      send(index, voice)
    case .beat(let index, let life):
      guard isThere(index, life, event) else { return }
      agenda.add(event, at: now + Self.beat)
      if !processes[index].isEnding || processes[index].calls[.feeder] == nil { giveSignOfLife(index) }
    case .work(let index, let life, let job):
      guard isThere(index, life, event) else { return }
      work(index, job)
    case .word(let index, let life, let words):
      guard isThere(index, life, event) else { return }
      hear(index, words)
    case .wake(let index, let life, let wait):
      guard isThere(index, life, event) else { return }
      guard processes[index].wait == wait, processes[index].waitsUntil != nil else { return }
      processes[index].wokeByTime = processes[index].waitsUntil ?? 0 <= now
      processes[index].waitsUntil = nil
      feed(index)
    case .look(let index, let life):
      guard isThere(index, life, event) else { return }
      feed(index)
    case .enqueue: enqueue()
    case .fault: strike()
    case .databaseBack:
      tables.serverStart = now
      for index in processes.indices { processes[index].mayHaveMissed = true }
    }
  }

  /// Whether the process is in the same life. An event for a stopped process is postponed.
  private mutating func isThere(_ index: Int, _ life: Int, _ event: Event) -> Bool {
    guard processes[index].isThere, processes[index].life == life else { return false }
    if processes[index].stoppedUntil > now {
      agenda.add(event, at: processes[index].stoppedUntil)
      return false
    }
    return true
  }

  private func isDatabaseAway(for index: Int) -> Bool {
    now < databaseAwayUntil || now < processes[index].cutUntil
  }

  // MARK: The environment

  private mutating func begin(_ index: Int) {
    guard !processes[index].isThere else { return }
    var process = Process(memory: WorkerMemory(at: Self.instant(now)))
    process.life = processes[index].life + 1
    process.clock = processes[index].clock
    process.cutUntil = processes[index].cutUntil
    process.isThere = true
    processes[index] = process
    tell("process \(index) starts")
    call(index, .heart, .open)
  }

  /// - Parameter item: The item that killed it.
  private mutating func kill(_ index: Int, by item: Int64? = nil) {
    guard processes[index].isThere else { return }
    tell("process \(index) dies" + (item.map { " of item \($0)" } ?? ""))
    if let item {
      kills[Int(item) - 1] += 1
      if now > Self.faultTime || faultEvery == 0 { calmKills[Int(item) - 1] += 1 }
      // At most once in company and three times alone. More is possible only where no process could tell the cause.
      if calmKills[Int(item) - 1] > 6 { breaks(.noItemKillsForEver, "item \(item)") }
    }
    handsAtDeath[key(index)] = (processes[index].jobs.values.map(\.item.id), untold(index))
    processes[index].isThere = false
    agenda.add(.start(index), at: now + 500 + draw(20_000))
  }

  private func key(_ index: Int) -> Int64 { Int64(index) << 32 | Int64(processes[index].life) }

  private func hands(_ index: Int) -> [Int64] {
    processes[index].jobs.values.map(\.item.id) + processes[index].beginning.map(\.id)
  }

  /// Returns the items that it is about to begin and those that have ended, because it may not have been able to report
  /// either.
  private func untold(_ index: Int) -> [Int64] {
    processes[index].beginning.map(\.id) + processes[index].outcomes.map(\.item.id)
      + (processes[index].calls[.noter] == nil ? [] : processes[index].said.map(\.item))
  }

  private mutating func enqueue() {
    enqueuingsLeft -= 1
    if enqueuingsLeft > 0 { agenda.add(.enqueue, at: now + draw(150_000)) }
    var new: [QueueTables.Item] = []
    for _ in 0..<1 + draw(4) {
      let natures: [Nature] = [
        .post, .post, .post, .post, .refused, .corrupt, .busy(1 + draw(5)), .elsewhere(1 + draw(3)), .deadly,
      ]
      self.natures.append(natures[draw(natures.count)])
      // Some items share a video.
      videos.append(videos.isEmpty || draw(5) > 0 ? videos.count : videos[draw(videos.count)])
      (failures, kills, calmKills) = (failures + [0], kills + [0], calmKills + [0])
      waitingSince.append(now)
      new.append(QueueTables.Item(priority: Int64(draw(2))))
    }
    let latest = natures.suffix(new.count)
    tell("enqueued: \(Array(latest)), up to item \(latest.endIndex)")
    tables.enqueue(new)
    pass()
  }

  private mutating func strike() {
    if now > Self.faultTime { return }
    agenda.add(.fault, at: now + faultEvery / 2 + draw(faultEvery))
    let index = draw(processes.count)
    let time = [10_000, 50_000, 130_000, 200_000][draw(4)]
    switch draw(8) {
    case 0, 1: kill(index)
    case 2: for each in processes.indices { kill(each) }
    case 3:
      guard processes[index].isThere else { return }
      tell("process \(index) is told to end")
      processes[index].isEnding = true
      // Its grace period is taken to be over.
      let life = processes[index].life
      if processes[index].stoppedUntil <= now { agenda.add(.look(index, life: life), at: now) }
    case 4, 5:
      guard processes[index].isThere else { return }
      tell("process \(index) stands still for \(time)")
      processes[index].stoppedUntil = now + time
      processes[index].mayHaveMissed = true
    case 6:
      tell("process \(index) is cut off for \(time)")
      processes[index].cutUntil = now + time
      processes[index].mayHaveMissed = true
    default:
      tell("the database is away for \(time)")
      databaseAwayUntil = max(databaseAwayUntil, now + time)
      agenda.add(.databaseBack, at: databaseAwayUntil)
    }
  }

  // MARK: The network

  mutating func call(_ index: Int, _ voice: Voice, _ request: Request) {
    serials += 1
    processes[index].calls[voice] = Call(serial: serials, request: request)
    send(index, voice)
  }

  /// Sends a call, and draws how far it gets.
  private mutating func send(_ index: Int, _ voice: Voice) {
    guard var call = processes[index].calls[voice] else { return }
    let (life, owner) = (processes[index].life, processes[index].owner)
    let mayFail = now < Self.faultTime && call.tries < 4
    let isLost = mayFail && draw(10) < lossOfTen
    func arrival(_ isAnswered: Bool) -> Event {
      .arrival(
        index, life: life, owner: owner, voice, serial: call.serial, call.request, mayBeDone: call.mayBeDone,
        isAnswered: isAnswered)
    }
    if !isLost {
      agenda.add(arrival(true), at: now + 1 + draw(40))
    } else {
      switch draw(3) {
      case 0: break
      case 1: agenda.add(arrival(false), at: now + 1 + draw(40))
      default:
        // Late, if the request can be. Otherwise whoever repeats it waits for its end.
        let isLate = call.request.isOne(mistake)
        // Decides nothing, but the seeds in FleetTests were found with it.
        if !isLate { _ = draw(2) }
        agenda.add(arrival(false), at: now + (isLate ? 1 + draw(60_000) : 1 + draw(40)))
      }
    }
    call.tries += 1
    // The outcome of the last try is unknown.
    if isLost { call.mayBeDone = true }
    processes[index].calls[voice] = call
    agenda.add(.retry(index, life: life, voice, serial: call.serial), at: now + 1_000 + draw(4_000))
  }

  private mutating func arrive(
    _ index: Int, _ life: Int, _ owner: Int64, _ voice: Voice, _ serial: Int, _ request: Request,
    _ mayBeDone: Bool,
    _ isAnswered: Bool
  ) {
    // A message that was sent before the process was cut off still arrives.
    if now < databaseAwayUntil || now < processes[index].cutUntil && isAnswered { return }
    if isAnswered, processes[index].calls[voice]?.serial != serial || processes[index].life != life {
      // The sender was killed meanwhile.
      guard processes[index].life == life, !processes[index].isThere else { return }
    }
    if case .begin(_, let worker) = request, processes[index].calls[voice]?.serial != serial {
      misled.insert(worker)
    }
    let answer = execute(request, index, life, owner, mayBeDone)
    pass()
    if isAnswered {
      agenda.add(.answer(index, life: life, voice, serial: serial, answer), at: now + 1 + draw(40))
    }
  }

  /// Delivers the last transaction's notifications to those who wait.
  private mutating func pass() {
    let count = tables.said
    tables.said = 0
    if count == 0 { return }
    let said = "\(count) \(tables.workers.count)"
    // Anybody who may log in may send any notification.
    let words = draw(4) == 0 ? ["nonsense", said] : [said]
    for index in processes.indices where processes[index].isThere {
      if processes[index].cutUntil > now || databaseAwayUntil > now {
        processes[index].mayHaveMissed = true
      } else {
        agenda.add(.word(index, life: processes[index].life, words), at: now + 1 + draw(40))
      }
    }
  }

  // MARK: The database

  private mutating func execute(
    _ request: Request, _ index: Int, _ life: Int, _ owner: Int64, _ mayBeDone: Bool
  ) -> Answer {
    switch request {
    case .open:
      let owner = tables.newOwner(at: now)
      heard[owner] = now
      return .number(owner)
    case .register:
      let worker = tables.register(owner, at: now)
      heard[owner] = now
      workersOf[worker] = (index, life)
      ended[worker] = 0
      return .number(worker)
    case .take(let look, let count):
      let before = tables.items
      let taking = tables.take(count, look, mayBeDone: mayBeDone)
      judge(taking, before, look, index, life)
      return .taking(taking)
    case .begin(let hands, let worker):
      tables.begin(hands, by: worker)
      return .nothing
    case .finish(let rows, let worker):
      let before = tables.items
      tables.finish(rows, by: worker, at: now)
      judge(rows, before, worker, index, life)
      return .nothing
    case .renew(let worker):
      let life = tables.renew(owner, worker, at: now)
      heard[owner] = now
      return .life(life)
    case .free(let wasCutOff):
      let before = tables.items
      let struck = tables.free(wasCutOff: wasCutOff, at: now, clock: processes[index].clock)
      judge(struck, before, wasCutOff)
      return .nothing
    case .retire:
      let before = tables.items
      tables.retire(owner)
      retired.insert(owner)
      for at in before.indices where before[at].state == .taken && tables.items[at].state == .waiting {
        waitingSince[at] = now
      }
      checkWorkers()
      return .nothing
    case .claim(let video, let number):
      let before = tables.intents[video]
      let answer = tables.claim(video, by: owner, number: number, at: now)
      if case .granted = answer, let old = before?.owner, old != owner, !(before?.isPublished ?? false),
        heard[old].map({ now < $0 + Self.lease }) ?? false, !retired.contains(old)
      {
        breaks(.nobodyTakesFromTheLiving, "video \(video)")
      }
      return .claim(answer)
    case .complete(let video, let attempt):
      let (isDone, isNew) = tables.complete(video, attempt: attempt, by: owner, mayBeDone: mayBeDone)
      if isNew {
        posts[video, default: 0] += 1
        if posts[video] != 1 { breaks(.aVideoIsOnePost, "video \(video)") }
      }
      return .isDone(isDone)
    }
  }

  // MARK: The invariants

  private mutating func judge(
    _ taking: WorkerMemory.Taking?, _ before: [QueueTables.Item], _ look: WorkerMemory.Look, _ index: Int,
    _ life: Int
  ) {
    guard let taking else { return }
    for item in taking.items {
      let old = before[Int(item.id) - 1]
      if old.state == .taken, old.worker != look.worker {
        breaks(.nobodyTakesFromTheLiving, "item \(item.id)")
      }
      if old.state == .waiting { takers[item.id << 16 | item.attempts] = (index, life) }
      if item.isInQuestion, tables.held(by: look.worker).count > 1 {
        breaks(.whatIsInQuestionIsAlone, "item \(item.id)")
      }
      if processes[index].wokeByTime, !processes[index].mayHaveMissed, old.state == .waiting,
        processes[index].life == life,
        waitingSince[Int(item.id) - 1] > processes[index].waitsSince,
        now - waitingSince[Int(item.id) - 1] > 5_000
      {
        breaks(.whoWaitsIsTold, "item \(item.id) since \(waitingSince[Int(item.id) - 1])")
      }
      tell("process \(index) takes item \(item.id), for the \(item.attempts)th time")
    }
    checkWorkers()
  }

  private mutating func checkWorkers() {
    for at in tables.items.indices {
      if let worker = tables.items[at].worker, !tables.isThere(worker) {
        breaks(.whatIsTakenHasAWorker, "item \(at + 1), worker \(worker)")
      }
    }
  }

  private mutating func judge(
    _ rows: [QueueWorker.Row], _ before: [QueueTables.Item], _ worker: Int64, _ index: Int, _ life: Int
  ) {
    for row in rows {
      let at = Int(row.item) - 1
      let (old, new) = (before[at], tables.items[at])
      guard old.state == .taken, new.state != .taken else {
        if old.state != new.state { breaks(.onlyWhoHasTakenItEndsIt, "item \(row.item)") }
        continue
      }
      tell("process \(index) ends item \(row.item): \(new.state.name)\(new.code.map { " " + $0 } ?? "")")
      let taker = takers[row.item << 16 | old.attempts]
      if taker?.process != index || taker?.life != life || old.attempts != row.attempts {
        breaks(.onlyWhoHasTakenItEndsIt, "item \(row.item)")
      }
      if new.state.rawValue > ItemState.later.rawValue { ended[worker, default: 0] += 1 }
      failures[at] += Int(row.counted)
      if new.failures != failures[at] { breaks(.failuresAreCountedOnce, "item \(row.item): \(new.failures)") }
      if row.state == ItemState.later.rawValue {
        // Retries come after 30 s, 2 min and 8 min. The fourth failure is final.
        let isLast = row.counted == 1 && failures[at] >= 4
        if isLast != (new.state == .failed) { breaks(.failuresAreCountedOnce, "item \(row.item)") }
        let pauses = [30_000, 120_000, 480_000]
        if !isLast, new.dueAt != now + pauses[failures[at] - Int(row.counted)] {
          breaks(.retriesAreSpacedOut, "item \(row.item)")
        }
      }
      switch new.state {
      case .done:
        if natures[at] != .deadly, posts[videos[at]] == nil { breaks(.doneIsAPost, "item \(row.item)") }
        if tables.noted[row.item] != nil { breaks(.theReasonIsThere, "item \(row.item) is done") }
      case .refused, .failed, .later:
        if tables.noted[row.item] != new.code { breaks(.theReasonIsThere, "item \(row.item)") }
      case .waiting: waitingSince[at] = now
      default: break
      }
    }
    for row in rows where tables.items[Int(row.item) - 1].state == .waiting {
      if tables.noted[row.item] != nil, tables.items[Int(row.item) - 1].code == nil {
        breaks(.theReasonIsThere, "item \(row.item) waits")
      }
    }
    for row in rows where row.code != nil {
      // The reason shown is the one that the item's taker has reported, and no other.
      let item = tables.items[Int(row.item) - 1]
      if let noted = tables.noted[row.item], noted != item.code, item.code != DeathVerdict.code {
        breaks(.theReasonIsThere, "item \(row.item): \(noted)")
      }
    }
    if let found = tables.workers.first(where: { $0.id == worker }), found.finished != ended[worker] {
      breaks(.endingsAreCountedOnce, "worker \(worker)")
    }
  }

  private mutating func judge(
    _ struck: [QueueTables.Worker], _ before: [QueueTables.Item], _ wasCutOff: Bool
  ) {
    for worker in struck {
      tell("worker \(worker.id) is struck out")
      if let last = heard[worker.owner], last + Self.lease > now {
        breaks(.onlyTheDeadAreStruckOut, "worker \(worker.id)")
      }
    }
    for at in before.indices {
      let (old, new) = (before[at], tables.items[at])
      if old.state != .waiting, new.state == .waiting { waitingSince[at] = now }
      let isMoreDead = new.deaths > old.deaths
      if new.state == .setAside, old.state != .setAside {
        tell("item \(at + 1) is set aside")
        if new.deaths != 3 { breaks(.setAsideAfterThreeDeaths, "item \(at + 1): \(new.deaths)") }
      }
      if isMoreDead, new.deaths >= 3, new.state != .setAside {
        breaks(.setAsideAfterThreeDeaths, "item \(at + 1): \(new.deaths)")
      }
      guard isMoreDead, let worker = struck.first(where: { $0.id == old.worker }) else { continue }
      // Its process is dead and worked on nothing else, or it was silent, and may be working on more by now.
      if !misled.contains(worker.id), let (index, life) = workersOf[worker.id],
        let truth = handsAtDeath[Int64(index) << 32 | Int64(life)],
        truth.hands.contains(where: { $0 != at + 1 && before[Int($0) - 1].worker == worker.id })
          || !(truth.hands + truth.untold).contains(Int64(at + 1))
      {
        breaks(.aDeathCountsOnlyAlone, "item \(at + 1) of \(truth.hands)")
      }
      if let last = heard[worker.owner], last <= tables.serverStart {
        breaks(.aDeathCountsOnlyAlone, "item \(at + 1): the server was away")
      }
      if wasCutOff { breaks(.aDeathCountsOnlyAlone, "item \(at + 1): who counts was cut off") }
      if !old.isInQuestion, struck.count > 1, 2 * struck.count > tables.workers.count + struck.count,
        tables.workers.allSatisfy({ other in struck.contains { other.startedAt > (heard[$0.owner] ?? 0) } })
      {
        breaks(.aDeathCountsOnlyAlone, "item \(at + 1): all fell silent together")
      }
    }
    checkWorkers()
  }

  // MARK: A process

  private mutating func giveSignOfLife(_ index: Int) {
    guard processes[index].calls[.heart] == nil, processes[index].memory.worker != 0 else { return }
    call(index, .heart, .renew(processes[index].memory.worker))
  }

  private mutating func hear(_ index: Int, _ voice: Voice, _ request: Request, _ answer: Answer) {
    switch (request, answer) {
    case (.open, .number(let owner)):
      processes[index].owner = owner
      call(index, .heart, .register(old: 0))
    case (.register(let old), .number(let worker)):
      isWrittenDown(index, worker, inPlaceOf: old)
    case (.take(let look, let count), .taking(let taking)):
      took(index, taking, look, count)
    case (.begin, _):
      for item in processes[index].beginning {
        serials += 1
        processes[index].jobs[serials] = Job(item: item)
        agenda.add(.work(index, life: processes[index].life, job: serials), at: now + 1 + draw(1_000))
      }
      processes[index].beginning = []
      feed(index)
    case (.finish(_, let worker), _):
      processes[index].memory.isSaid(of: processes[index].said, as: worker)
      note(index)
      feed(index)
    case (.renew(let worker), .life(let life)):
      processes[index].memory.isHeard(at: Self.instant(now), lease: .milliseconds(Self.lease))
      if !life.isWorkerThere {
        writeDown(index, .heart, inPlaceOf: worker)
      } else if life.isAnythingDue {
        let wasCutOff = processes[index].memory.wasCutOffLately(
          at: Self.instant(now), lastOutage: processes[index].lastOutage, lease: .milliseconds(Self.lease))
        call(index, .heart, .free(wasCutOff: wasCutOff))
      }
    case (.retire, _):
      tell("process \(index) ends")
      handsAtDeath[key(index)] = ([], [])
      processes[index].isThere = false
      agenda.add(.start(index), at: now + 500 + draw(20_000))
    case (.claim, .claim(let answer)):
      if case .job(let job) = voice { claimed(index, job, answer) }
    case (.complete, .isDone(let isDone)):
      if case .job(let job) = voice {
        end(index, job, isDone ? .done : .failedForNow(code: "leaseLost", message: ""))
      }
    default: break
    }
  }

  /// Registers the worker. Only one registration runs at a time, and only if none has succeeded meanwhile.
  @discardableResult
  private mutating func writeDown(_ index: Int, _ voice: Voice, inPlaceOf old: Int64) -> Bool {
    let isBeingDone = processes[index].calls.values.contains {
      if case .register = $0.request { true } else { false }
    }
    guard processes[index].memory.worker == old, !isBeingDone || mistake == .writtenDownTwiceAtOnce else {
      return false
    }
    call(index, voice, .register(old: old))
    return true
  }

  private mutating func isWrittenDown(_ index: Int, _ worker: Int64, inPlaceOf old: Int64) {
    guard processes[index].memory.worker == old else { return }
    let lost = processes[index].memory.held
    processes[index].memory.isWrittenDown(as: worker, at: Self.instant(now))
    if mistake == .memoryKeepsWhatWasLost, let look = processes[index].memory.look(at: Self.instant(now)) {
      processes[index].memory.took(
        WorkerMemory.Taking(items: Array(lost.values)), at: look, Self.instant(now))
    }
    if processes[index].memory.held.keys.contains(where: { tables[$0].worker != worker }) {
      breaks(.nothingIsHeldByWhoLostIt, "process \(index)")
    }
    // The items that it had not begun are free for other workers.
    processes[index].ready = []
    tell("process \(index) is worker \(worker)")
    if old == 0 { agenda.add(.beat(index, life: processes[index].life), at: now + draw(Self.beat)) }
    feed(index)
  }

  private mutating func took(
    _ index: Int, _ taking: WorkerMemory.Taking?, _ look: WorkerMemory.Look, _ count: Int
  ) {
    guard let taking else {
      if !writeDown(index, .feeder, inPlaceOf: look.worker) { wait(index) }
      return
    }
    if let next = look.next(after: taking) { return call(index, .feeder, .take(next, count)) }
    processes[index].memory.took(taking, at: look, Self.instant(now))
    if processes[index].memory.worker == look.worker { processes[index].ready += taking.items }
    processes[index].wokeByTime = false
    processes[index].mayHaveMissed = processes[index].mayHaveMissed && isDatabaseAway(for: index)
    if taking.items.isEmpty { wait(index) } else { feed(index) }
  }

  /// Begins the items that can be begun, or takes more.
  private mutating func feed(_ index: Int) {
    guard processes[index].isThere, processes[index].calls[.feeder] == nil,
      processes[index].memory.worker != 0,
      processes[index].beginning.isEmpty
    else { return }
    processes[index].waitsUntil = nil
    if processes[index].isEnding {
      processes[index].ready = []
      if processes[index].jobs.isEmpty, processes[index].outcomes.isEmpty,
        processes[index].calls[.noter] == nil
      {
        call(index, .feeder, .retire)
      }
      return
    }
    let room = jobs - processes[index].jobs.count
    if room > 0, !processes[index].ready.isEmpty {
      processes[index].beginning = Array(processes[index].ready.prefix(room))
      processes[index].ready.removeFirst(processes[index].beginning.count)
      return call(index, .feeder, .begin(hands(index), processes[index].memory.worker))
    }
    let count = 2 * jobs - processes[index].memory.held.count
    guard count > 0, let look = processes[index].memory.look(at: Self.instant(now)) else {
      return wait(index)
    }
    call(index, .feeder, .take(look, count))
  }

  private mutating func wait(_ index: Int) {
    if processes[index].hasWord {
      processes[index].hasWord = false
      agenda.add(.look(index, life: processes[index].life), at: now + 1)
      return
    }
    processes[index].wait += 1
    let limit = processes[index].memory.held.isEmpty ? 30_000 + draw(30_000) : 1_000
    processes[index].waitsUntil = now + limit
    processes[index].waitsSince = now
    agenda.add(.wake(index, life: processes[index].life, wait: processes[index].wait), at: now + limit)
  }

  private mutating func hear(_ index: Int, _ words: [String]) {
    let heard = mistake == .nonsenseTakesTheWord ? QueueWord(Array(words.prefix(1))) : QueueWord(words)
    guard let heard else { return }
    guard Double(draw(1000)) / 1000 < heard.share else {
      // Other processes get them.
      processes[index].mayHaveMissed = true
      return
    }
    guard processes[index].waitsUntil != nil else {
      processes[index].hasWord = true
      return
    }
    let spread = Int(heard.spread / .milliseconds(1)) * draw(1000) / 1000
    processes[index].waitsUntil = now + spread + 1
    agenda.add(.wake(index, life: processes[index].life, wait: processes[index].wait), at: now + spread)
  }

  // MARK: Processing

  private mutating func work(_ index: Int, _ number: Int) {
    guard let job = processes[index].jobs[number] else { return }
    let (at, life) = (Int(job.item.id) - 1, processes[index].life)
    if job.isStored {
      return call(index, .job(number), .complete(videos[at], attempt: job.attempt))
    }
    switch natures[at] {
    case .deadly: kill(index, by: job.item.id)
    case .refused: end(index, number, .refused(code: "policy", message: ""))
    case .corrupt: end(index, number, .failed(code: "corrupt", message: ""))
    case .busy(let times) where times > 0:
      natures[at] = .busy(times - 1)
      end(index, number, .failedForNow(code: "busy", message: ""))
    case .elsewhere(let times) where times > 0:
      natures[at] = .elsewhere(times - 1)
      end(index, number, times == 2 ? .givenBack : .putOff(code: "denied", message: ""))
    case .post, .busy, .elsewhere:
      if mistake == .doneBeforeItIsAPost {
        processes[index].outcomes.append((job.item, .done))
        note(index)
      }
      _ = life
      call(index, .job(number), .claim(videos[at], number: number))
    }
  }

  private mutating func claimed(_ index: Int, _ number: Int, _ answer: QueueTables.Answer) {
    guard processes[index].jobs[number] != nil else { return }
    switch answer {
    case .granted(let attempt):
      processes[index].jobs[number]?.attempt = attempt
      processes[index].jobs[number]?.isStored = true
      agenda.add(
        .work(index, life: processes[index].life, job: number),
        at: now + 100 + draw(draw(4) == 0 ? 60_000 : 3_000))
    case .held:
      agenda.add(.work(index, life: processes[index].life, job: number), at: now + 2_000 + draw(5_000))
    case .published: end(index, number, .done)
    }
  }

  private mutating func end(_ index: Int, _ number: Int, _ ending: ItemOutcome.Ending) {
    guard let job = processes[index].jobs.removeValue(forKey: number) else { return }
    if mistake != .doneBeforeItIsAPost || !isDone(ending) {
      processes[index].outcomes.append((job.item, ending))
    }
    note(index)
    feed(index)
  }

  private func isDone(_ ending: ItemOutcome.Ending) -> Bool { if case .done = ending { true } else { false } }

  private mutating func note(_ index: Int) {
    guard processes[index].calls[.noter] == nil, !processes[index].outcomes.isEmpty else { return }
    let held = processes[index].memory.held
    let rows = processes[index].outcomes.compactMap { outcome, ending in
      // An outcome of an earlier take does not count.
      held[outcome.id].flatMap { taken in
        taken.attempts == outcome.attempts
          ? QueueWorker.Row(ItemOutcome(outcome.id, ending), of: taken, on: "host") : nil
      }
    }
    processes[index].outcomes = []
    guard !rows.isEmpty else { return }
    processes[index].said = rows.map { ($0.item, $0.attempts) }
    call(index, .noter, .finish(rows, processes[index].memory.worker))
  }
}

/// The pending events. Simultaneous events come in the order in which they were added.
struct Agenda {
  private var entries: [(time: Int, order: Int, event: FleetSimulation.Event)] = []
  private var count = 0

  mutating func add(_ event: FleetSimulation.Event, at time: Int) {
    count += 1
    entries.append((time, count, event))
    var place = entries.count - 1
    while place > 0, isBefore(place, (place - 1) / 2) {
      entries.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func next() -> (time: Int, event: FleetSimulation.Event)? {
    guard let first = entries.first else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      var place = 0
      while true {
        var least = place
        for child in [2 * place + 1, 2 * place + 2] where child < entries.count && isBefore(child, least) {
          least = child
        }
        if least == place { break }
        entries.swapAt(place, least)
        place = least
      }
    }
    return (first.time, first.event)
  }

  private func isBefore(_ one: Int, _ other: Int) -> Bool {
    (entries[one].time, entries[one].order) < (entries[other].time, entries[other].order)
  }
}
