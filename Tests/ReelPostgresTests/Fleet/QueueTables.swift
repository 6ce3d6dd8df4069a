import ReelCatalogCopy
import ReelCore

@testable import ReelPostgres

/// The contents of `reel.work`, `reel.worker`, `reel.owner` and `reel.failure`, and the effect of each transaction of
/// ``QueueWorker`` on them. This mirrors the SQL, and `QueueMirrorTests` compares the two.
///
/// It stands in for what PostgreSQL decides under its locks. Decisions made in Swift are made by the real code.
struct QueueTables {
  struct Item: Hashable {
    var priority: Int64 = 0
    var state = ItemState.waiting
    var worker: Int64?
    var attempts: Int64 = 0
    var deaths = 0
    var failures = 0
    var dueAt: Int?
    var code: String?

    var isInQuestion: Bool { deaths != 0 || code == DeathVerdict.code }
  }

  struct Worker: Hashable {
    let id: Int64
    let owner: Int64
    let startedAt: Int
    /// A copy of the owner's.
    var leaseUntil: Int
    var lease: Int
    var hands: [Int64] = []
    var finished = 0
    var failed = 0
  }

  struct Owner: Hashable {
    let id: Int64
    var leaseUntil: Int
  }

  /// A video that is being published.
  struct Intent: Hashable {
    var attempt = 1
    var owner: Int64?
    /// The random number drawn for the claim.
    var claim: Int
    var isPublished = false
  }

  let lease: Int
  let settings = QueueWorker.Settings()
  let mistake: FleetMistake?
  /// When the server was started.
  var serverStart = 0
  /// By id; ids begin with 1.
  private(set) var items: [Item] = []
  private(set) var workers: [Worker] = []
  private(set) var owners: [Owner] = []
  /// The reason that `reel status` shows for each item's file.
  private(set) var noted: [Int64: String] = [:]
  private(set) var intents: [Int: Intent] = [:]
  private var lastWorker: Int64 = 0
  private var lastOwner: Int64 = 0
  /// The number of items that the transaction has announced in its notifications.
  var said = 0

  init(lease: Int, mistake: FleetMistake? = nil) { (self.lease, self.mistake) = (lease, mistake) }

  subscript(item: Int64) -> Item {
    get { items[Int(item) - 1] }
    set { items[Int(item) - 1] = newValue }
  }

  func isThere(_ worker: Int64) -> Bool { workers.contains { $0.id == worker } }

  func held(by worker: Int64) -> [Int64] {
    items.indices.compactMap { items[$0].worker == worker ? Int64($0 + 1) : nil }
  }

  private func endOfLease(_ worker: Worker) -> Int {
    owners.first { $0.id == worker.owner }?.leaseUntil ?? worker.leaseUntil
  }

  // MARK: Filling the queue

  mutating func enqueue(_ new: [Item]) {
    items += new
    if mistake != .newItemsUntold { said += new.count { $0.state == .waiting } }
  }

  mutating func putBack(_ states: Set<ItemState>) -> Int {
    var count = 0
    for index in items.indices where states.contains(items[index].state) && items[index].state.rawValue > 2 {
      items[index].state = .waiting
      (items[index].deaths, items[index].failures, items[index].dueAt) = (0, 0, nil)
      items[index].code = nil
      count += 1
    }
    said += count
    return count
  }

  // MARK: Owners and workers

  mutating func newOwner(at now: Int) -> Int64 {
    owners.removeAll { $0.leaseUntil < now - 86_400_000 }
    lastOwner += 1
    owners.append(Owner(id: lastOwner, leaseUntil: now + lease))
    return lastOwner
  }

  mutating func register(_ owner: Int64, at now: Int) -> Int64 {
    if mistake != .writtenDownWithoutItsOwner { renewOwner(owner, until: now + lease) }
    workers.removeAll { $0.owner == owner }
    lastWorker += 1
    workers.append(
      Worker(id: lastWorker, owner: owner, startedAt: now, leaseUntil: now + lease, lease: lease))
    return lastWorker
  }

