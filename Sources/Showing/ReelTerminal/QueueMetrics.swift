import FoundationEssentials
import ReelCore
import ReelPostgres

/// The state of the queue in Prometheus' text format (`reel status --metrics`).
package struct QueueMetrics: Sendable {
  private let status: QueueStatus

  package init(_ status: QueueStatus) { self.status = status }

  /// The metrics, with a newline after each line.
  package func text() -> String {
    var text = ""
    let now = Date.now
    func family(_ name: String, _ help: String, _ samples: [(labels: [(String, String)], value: Int)]) {
      text +=
        MetricFamily(
          name: "reel_queue_" + name, kind: .gauge, help: help,
          samples: samples.map { ($0.labels, "\($0.value)") }
        ).text
    }
    // A label without remaining items gets zeros, so that an alert about it ends.
    family(
      "items", "Items by label and state.",
      status.labels.flatMap { label in
        ItemState.allCases.map { ([("label", label.name), ("state", $0.name)], label.items[$0] ?? 0) }
      })
    family(
      "oldest_waiting_seconds", "How long the longest-waiting item has been waiting.",
      status.labels.map { label in
        let age = label.oldestWaiting.map { now.timeIntervalSince($0) } ?? 0
        return ([("label", label.name)], Int(max(0, min(age, 1e12))))
      })
    family(
      "reason_items", "Items that are not published, by state and code.",
      status.reasons.map { ([("state", $0.state.name), ("code", $0.code)], $0.count) })
    family("ended_last_minute", "Items that workers ended within a minute.", [([], status.endedInLastMinute)])
    family(
      "ended_last_half_hour", "Items that ended within half an hour, by state.",
      ItemState.allCases.filter(\.isEnd).map {
        ([("state", $0.name)], status.endedInLastHalfHour[$0] ?? 0)
      })
    let overdue = status.workers.count(where: \.isOverdue)
    family(
      "workers", "Workers, by whether they were heard of within their lease.",
      [([("state", "live")], status.workers.count - overdue), ([("state", "overdue")], overdue)])
    family(
      "paused", "1 for a label that is paused; * for every label.",
      status.throttles.filter { $0.pausedSince != nil }.map { ([("label", $0.label ?? "*")], 1) })
    family(
      "limit_items", "How many items of a label may be taken at once; * for all.",
      status.throttles.compactMap { one in
        one.most.map { ([("label", one.label ?? "*")], Int(clamping: $0)) }
      })
    family(
      "unserved_items", "Waiting items that no live worker may take.",
      [([], status.unserved.reduce(0) { $0 + $1.count })])
    family(
      "undelivered_events", "Posts with an undelivered event that no live process will deliver.",
      [([], status.undelivered)])
    return text
  }
}
