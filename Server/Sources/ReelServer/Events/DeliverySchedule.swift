/// When each event is tried again. The schedule belongs to the process: a server that is started tries all events at
/// once.
///
/// Pauses are measured by a clock that cannot be set.
struct DeliverySchedule {
  typealias Instant = ContinuousClock.Instant

  private struct Refusals {
    var count = 0
    var since: Instant
    var resumesAt: Instant
  }
  private var refusals: [OutgoingEvent: Refusals] = [:]
  /// Events for which the webhook was away, since it last took one: these events may be the cause.
  private var suspects: [OutgoingEvent] = []
  private var refusedInARow = 0
  private var timesAway = 0
  private var lastTaken: Instant?
  private(set) var resumesAt: Instant?
  /// Events that were taken but could not be removed: they are not sent again.
  var unremoved: Set<OutgoingEvent> = []

  /// Whether the webhook, when last heard of, took nothing.
  var isAway: Bool { timesAway > 0 }

  /// The longest pause, also if the webhook asks for a longer one.
  private static let longestPause = Duration.seconds(3_600)
  private static let longestRefusal = Duration.seconds(3 * 86_400)
  private static let leastRefusals = 5
  /// A webhook that refuses this many events in a row takes none at all.
  private static let mostInARow = 10

  func isDue(_ now: Instant) -> Bool { resumesAt.map { $0 <= now } ?? true }

  /// The events of each post whose first one is due, in order; the oldest posts first, but suspects last.
  func dueLines(of waiting: [OutgoingEvent], _ now: Instant) -> [[OutgoingEvent]] {
    var (order, lines): ([String], [String: [OutgoingEvent]]) = ([], [:])
    for event in waiting {
      if lines[event.post] == nil { order.append(event.post) }
      lines[event.post, default: []].append(event)
    }
    let due = order.compactMap { lines[$0] }.filter { line in
      line.first.flatMap { refusals[$0] }.map { $0.resumesAt <= now } ?? true
    }
    let turns = Dictionary(suspects.enumerated().map { ($1, $0) }) { $1 }
    func turn(_ line: [OutgoingEvent]) -> Int { line.first.flatMap { turns[$0] } ?? -1 }
    return turns.isEmpty
      ? due : due.enumerated().sorted { (turn($0.1), $0.0) < (turn($1.1), $1.0) }.map(\.1)
  }

  /// - Returns: the events that are not to be tried again: others are taken, and these were not for days.
  mutating func noteTaken(_ taken: [OutgoingEvent], _ now: Instant) -> [OutgoingEvent] {
    (timesAway, refusedInARow, lastTaken, resumesAt) = (0, 0, now, nil)
    defer { suspects = [] }
    return suspects.filter { !taken.contains($0) && refuse($0, now).isEnough }
  }

  /// - Parameter pause: what the webhook asks for; nil for a pause that doubles each time, up to a minute.
  mutating func noteAway(_ event: OutgoingEvent, _ pause: Duration?, _ now: Instant) {
    suspects.removeAll { $0 == event }
    suspects.append(event)
    self.pause(pause, now)
  }

  private mutating func pause(_ pause: Duration?, _ now: Instant) {
    // The deliveries that were under way at the same time report the same outage.
    if isAway, !isDue(now) { return }
    timesAway += 1
    let pause = pause ?? min(.seconds(60), .seconds(1 << min(timesAway - 1, 6)))
    resumesAt = now + min(max(pause, .seconds(1)), Self.longestPause)
  }

  /// - Returns: whether it is the first refusal, and whether there were enough to set the event aside.
  mutating func noteRefused(_ event: OutgoingEvent, _ now: Instant) -> (isFirst: Bool, isEnough: Bool) {
    refusedInARow += 1
    if refusedInARow >= Self.mostInARow { pause(nil, now) }
    return refuse(event, now)
  }

  private mutating func refuse(_ event: OutgoingEvent, _ now: Instant) -> (isFirst: Bool, isEnough: Bool) {
    var known = refusals[event] ?? Refusals(since: now, resumesAt: now)
    known.count += 1
    var pause = Duration.seconds(5)
    for _ in 1..<min(known.count, 10) { pause *= 3 }
    known.resumesAt = now + min(pause, Self.longestPause)
    // A webhook that takes no event at all has nothing against this one.
    let isEnough =
      known.count >= Self.leastRefusals && now - known.since > Self.longestRefusal
      && lastTaken.map { $0 > known.since } ?? false
    refusals[event] = isEnough ? nil : known
    return (known.count == 1, isEnough)
  }

  /// Forgets the events that no longer wait.
  mutating func keep(only waiting: [OutgoingEvent]) {
    guard !refusals.isEmpty || !suspects.isEmpty else { return }
    let waiting = Set(waiting)
    refusals = refusals.filter { waiting.contains($0.key) }
    suspects = suspects.filter { waiting.contains($0) }
  }
}
