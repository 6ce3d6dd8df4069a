import FoundationEssentials
import ReelCore
import ReelPostgres

/// The result of `reel enqueue`.
package struct EnqueuedView: Encodable, Sendable {
  private let new: Int
  private let known: Int
  private let putBack: Int
  private let failed: Int
  /// Whether nothing was actually changed.
  private let dryRun: Bool

  package init(new: Int, known: Int, putBack: Int, failed: Int, dryRun: Bool) {
    (self.new, self.known, self.putBack, self.failed) = (new, known, putBack, failed)
    self.dryRun = dryRun
  }

  package func text(_ traits: TerminalTraits) -> String {
    var parts = [HumanNumber.count(new, "file", "files") + (dryRun ? " would be enqueued" : " enqueued")]
    if known > 0 { parts.append("\(known) already in the queue") }
    if putBack > 0 { parts.append("\(putBack) \(dryRun ? "would be retried" : "to be retried")") }
    if failed > 0 { parts.append("\(failed) could not be enqueued") }
    return traits.wrapped(parts.joined(separator: ", ")).text(traits)
  }
}

/// The state of the queue, for `reel status`.
package struct QueueView: Sendable {
  private let status: QueueStatus

  package init(_ status: QueueStatus) { self.status = status }

  package func text(_ traits: TerminalTraits) -> String {
    var sheet = FactSheet(traits)
    sheet.add("queue", queue, .strong)
    sheet.add("rate", rate)
    for throttle in status.throttles {
      sheet.add(throttle.pausedSince == nil ? "limit" : "paused", told(throttle), .warning)
    }
    for label in status.labels where !label.name.isEmpty { sheet.add("label", told(label)) }
    if status.workers.isEmpty { sheet.add("workers", isLeftAlone ? "none: \(Self.leftAlone)" : "none") }
    for worker in status.workers.prefix(Self.mostWorkers) {
      sheet.add("worker", told(worker), worker.isOverdue ? .warning : nil)
    }
    if status.workers.count > Self.mostWorkers {
      sheet.add("workers", "\(status.workers.count - Self.mostWorkers) more: --json lists all")
    }
    for unserved in status.unserved.prefix(Self.mostWorkers) {
      sheet.add("stuck", told(unserved), .warning)
    }
    if status.undelivered > 0 {
      let posts = HumanNumber.count(status.undelivered, "post", "posts")
      sheet.add(
        "events",
        "of \(posts) not delivered, by a process that has died: list their videos again, to deliver them",
        .warning)
    }
    let reasons = traits.listed(status.reasons, rest: ": --json lists all") { reason in
      let due = reason.dueAt.map { ", the first from \(QueuedItemView.time($0))" } ?? ""
      return traits.wrapped(
        "\(reason.count) \(Self.words(reason.state))\(due):",
        [.waiting, .later].contains(reason.state) ? nil : .warning,
        traits.sanitized(Sentence.naming(reason.address.shown, reason.message) + " [\(reason.code)]"))
    }
    return (sheet.lines(indent: 0) + reasons).text(traits)
  }

  private static let mostWorkers = 20

  private static let leftAlone =
    "waiting items are taken once `reel work` runs; its own output says why it ended"

  private var isLeftAlone: Bool { [.waiting, .later].contains { status.items[$0, default: 0] > 0 } }

  private var queue: String {
    let parts = ItemState.allCases.compactMap { state in
      status.items[state].map { "\($0) \(Self.words(state))" }
    }
    return parts.isEmpty ? "nothing was ever enqueued" : parts.joined(separator: ", ")
  }

  private var rate: String? {
    guard status.endedInLastMinute > 0 else { return nil }
    return "\(HumanNumber.count(status.endedInLastMinute, "item", "items")) finished in the last minute"
  }

  private func told(_ throttle: WorkQueue.Throttle) -> String {
    let pause = throttle.pausedSince.map { ", since \(QueuedItemView.time($0))" } ?? ""
    return Self.name(throttle.label) + pause + (throttle.most.map { ", at most \($0) at once" } ?? "")
  }

  private func told(_ unserved: QueueStatus.Unserved) -> String {
    let wishes = unserved.wishes
    let asked = [
      wishes.destination.map { "to be stored in \($0)" }, wishes.policy.map { "for the policy \($0)" },
      wishes.label.isEmpty ? nil : "labelled \(wishes.label)",
    ].compactMap { $0 }
    let words = asked.isEmpty ? "without a label" : asked.joined(separator: ", ")
    return
      "\(HumanNumber.count(unserved.count, "item", "items")) \(words): no live worker may take them"
  }

  private func told(_ label: QueueStatus.Label) -> String {
    let parts = ItemState.allCases.compactMap { state in
      label.items[state].map { "\($0) \(Self.words(state))" }
    }
    return "\(label.name): " + parts.joined(separator: ", ")
  }

  private func told(_ worker: QueueStatus.Worker) -> String {
    var parts = ["\(worker.holds) in progress", "\(worker.finished) finished"]
    if worker.failed > 0 { parts.append("\(worker.failed) not published") }
    if worker.isOverdue { parts.append("not heard from for longer than its lease") }
    return
      "\(worker.host), process \(worker.pid), since \(QueuedItemView.time(worker.startedAt)): "
      + parts.joined(separator: ", ")
  }

  /// The name of what a label stands for; a nil label stands for everything.
  static func name(_ label: String?) -> String {
    label.map { $0.isEmpty ? "what has no label" : $0 } ?? "everything"
  }

  static func words(_ state: ItemState) -> String {
    switch state {
    case .waiting: "waiting"
    case .taken: "taken"
    case .later: "for later"
    case .done: "done"
    case .refused: "refused"
    case .failed: "failed"
    case .setAside: "set aside"
    case .cancelled: "cancelled"
    }
  }
}

