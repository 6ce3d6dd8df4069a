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
    /// The worker's row.
    let worker: Int64
    /// What it knows that it holds: the number of each one's taking, as it may have been given back and taken again since.
    let known: [Int64: Int64]
    /// Where the last look ended; nil from the beginning.
    var place: Place?
    /// Whether what is in question may be taken; then no more than one item.
    var isForOne: Bool

    /// Where to look next, after this has given `found`.
    func next(after found: Taking) -> Look? {
      guard found.items.isEmpty else { return nil }
      var next = self
      next.place = nil
      if place != nil { return next }
      next.isForOne = true
      return found.passedBy && known.isEmpty ? next : nil
    }
  }

  /// What a look gave.
  struct Taking {
    var items: [TakenItem] = []
    /// Whether what is to be taken alone was among those that were looked at, and left.
    var passedBy = false
    /// Nothing was taken, because there are limits, under which one takes after the other.
    var isLimited = false
    /// In how many lanes something waited.
    var lanes: Int64 = 1
  }

  /// Between two looks from the beginning: what was given back, or is more urgent, is seen by the next.
  static let lookPause = Duration.seconds(1)

  /// Its row; 0 before there is one.
  private(set) var worker: Int64 = 0
  /// What is held, as it was taken.
  private(set) var held: [Int64: TakenItem] = [:]
  /// The one that is held alone.
  private var single: Int64?
  /// Whether an item that is to be taken alone was passed by: its turn comes before anything else is taken.
  private var hasPassedBy = false
  private var place: Place?
  /// When it was last looked from the beginning.
  private var looked: ContinuousClock.Instant?
  /// The last sign of life, and the end of the last time that none came through for most of a lease.
  private var heard: ContinuousClock.Instant
  private var wasSilent: ContinuousClock.Instant?

  init(at now: ContinuousClock.Instant) { heard = now }

  /// It was written down anew, and holds nothing.
  mutating func isWrittenDown(as worker: Int64, at now: ContinuousClock.Instant) {
    let wasSilent = wasSilent
    self = WorkerMemory(at: now)
    (self.worker, self.wasSilent) = (worker, wasSilent)
  }

  // MARK: Taking

  /// What to look for; nil where nothing may be taken beside what is held.
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
    // Where several lanes have their turns, each look is at all of them.
    place =
      taking.lanes > 1
      ? nil : taking.items.last.map { Place(lane: $0.lane, priority: $0.priority, item: $0.id) }
  }

  /// What was said of these takings is written down.
  mutating func isSaid(of takings: [(item: Int64, attempts: Int64)], as worker: Int64) {
    guard self.worker == worker else { return }
    for taking in takings where held[taking.item]?.attempts == taking.attempts { held[taking.item] = nil }
    if let one = single, held[one] == nil { single = nil }
  }

  mutating func gaveBackAll() { (held, single) = ([:], nil) }

  // MARK: Living

  /// A sign of life came through.
  mutating func isHeard(at now: ContinuousClock.Instant, lease: Duration) {
    if now - heard > lease * 2 / 3 { wasSilent = now }
    heard = now
  }

  /// Whether it was not heard of, or saw the database away, less than a lease ago: who was silent in that time may have
  /// been so for the same reason. In a fleet of two nobody else could tell.
  func wasCutOffLately(
    at now: ContinuousClock.Instant, lastOutage: ContinuousClock.Instant?, lease: Duration
  ) -> Bool {
    [wasSilent, lastOutage].contains { $0.map { now - $0 < lease } ?? false }
  }
}
