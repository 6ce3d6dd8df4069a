import FoundationEssentials
import Logging
import Reel
import ServiceLifecycle
import Synchronization

/// Takes the events of an outbox to a webhook: those of one post one after the other, each until it is taken.
///
/// A webhook that is away is tried again with the oldest event alone, and gets all of them when it is back. One that has
/// something against an event gets it again after 5 s, 15 s, 45 s … and at last every hour; after three days it and what
/// comes after it of that post are set aside.
struct WebhookDelivery: Service {
  private let outbox: EventOutbox
  private let webhook: Webhook
  private let disk: DiskThreads
  private let metrics: ServerMetrics
  private let logger: Logger
  private let clock: any WallClock

  /// How many are on their way at once.
  private static let atOnce = 4

  init(
    _ outbox: EventOutbox, to webhook: Webhook, disk: DiskThreads, metrics: ServerMetrics, logger: Logger,
    clock: any WallClock = SystemWallClock()
  ) {
    (self.outbox, self.webhook, self.disk, self.metrics) = (outbox, webhook, disk, metrics)
    (self.logger, self.clock) = (logger, clock)
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      var schedule = DeliverySchedule()
      while !Task.isCancelled {
        let isBusy = await deliver(by: &schedule)
        // What others have added is found by looking.
        if !isBusy { try? await Task.sleep(for: .seconds(1)) }
      }
    }
  }

  /// Sends what is due.
  /// - Returns: whether something was taken, so that there may be more.
  func deliver(by schedule: inout DeliverySchedule) async -> Bool {
    let now = clock.now()
    guard now >= schedule.resumesAt else { return false }
    let waiting: [OutgoingEvent]
    do {
      let outbox = outbox
      waiting = try await disk.run { () throws(Problem) in try outbox.waiting() }
    } catch {
      logger.error("events can't be read", metadata: ["message": "\(error.message)"])
      return false
    }
    metrics.set(waitingEvents: waiting.count)
    schedule.keep(only: waiting)
    var left = schedule.dueLines(of: waiting, now)[...]
    var taken = 0
    await withTaskGroup(of: (events: [OutgoingEvent], ending: DeliveryEnding, taken: Int).self) { group in
      func next() {
        guard !Task.isCancelled, schedule.resumesAt <= clock.now(), let line = left.popFirst() else { return }
        group.addTask { await send(line) }
      }
      // One says whether it is back.
      for _ in 0..<(schedule.isAway ? 1 : Self.atOnce) { next() }
      while let (events, ending, count) = await group.next() {
        taken += count
        await note(ending, of: events, by: &schedule)
        next()
      }
    }
    metrics.count(takenEvents: taken)
    return taken > 0
  }

  /// Sends the events of a post, until one is not taken.
  private func send(
    _ events: [OutgoingEvent]
  ) async -> (events: [OutgoingEvent], ending: DeliveryEnding, taken: Int) {
    for (index, event) in events.enumerated() {
      if Task.isCancelled { return ([], .done, index) }
      do throws(Problem) {
        let outbox = outbox
        guard let body = try await disk.run({ () throws(Problem) in try outbox.body(of: event) }) else {
          continue
        }
        let answer = await webhook.send(event, body)
        guard answer == .taken else { return (Array(events[index...]), .answered(answer), index) }
        try await disk.run { () throws(Problem) in try outbox.remove(event) }
      } catch {
        return (Array(events[index...]), .unreadable(error), index)
      }
    }
    return ([], .done, events.count)
  }

  private func note(
    _ ending: DeliveryEnding, of events: [OutgoingEvent], by schedule: inout DeliverySchedule
  ) async {
    guard let first = events.first else { return schedule.noteTaken() }
    switch ending {
    case .done, .answered(.taken): schedule.noteTaken()
    case .answered(.away(let reason, let seconds)):
      if !Task.isCancelled, !schedule.isAway {
        logger.warning(
          "the webhook is away; events wait for it",
          metadata: ["webhook": "\(webhook.name)", "reason": "\(reason)"])
      }
      schedule.noteAway(seconds, clock.now())
    case .answered(.refused(let status)):
      metrics.countRefusedEvent()
      logger.warning(
        "an event was not taken",
        metadata: ["webhook": "\(webhook.name)", "event": "\(first.id)", "status": "\(status)"])
      guard schedule.noteRefused(first, clock.now()) else { return }
      await setAside(events, by: &schedule)
    case .unreadable(let problem):
      schedule.noteAway(nil, clock.now())
      logger.error(
        "an event can't be read", metadata: ["event": "\(first.id)", "message": "\(problem.message)"])
    }
  }

  private func setAside(_ events: [OutgoingEvent], by schedule: inout DeliverySchedule) async {
    do {
      let outbox = outbox
      try await disk.run { () throws(Problem) in try outbox.setAside(events) }
      metrics.count(eventsSetAside: events.count)
      logger.error(
        "events were set aside, as the webhook did not take them for days: `reel-serve events` lists them",
        metadata: ["post": "\(events.first?.post ?? "")", "count": "\(events.count)"])
    } catch {
      logger.error("events could not be set aside", metadata: ["message": "\(error.message)"])
    }
  }
}