  private mutating func renewOwner(_ owner: Int64, until: Int) {
    if let index = owners.firstIndex(where: { $0.id == owner }) {
      owners[index].leaseUntil = until
    } else {
      owners.append(Owner(id: owner, leaseUntil: until))
    }
  }

  mutating func renew(_ owner: Int64, _ worker: Int64, at now: Int) -> PostgresOwner.Life {
    let until = now + (mistake == .leaseShorterThanABeat ? lease / 4 : lease)
    if mistake != .leaseOfTheCopyAlone { renewOwner(owner, until: until) }
    if mistake == .renewalRevivesTheDead, !isThere(worker) {
      workers.append(Worker(id: worker, owner: owner, startedAt: now, leaseUntil: until, lease: lease))
    }
    let index = workers.firstIndex { $0.id == worker }
    if let index { workers[index].leaseUntil = until }
    let isDue = isDue(at: now) || workers.contains { endOfLease($0) <= now }
    return PostgresOwner.Life(isWorkerThere: index != nil, isAnythingDue: isDue)
  }

  private func isDue(at now: Int) -> Bool { items.contains { $0.state == .later && $0.dueAt ?? 0 <= now } }

  mutating func retire(_ owner: Int64) {
    let mine = workers.filter { $0.owner == owner }.map(\.id)
    if mistake != .retiredWithItsItems {
      for index in items.indices where items[index].worker.map(mine.contains) == true {
        (items[index].state, items[index].worker) = (.waiting, nil)
        said += 1
      }
    }
    workers.removeAll { $0.owner == owner }
    strike(owner)
  }

  private mutating func strike(_ owner: Int64) {
    if mistake != .neverTakenOver {
      for video in intents.keys where intents[video]?.owner == owner { intents[video]?.owner = nil }
    }
    owners.removeAll { $0.id == owner }
  }

  // MARK: Items

  /// - Parameter mayBeDone: Whether an earlier try of the same take may have succeeded.
  mutating func take(_ count: Int, _ look: WorkerMemory.Look, mayBeDone: Bool) -> WorkerMemory.Taking? {
    guard isThere(look.worker) || mistake == .takenWithoutAWorker else { return nil }
    if mayBeDone, mistake != .takenAndNotLookedFor {
      let lost = held(by: look.worker).filter { id in
        look.known[id].map { mistake != .knownByTheirItemsAlone && $0 != self[id].attempts } ?? true
      }
      if !lost.isEmpty { return WorkerMemory.Taking(items: inOrder(lost).map(taken)) }
    }
    var waiting: [Int64] = []
    for index in items.indices {
      let (item, id) = (items[index], Int64(index + 1))
      guard
        item.state == .waiting
          || mistake == .takenFromOthers && item.state == .taken && item.worker != look.worker
      else { continue }
      if let place = look.place, item.priority != place.priority || id <= place.item { continue }
      waiting.append(id)
    }
    let next = inOrder(waiting).prefix(look.isForOne ? 1 : count)
    let alone = next.filter { self[$0].isInQuestion }
    var taking = WorkerMemory.Taking(passedBy: !look.isForOne && !alone.isEmpty)
    for id in next {
      let isAlone = self[id].isInQuestion && mistake != .takenInCompany
      if isAlone, !look.isForOne || mistake == .neverTakenAlone { continue }
      self[id].state = .taken
      self[id].worker = look.worker
      if mistake != .attemptsNotCounted { self[id].attempts += 1 }
      taking.items.append(taken(id))
    }
    return taking
  }

  private func inOrder(_ ids: [Int64]) -> [Int64] {
    ids.sorted { (self[$1].priority, $0) < (self[$0].priority, $1) }
  }

  private static let address = SourcePath("/a")

  private func taken(_ id: Int64) -> TakenItem {
    let item = self[id]
    return TakenItem(
      id: id, address: Self.address, deaths: item.deaths, failures: item.failures, attempts: item.attempts,
      priority: item.priority, code: item.code)
  }

  mutating func begin(_ hands: [Int64], by worker: Int64) {
    if let index = workers.firstIndex(where: { $0.id == worker }) { workers[index].hands = hands }
  }

