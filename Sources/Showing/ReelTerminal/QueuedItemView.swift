import FoundationEssentials
import ReelCore
import ReelPostgres

/// One item of the queue, for `reel queue list` and `reel queue show`.
package struct QueuedItemView: Sendable {
  private let item: QueuedItem
  private let history: [ItemHappening]?

  /// - Parameter history: nil if it is not to be shown.
  package init(_ item: QueuedItem, history: [ItemHappening]? = nil) {
    (self.item, self.history) = (item, history)
  }

  /// One line of a list.
  package func line(_ traits: TerminalTraits) -> String {
    var words = ["\(item.id)", QueueView.words(item.state)]
    if !item.wishes.label.isEmpty { words.append(item.wishes.label) }
    if let due = item.dueAt { words.append("from \(Self.time(due))") }
    let sentence = reason.map { Sentence.naming(item.address.shown, $0) } ?? item.address.shown
    return traits.text([traits.sanitized(words.joined(separator: "  ") + "  " + sentence)])
  }

  /// The state of the item, for a message.
  /// - Parameter hint: writes the command that shows more.
  package func sentence(_ hint: CommandHint) -> String {
    let due = item.dueAt.map { ", from \(Self.time($0))" }
    let reason = tellsReason ? item.message.map { "\(due == nil ? "" : ",") because \($0)" } : nil
    let policy = item.state == .refused ? item.decidedBy.map { " by policy \($0)" } : nil
    let verb = item.state == .failed ? "has" : "is"
    return
      "item \(item.id) of the queue \(verb) \(QueueView.words(item.state))\(due ?? "")\(policy ?? "")\(reason ?? ""); "
      + "\(hint.text("queue show", "\(item.id)")) tells its history"
  }

  /// All details of the item.
  package func text(_ traits: TerminalTraits) -> String {
    var sheet = FactSheet(traits)
    sheet.add("item", "\(item.id)", .strong)
    sheet.add("file", item.address.shown)
    sheet.add("version", item.version)
    sheet.add("state", state, tellsReason ? .warning : nil)
    sheet.add("because", reason)
    sheet.add("label", item.wishes.label)
    sheet.add("store", item.wishes.destination)
    sheet.add("policy", item.wishes.policy)
    sheet.add("author", item.wishes.author)
    sheet.add("decided by", item.decidedBy.map { "policy \($0)" })
    if item.priority != 0 { sheet.add("priority", "\(item.priority)") }
    sheet.add("enqueued", Self.time(item.enqueuedAt))
    if let at = item.takenAt { sheet.add("last taken", "\(Self.time(at)), by \(item.takenBy ?? "?")") }
    sheet.add("attempts", attempts)
    var lines = sheet.lines(indent: 0)
    for happening in history ?? [] {
      lines += traits.wrapped(
        "\(Self.time(happening.at)):", nil, traits.sanitized(Self.told(happening)))
    }
    return lines.text(traits)
  }

  private var state: String {
    var parts = [QueueView.words(item.state)]
    if let due = item.dueAt {
      parts.append("from \(Self.time(due))")
    } else {
      parts.append("since \(Self.time(item.changedAt))")
    }
    if item.isCancelled, item.state == .taken { parts.append("cancelled: not to be tried again") }
    return parts.joined(separator: ", ")
  }

  private var attempts: String? {
    guard item.attempts > 0 else { return nil }
    var parts = ["taken \(HumanNumber.count(Int(clamping: item.attempts), "time", "times"))"]
    if item.failures > 0 { parts.append("failed \(item.failures)") }
    if item.deaths > 0 {
      parts.append("\(HumanNumber.count(Int(clamping: item.deaths), "worker", "workers")) died")
    }
    return parts.joined(separator: ", ")
  }

  private static func told(_ one: ItemHappening) -> String {
    var parts: [String] = []
    if let taker = one.takenBy {
      parts.append("attempt \(one.attempt), \(taker)\(one.takenAt.map { ", taken \(time($0))" } ?? "")")
    }
    if let message = one.message { parts.append(one.code.map { "\(message) [\($0)]" } ?? message) }
    if let policy = one.policy, one.takenBy != nil { parts.append("by policy \(policy)") }
    parts.append("then \(QueueView.words(one.state))\(one.dueAt.map { ", from \(time($0))" } ?? "")")
    return parts.joined(separator: "; ")
  }

  /// Why the item is not a post; nil if nothing is wrong with it.
  private var reason: String? {
    tellsReason ? item.code.map { "\(item.message ?? "") [\($0)]" } : nil
  }

  /// Whether there is a reason to show. A waiting item has one if it was tried before.
  private var tellsReason: Bool {
    item.code != nil && [.waiting, .later, .refused, .failed, .setAside].contains(item.state)
  }

  package static func time(_ date: Date) -> String {
    ISOTime.text(
      Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)), .secondsOrMilliseconds)
  }
}

extension QueuedItemView: Encodable {
  private enum CodingKeys: String, CodingKey {
    case item, version, size, state, label, destination, policy, author, priority, attempts, failures, deaths,
      enqueuedAt,
      changedAt, dueAt, takenBy, takenAt, code, message, decidedBy, cancelled, history
  }

  package func encode(to encoder: any Encoder) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try item.address.encode(into: &paths)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(item.id, forKey: .item)
    try container.encode(item.version, forKey: .version)
    try container.encodeIfPresent(item.size, forKey: .size)
    try container.encode(item.state.name, forKey: .state)
    try container.encode(item.wishes.label, forKey: .label)
    try container.encodeIfPresent(item.wishes.destination, forKey: .destination)
    try container.encodeIfPresent(item.wishes.policy, forKey: .policy)
    try container.encodeIfPresent(item.wishes.author, forKey: .author)
    try container.encode(item.priority, forKey: .priority)
    try container.encode(item.attempts, forKey: .attempts)
    try container.encode(item.failures, forKey: .failures)
    try container.encode(item.deaths, forKey: .deaths)
    try container.encode(Self.text(item.enqueuedAt), forKey: .enqueuedAt)
    try container.encode(Self.text(item.changedAt), forKey: .changedAt)
    try container.encodeIfPresent(item.dueAt.map(Self.text), forKey: .dueAt)
    try container.encodeIfPresent(item.takenBy, forKey: .takenBy)
    try container.encodeIfPresent(item.takenAt.map(Self.text), forKey: .takenAt)
    try container.encodeIfPresent(item.code, forKey: .code)
    try container.encodeIfPresent(item.message, forKey: .message)
    try container.encodeIfPresent(item.decidedBy, forKey: .decidedBy)
    try container.encode(item.isCancelled, forKey: .cancelled)
    try container.encodeIfPresent(history?.map(Happening.init), forKey: .history)
  }

  private static func text(_ date: Date) -> String { ISOTime.text(date, .milliseconds) }

  private struct Happening: Encodable {
    let attempt: Int64
    let takenBy: String?
    let takenAt: String?
    let at: String
    let state: String
    let code: String?
    let message: String?
    let policy: String?
    let dueAt: String?

    init(_ one: ItemHappening) {
      (attempt, takenBy) = (one.attempt, one.takenBy)
      (takenAt, at) = (one.takenAt.map(text), text(one.at))
      (state, code, message) = (one.state.name, one.code, one.message)
      (policy, dueAt) = (one.policy, one.dueAt.map(text))
    }
  }
}
