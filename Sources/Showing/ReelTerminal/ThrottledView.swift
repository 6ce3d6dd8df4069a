import ReelCore
import ReelPostgres

/// The throttles of the queue after `reel queue pause`, `resume` and `limit`.
package struct ThrottledView: Sendable {
  /// The change that was made.
  package enum Change: Hashable, Sendable {
    case paused, resumed
    /// Nil means no limit on how many may be taken at once.
    case limited(Int?)
  }

  private let change: Change
  private let label: String?
  private let waiting: Int
  private let throttles: [WorkQueue.Throttle]

  /// - Parameters:
  ///   - label: nil for everything.
  ///   - waiting: the number of its items that wait; 0 may be due to a typing error.
  ///   - throttles: all present throttles.
  package init(_ change: Change, of label: String?, waiting: Int, throttles: [WorkQueue.Throttle]) {
    (self.change, self.label, self.waiting, self.throttles) = (change, label, waiting, throttles)
  }

  package func text(_ traits: TerminalTraits) -> String {
    let items = HumanNumber.count(waiting, "item waits", "items wait")
    let others = throttles.filter { $0.pausedSince != nil && (change != .paused || $0.label != label) }
      .map { QueueView.name($0.label) }
    let word = change == .paused ? "also paused" : "still paused"
    return traits.text(
      ["\(QueueView.name(label)) is \(state): \(items)"]
        + (others.isEmpty ? [] : ["\(word): \(others.joined(separator: ", "))"]))
  }

  private var state: String {
    switch change {
    case .paused: "paused"
    case .resumed: "no longer paused"
    case .limited(let most): most.map { "limited to \($0) at once" } ?? "not limited"
    }
  }
}

extension ThrottledView: Encodable {
  private enum CodingKeys: String, CodingKey { case waiting, throttles }

  package func encode(to encoder: any Encoder) throws {
    let own = throttles.first { $0.label == label }
    try ThrottleEntry(own ?? WorkQueue.Throttle(label: label, pausedSince: nil, most: nil)).encode(
      to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(waiting, forKey: .waiting)
    try container.encode(throttles.map(ThrottleEntry.init), forKey: .throttles)
  }
}

struct ThrottleEntry: Encodable {
  /// Nil for every label.
  let label: String?
  let pausedSince: String?
  let most: Int64?

  init(_ throttle: WorkQueue.Throttle) {
    (label, most) = (throttle.label, throttle.most)
    pausedSince = throttle.pausedSince.map { ISOTime.text($0, .milliseconds) }
  }
}
