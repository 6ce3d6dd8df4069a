/// What a worker knows without asking the server, and what it makes of the answers.
struct WorkerMemory {
  /// A place in the order in which the items of a lane are taken.
  struct Place: Hashable {
    let lane: Int64
    let priority: Int64
    let item: Int64
  }

  /// What to ask the server for.
  struct Look {
    /// The number of the worker's row.
    let worker: Int64
    /// The items that it knows it holds, each with the number of its taking: it may have
    /// been given back and taken again since.
    let known: [Int64: Int64]
    /// Where the last look ended; nil to look from the beginning.
    var place: Place?
    /// Whether an item in question may be taken; then no more than one item is.
    var isForOne: Bool

    /// Returns where to look next, after this look has given `found`; nil if there is no need to.
    func next(after found: Taking) -> Look? {
      guard found.items.isEmpty else { return nil }
      var next = self
      next.place = nil
      if place != nil { return next }
      next.isForOne = true
      return found.passedBy && known.isEmpty ? next : nil
    }
  }

  /// The result of a look.
  struct Taking {
    var items: [TakenItem] = []
    /// Whether an item that must be taken alone was seen and left.
    var passedBy = false
    /// Whether nothing was taken because there are limits, under which workers take one after the other.
    var isLimited = false
    /// The number of lanes with waiting items.
    var lanes: Int64 = 1
  }

  /// The time between two looks from the beginning, which see what was given back, or is more urgent.
  static let lookPause = Duration.seconds(1)

  /// The number of its row; 0 before there is one.
  private(set) var worker: Int64 = 0
  /// The items that are held, as they were taken.
  private(set) var held: [Int64: TakenItem] = [:]
  /// The item that is held alone.
  private var single: Int64?
  /// Whether an item that must be taken alone was passed by. It is taken before anything else.
  private var hasPassedBy = false
  private var place: Place?
  /// When the last look from the beginning was.
  private var looked: ContinuousClock.Instant?
  /// The last heartbeat, and the end of the last time that none succeeded for most of a lease.
  private var heard: ContinuousClock.Instant
  private var wasSilent: ContinuousClock.Instant?

  init(at now: ContinuousClock.Instant) { heard = now }

  /// Starts again with a new row, which holds nothing.
  mutating func isWrittenDown(as worker: Int64, at now: ContinuousClock.Instant) {
    let wasSilent = wasSilent
    self = WorkerMemory(at: now)
    (self.worker, self.wasSilent) = (worker, wasSilent)
  }

  // MARK: Taking

  /// Returns what to look for; nil if nothing may be taken beside what is held.
  func look(at now: ContinuousClock.Instant) -> Look? {
    if single != nil || hasPassedBy && !held.isEmpty { return nil }
    let isRecent = looked.map { now - $0 < Self.lookPause } ?? false
    return Look(
      worker: worker, known: held.mapValues(\.attempts), place: isRecent && !hasPassedBy ? place : nil,
      isForOne: hasPassedBy)
  }

  mutating func took(_ taking: Taking, at look: Look, _ now: ContinuousClock.Instant) {
    guard worker == look.worker else { return }
    held.merge(taking.items.map { ($0.id, $0) }) { $1 }
    single = taking.items.first(where: \.isInQuestion)?.id
    hasPassedBy = taking.passedBy
    if look.place == nil { looked = now }
    // If several lanes take turns, each look is at all of them.
    place =
      taking.lanes > 1
      ? nil : taking.items.last.map { Place(lane: $0.lane, priority: $0.priority, item: $0.id) }
  }

  /// Forgets takings whose outcomes have been recorded.
  mutating func isSaid(of takings: [(item: Int64, attempts: Int64)], as worker: Int64) {
    guard self.worker == worker else { return }
    for taking in takings where held[taking.item]?.attempts == taking.attempts { held[taking.item] = nil }
    if let one = single, held[one] == nil { single = nil }
  }

  mutating func gaveBackAll() { (held, single) = ([:], nil) }

  // MARK: Heartbeat

  /// Notes that a heartbeat has succeeded.
  mutating func isHeard(at now: ContinuousClock.Instant, lease: Duration) {
    if now - heard > lease * 2 / 3 { wasSilent = now }
    heard = now
  }

  /// Whether this worker was not heard of, or saw the database away, less than a lease ago. Workers that were silent
  /// during that time may have been so for the same reason. In a fleet of two, no other worker could tell.
  func wasCutOffLately(
    at now: ContinuousClock.Instant, lastOutage: ContinuousClock.Instant?, lease: Duration
  ) -> Bool {
    [wasSilent, lastOutage].contains { $0.map { now - $0 < lease } ?? false }
  }
}