extension QueueView: Encodable {
  private enum CodingKeys: String, CodingKey {
    case items, workers, endedInLastMinute, oldestWaiting, reasons, labels, throttles, undelivered, unserved
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    let items = ItemState.allCases.map { ($0.name, status.items[$0] ?? 0) }
    try container.encode(Dictionary(uniqueKeysWithValues: items), forKey: .items)
    try container.encode(status.workers.map(WorkerEntry.init), forKey: .workers)
    try container.encode(status.endedInLastMinute, forKey: .endedInLastMinute)
    try container.encode(
      status.oldestWaiting.map { ISOTime.text($0, .milliseconds) }, forKey: .oldestWaiting)
    try container.encode(status.reasons.map(ReasonEntry.init), forKey: .reasons)
    try container.encode(status.labels.map(LabelEntry.init), forKey: .labels)
    try container.encode(status.throttles.map(ThrottleEntry.init), forKey: .throttles)
    try container.encode(status.undelivered, forKey: .undelivered)
    try container.encode(status.unserved.map(UnservedEntry.init), forKey: .unserved)
  }

  private struct LabelEntry: Encodable {
    let label: String
    let items: [String: Int]
    let oldestWaiting: String?

    init(_ label: QueueStatus.Label) {
      self.label = label.name
      items = Dictionary(uniqueKeysWithValues: label.items.map { ($0.key.name, $0.value) })
      oldestWaiting = label.oldestWaiting.map { ISOTime.text($0, .milliseconds) }
    }
  }

  private struct UnservedEntry: Encodable {
    let label: String
    let destination: String?
    let policy: String?
    let items: Int

    init(_ unserved: QueueStatus.Unserved) {
      (label, items) = (unserved.wishes.label, unserved.count)
      (destination, policy) = (unserved.wishes.destination, unserved.wishes.policy)
    }
  }

  private struct WorkerEntry: Encodable {
    let host: String
    let pid: Int
    let destination: String
    let startedAt: String
    let overdue: Bool
    let holds: Int
    let ended: Int
    let withoutPost: Int

    init(_ worker: QueueStatus.Worker) {
      (host, pid, destination) = (worker.host, worker.pid, worker.destination)
      startedAt = ISOTime.text(worker.startedAt, .milliseconds)
      (overdue, holds, ended, withoutPost) = (
        worker.isOverdue, worker.holds, worker.finished, worker.failed
      )
    }
  }

  private struct ReasonEntry: Encodable {
    private enum CodingKeys: String, CodingKey { case state, code, count, message, dueAt }
    let reason: QueueStatus.Reason

    func encode(to encoder: any Encoder) throws {
      var paths = encoder.container(keyedBy: SourcePathCoding.self)
      try reason.address.encode(into: &paths)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(reason.state.name, forKey: .state)
      try container.encode(reason.code, forKey: .code)
      try container.encode(reason.count, forKey: .count)
      try container.encode(reason.message, forKey: .message)
      try container.encodeIfPresent(
        reason.dueAt.map { ISOTime.text($0, .milliseconds) }, forKey: .dueAt)
    }
  }
}

/// The answer of `reel status --json`: the status of the catalog, with that of the queue if there is one.
package struct StatusDocument: Encodable, Sendable {
  private enum CodingKeys: String, CodingKey { case queue }
  private let catalog: StatusView
  private let queue: QueueView?

  package init(catalog: StatusView, queue: QueueView?) { (self.catalog, self.queue) = (catalog, queue) }

  /// Files that were not published do not make the command fail.
  package var answer: AnswerDocument<Self> { AnswerDocument(self, problems: catalog.problems, ok: true) }

  package func encode(to encoder: any Encoder) throws {
    try catalog.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(queue, forKey: .queue)
  }
}