/// How the delivery of a post's events ended.
enum DeliveryEnding: Sendable {
  case done
  case answered(WebhookAnswer)
  case unreadable(Problem)
}

/// When which event is tried again. It is of the process alone: a server that is started tries all at once.
struct DeliverySchedule {
  private struct Refusals {
    var count = 0
    var resumesAt = Date.distantPast
  }
  private var refusals: [OutgoingEvent: Refusals] = [:]
  private var timesAway = 0
  private(set) var resumesAt = Date.distantPast

  /// Whether the last that was heard of the webhook is that it takes nothing.
  var isAway: Bool { timesAway > 0 }

  /// A webhook that says so is waited for so long at most.
  private static let longestPause: Double = 3_600
  private static let longestRefusal: Double = 3 * 86_400
  private static let leastRefusals = 5

  /// The events of each post whose first one is due, in their order; the oldest first.
  func dueLines(of waiting: some Sequence<OutgoingEvent>, _ now: Date) -> [[OutgoingEvent]] {
    var (order, lines): ([String], [String: [OutgoingEvent]]) = ([], [:])
    for event in waiting {
      if lines[event.post] == nil { order.append(event.post) }
      lines[event.post, default: []].append(event)
    }
    return order.compactMap { lines[$0] }.filter { line in
      line.first.flatMap { refusals[$0] }.map { $0.resumesAt <= now } ?? true
    }
  }

  mutating func noteTaken() { timesAway = 0 }

  /// - Parameter seconds: for which it asks; nil for what doubles each time, up to a minute.
  mutating func noteAway(_ seconds: Double?, _ now: Date) {
    // Those that were on their way with it say it, too.
    if isAway, now < resumesAt { return }
    timesAway += 1
    let pause = seconds ?? min(60, Double(1 << min(timesAway - 1, 6)))
    resumesAt = now.addingTimeInterval(min(max(pause, 1), Self.longestPause))
  }

  /// - Returns: whether that was enough.
  mutating func noteRefused(_ event: OutgoingEvent, _ now: Date) -> Bool {
    timesAway = 0
    var known = refusals[event] ?? Refusals()
    known.count += 1
    var pause: Double = 5
    for _ in 1..<min(known.count, 10) { pause *= 3 }
    known.resumesAt = now.addingTimeInterval(min(pause, Self.longestPause))
    let isEnough =
      known.count >= Self.leastRefusals && now.timeIntervalSince(event.addedAt) > Self.longestRefusal
    refusals[event] = isEnough ? nil : known
    return isEnough
  }

  /// Forgets those that are not waited for any more.
  mutating func keep(only waiting: [OutgoingEvent]) {
    guard !refusals.isEmpty else { return }
    let waiting = Set(waiting)
    refusals = refusals.filter { waiting.contains($0.key) }
  }
}