  mutating func finish(_ rows: [QueueWorker.Row], by worker: Int64, at now: Int) {
    let most = settings.mostFailures + (mistake == .oneFailureTooMany ? 1 : 0)
    var ended: [ItemState] = []
    var endedItems: [Int64] = []
    for row in rows {
      let item = self[row.item]
      let isMine =
        item.worker == worker && item.state == .taken
        && (item.attempts == row.attempts || mistake == .finishedWithoutTheTakingsNumber)
      if !isMine, mistake == .reasonOfWhoLostTheItem, let code = row.code { noted[row.item] = code }
      guard
        isMine || mistake == .finishedByAnybody && item.state == .taken
          || mistake == .finishedWhateverItsState
      else { continue }
      var counted = Int(row.counted)
      if mistake == .failuresNotCounted { counted = 0 }
      if mistake == .puttingOffCounted, row.state == ItemState.later.rawValue { counted = 1 }
      let failures = item.failures + counted
      var state = ItemState(rawValue: row.state) ?? .failed
      var dueAt: Int?
      if state == .later {
        let pause = Int(settings.pause / .milliseconds(1))
        let growth = mistake == .pauseDoesNotGrow ? 1 : 1 << (2 * min(item.failures, 8))
        if failures >= most { state = .failed } else { dueAt = now + pause * growth }
      }
      self[row.item] = Item(
        priority: item.priority, state: state, worker: nil, attempts: item.attempts, deaths: item.deaths,
        failures: failures, dueAt: dueAt, code: row.code ?? item.code)
      ended.append(state)
      endedItems.append(row.item)
      if state == .waiting {
        said += 1
      } else if state == .done {
        noted[row.item] = nil
      } else if mistake != .reasonNotWrittenWithTheItem {
        noted[row.item] = row.code ?? item.code
      }
    }
    guard let index = workers.firstIndex(where: { $0.id == worker }) else { return }
    if mistake != .handsKeepWhatHasEnded {
      workers[index].hands.removeAll { hand in endedItems.contains(hand) }
    }
    if mistake == .endingsCountedAsTheyAreSaid {
      workers[index].finished += rows.count { $0.state > ItemState.later.rawValue }
    } else {
      workers[index].finished += ended.count { $0.rawValue > ItemState.later.rawValue }
    }
    workers[index].failed += ended.count { $0.rawValue > ItemState.done.rawValue }
  }

  // MARK: Due items and dead workers

  /// - Parameter clock: The error of the calling process's clock, which must not matter.
  /// - Returns: The workers that were deleted.
  mutating func free(wasCutOff: Bool, at now: Int, clock: Int = 0) -> [Worker] {
    var count = 0
    if mistake != .dueNeverFreed {
      for index in items.indices where items[index].state == .later && items[index].dueAt ?? 0 <= now {
        (items[index].state, items[index].dueAt) = (.waiting, nil)
        count += 1
      }
    }
    noteThoseThatWentSilentTogether(wasCutOff: wasCutOff && mistake != .deathCountedByWhoWasCutOff, at: now)
    var struck: [Worker] = []
    let judged = mistake == .leaseByTheJudgesClock ? now + clock : now
    for worker in workers where endOfLease(worker) < judged && mistake != .leaseNeverOver {
      if mistake != .struckOutWithItsItems { count += free(from: worker) }
      workers.removeAll { $0.id == worker.id }
      strike(worker.owner)
      struck.append(worker)
    }
    if mistake != .freedItemsUntold { said += count }
    return struck
  }

  private mutating func free(from worker: Worker) -> Int {
    let held = held(by: worker.id)
    let hands = worker.hands.filter { $0 != 0 }
    for id in held {
      var facts = DeathVerdict.Facts(
        wasInHand: hands.contains(id), wasAlone: hands.count == 1,
        wasServerAway: endOfLease(worker) - worker.lease <= serverStart,
        fellSilentTogether: worker.hands.contains(0), isInQuestion: self[id].isInQuestion,
        deaths: self[id].deaths)
      var most = settings.mostDeaths
      switch mistake {
      case .deathCountedInCompany: facts.wasAlone = true
      case .deathCountedWhereOnlyHeld: (facts.wasInHand, facts.wasAlone) = (true, true)
      case .deathCountedInAnOutage: facts.wasServerAway = false
      case .deathsTogetherCounted: facts.fellSilentTogether = false
      case .deathNeverCounted: facts.wasInHand = false
      case .setAsideTooEarly: most -= 1
      case .neverSetAside: most = .max
      default: break
      }
      let verdict = DeathVerdict.decide(facts, mostDeaths: most)
      self[id].worker = nil
      self[id].state = verdict == .setAside ? .setAside : .waiting
      if verdict != .innocent { self[id].code = DeathVerdict.code }
      if verdict == .counted || verdict == .setAside { self[id].deaths += 1 }
    }
    return held.count
  }

