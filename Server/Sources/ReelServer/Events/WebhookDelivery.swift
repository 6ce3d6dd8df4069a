import Logging
import Reel
import ServiceLifecycle

/// Delivers the events of an outbox to a webhook: those of one post one after the other, each until it is taken.
///
/// While the webhook is away, one event at a time is tried; once it is back, it gets all of them. An event that it
/// refuses is sent again after 5 s, 15 s, 45 s … and finally every hour. After three days in which it took others, that
/// event and the later ones of the same post are set aside.
struct WebhookDelivery: Service {
  private let outbox: EventOutbox
  private let webhook: Webhook
  private let disk: DiskThreads
  private let metrics: ServerMetrics
  private let logger: Logger
  private let now: @Sendable () -> ContinuousClock.Instant

  /// The number of deliveries at once.
  private static let atOnce = 4

  init(
    _ outbox: EventOutbox, to webhook: Webhook, disk: DiskThreads, metrics: ServerMetrics, logger: Logger,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    (self.outbox, self.webhook, self.disk, self.metrics) = (outbox, webhook, disk, metrics)
    (self.logger, self.now) = (logger, now)
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      var schedule = DeliverySchedule()
      while !Task.isCancelled {
        let isBusy = await deliver(by: &schedule)
        // Events that other processes have added are found by looking.
        if !isBusy { try? await Task.sleep(for: .seconds(1)) }
      }
    }
  }

  /// How the delivery of a post's events ended.
  private struct Ending: Sendable {
    enum Reason: Sendable {
      case answered(WebhookAnswer)
      case unreadable(Problem)
    }
    /// The events from the first one that was not taken; empty where all were.
    var left: [OutgoingEvent] = []
    var reason = Reason.answered(.taken)
    var taken: [OutgoingEvent] = []
    /// The events of ``taken`` that could not be removed, and why.
    var unremoved: [(event: OutgoingEvent, problem: Problem)] = []
  }

  /// Sends the events that are due.
  /// - Returns: whether an event was taken, so that there may be more.
  func deliver(by schedule: inout DeliverySchedule) async -> Bool {
    guard schedule.isDue(now()) else { return false }
    let waiting: [OutgoingEvent]
    do {
      let (outbox, unremoved) = (outbox, schedule.unremoved)
      (waiting, schedule.unremoved) = try await disk.run { () throws(Problem) in
        let waiting = try outbox.deliverable()
        let left = unremoved.filter { (try? outbox.remove($0)) == nil }
        return (unremoved.isEmpty ? waiting : waiting.filter { !unremoved.contains($0) }, left)
      }
    } catch {
      logger.error("events can't be read", metadata: ["message": "\(error.message)"])
      return false
    }
    metrics.set(waitingEvents: waiting.count)
    schedule.keep(only: waiting)
    var lines = schedule.dueLines(of: waiting, now())[...]
    var taken = 0
    await withTaskGroup(of: Ending.self) { group in
      func next() {
        guard !Task.isCancelled, schedule.isDue(now()), let line = lines.popFirst() else { return }
        group.addTask { await send(line) }
      }
      // One event is enough to find out whether the webhook is back.
      for _ in 0..<(schedule.isAway ? 1 : Self.atOnce) { next() }
      while let ending = await group.next() {
        taken += ending.taken.count
        if !Task.isCancelled { await note(ending, waiting, by: &schedule) }
        next()
      }
    }
    metrics.count(takenEvents: taken)
    return taken > 0
  }

  /// Sends the events of a post, until one is not taken.
  private func send(_ events: [OutgoingEvent]) async -> Ending {
    var ending = Ending()
    for (index, event) in events.enumerated() {
      if Task.isCancelled { return ending }
      do throws(Problem) {
        let outbox = outbox
        guard let body = try await disk.run({ () throws(Problem) in try outbox.body(of: event) }) else {
          continue
        }
        let answer = await webhook.send(event, body)
        guard answer == .taken else {
          (ending.left, ending.reason) = (Array(events[index...]), .answered(answer))
          return ending
        }
        ending.taken.append(event)
        do throws(Problem) {
          try await disk.run { () throws(Problem) in try outbox.remove(event) }
        } catch {
          ending.unremoved.append((event, error))
        }
      } catch {
        (ending.left, ending.reason) = (Array(events[index...]), .unreadable(error))
        return ending
      }
    }
    return ending
  }

  private func note(_ ending: Ending, _ waiting: [OutgoingEvent], by schedule: inout DeliverySchedule) async {
    if !ending.taken.isEmpty {
      for event in schedule.noteTaken(ending.taken, now()) {
        await setAside(waiting.filter { $0.post == event.post && $0.number >= event.number })
      }
    }
    for (event, problem) in ending.unremoved {
      schedule.unremoved.insert(event)
      logger.error(
        "an event that was taken can't be removed; it is not sent again, unless the server is restarted",
        metadata: ["event": "\(event.id)", "message": "\(problem.message)"])
    }
    guard let first = ending.left.first else { return }
    let metadata: Logger.Metadata = ["webhook": "\(webhook.name)", "event": "\(first.id)"]
    switch ending.reason {
    case .answered(.taken): break
    case .answered(.away(let reason, let seconds)):
      if !schedule.isAway {
        logger.warning(
          "the webhook is away; events wait for it",
          metadata: metadata.merging(["reason": "\(reason)"]) { $1 })
      }
      schedule.noteAway(first, seconds.map { .seconds(min($0, 86_400)) }, now())
    case .answered(.refused(let reason)):
      metrics.countRefusedEvent()
      let (isFirst, isEnough) = schedule.noteRefused(first, now())
      if isFirst {
        logger.warning(
          "an event was not taken; it is tried again",
          metadata: metadata.merging(["reason": "\(reason)"]) { $1 })
      }
      if isEnough { await setAside(ending.left) }
    case .unreadable(let problem):
      schedule.noteAway(first, nil, now())
      logger.error(
        "an event can't be read", metadata: metadata.merging(["message": "\(problem.message)"]) { $1 })
    }
  }

  private func setAside(_ events: [OutgoingEvent]) async {
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