  private mutating func noteThoseThatWentSilentTogether(wasCutOff: Bool, at now: Int) {
    let silent = workers.indices.filter { endOfLease(workers[$0]) < now + workers[$0].lease / 3 }
    let heard = silent.map { endOfLease(workers[$0]) - workers[$0].lease }.max() ?? 0
    let everybody = workers.indices.count { silent.contains($0) || workers[$0].startedAt <= heard }
    let areTogether = silent.count > 1 && 2 * silent.count > everybody
    for index in silent where !workers[index].hands.isEmpty {
      if wasCutOff {
        workers[index].hands = []
      } else if areTogether, !workers[index].hands.contains(0) {
        workers[index].hands.append(0)
      }
    }
  }

  // MARK: Publishing

  enum Answer: Hashable {
    case granted(attempt: Int)
    case held
    case published
  }

  func isAlive(_ owner: Int64, at now: Int) -> Bool {
    owners.contains { $0.id == owner && $0.leaseUntil > now }
  }

  mutating func claim(_ video: Int, by owner: Int64, number: Int, at now: Int) -> Answer {
    if let mine = intents[video], mine.claim == number, mine.owner == owner, !mine.isPublished {
      return .granted(attempt: mine.attempt)
    }
    let intent = intents[video]
    let decision = ClaimDecision<Intent, Never, Intent>.decide(
      .skip, again: true, published: intent?.isPublished == true ? intent : nil, removed: nil,
      own: intent.map { $0.isPublished ? [] : [$0] } ?? [], related: [],
      holding: { found in
        IntentHolding(owner: found.owner, claimant: owner) {
          mistake == .neverTakenOver || mistake != .takenOverFromTheLiving && isAlive($0, at: now)
        }
      }, posterNameIsTaken: false, nameIsTaken: false)
    switch decision {
    case .published: return .published
    case .removed, .held, .nameTaken: return .held
    case .takeOver(let found):
      intents[video] = Intent(attempt: found.attempt + 1, owner: owner, claim: number)
      return .granted(attempt: found.attempt + 1)
    case .begin:
      intents[video] = Intent(owner: owner, claim: number)
      return .granted(attempt: 1)
    }
  }

  /// Returns whether this attempt has made the post, now or in an earlier try.
  mutating func complete(_ video: Int, attempt: Int, by owner: Int64, mayBeDone: Bool) -> (
    isDone: Bool, isNew: Bool
  ) {
    guard let intent = intents[video] else { return (false, false) }
    if mayBeDone, intent.isPublished, intent.attempt == attempt { return (true, false) }
    guard
      intent.attempt == attempt && intent.owner == owner && !intent.isPublished
        || mistake == .completedWithoutFence
    else { return (false, false) }
    intents[video] = Intent(attempt: attempt, owner: nil, claim: intent.claim, isPublished: true)
    return (true, true)
  }
}

// MARK: - For comparison

extension QueueTables {
  /// Makes these workers count as last heard of at `end`, with leases that ended at once.
  mutating func silence(_ ids: Set<Int64>, at end: Int) {
    for index in workers.indices where ids.contains(workers[index].id) {
      (workers[index].leaseUntil, workers[index].lease) = (end, 0)
      for owner in owners.indices where owners[owner].id == workers[index].owner {
        owners[owner].leaseUntil = end
      }
    }
  }

  mutating func makeAllDue() {
    for index in items.indices where items[index].state == .later { items[index].dueAt = 0 }
  }
}
