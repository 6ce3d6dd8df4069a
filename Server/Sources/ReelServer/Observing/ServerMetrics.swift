import CoreMetrics
import Hummingbird

/// The server's own numbers.
final class ServerMetrics: Sendable {
  private let registry: MetricsRegistry
  private let received: Counter
  private let busy: Gauge
  private let waitingEvents: Gauge
  private let taken: Counter
  private let refused: Counter
  private let aside: Counter
  private let closedConnections: Counter

  init(_ registry: MetricsRegistry = MetricsRegistry()) {
    self.registry = registry
    let deliveries = { (end: String) in
      Counter(
        label: "reel_serve_webhook_deliveries_total", dimensions: [("end", end)], factory: registry)
    }
    (taken, refused, aside) = (deliveries("taken"), deliveries("refused"), deliveries("aside"))
    received = Counter(label: "reel_serve_received_bytes_total", factory: registry)
    busy = Gauge(label: "reel_serve_busy_uploads", factory: registry)
    waitingEvents = Gauge(label: "reel_serve_webhook_waiting_events", factory: registry)
    closedConnections = Counter(label: "reel_serve_closed_connections_total", factory: registry)
    for (name, help) in Self.help { registry.describe(name, help) }
    // What has not happened yet is 0, not missing.
    for word in Verdict.Word.allCases { verdicts(word).increment(by: 0) }
    busy.record(0)
    waitingEvents.record(0)
  }

  private static let help = [
    ("reel_serve_verdicts_total", "Videos that were judged, by what became of them."),
    (
      "reel_serve_problems_total",
      "Requests and videos that did not become a post, by the code of the reason."
    ),
    ("reel_serve_received_bytes_total", "Bytes of uploads that were taken."),
    ("reel_serve_busy_uploads", "Uploads that are being received or judged."),
    ("reel_serve_request_seconds", "How long requests took, their bodies and verdicts included."),
    ("reel_serve_webhook_waiting_events", "Events that the webhook has not taken yet."),
    (
      "reel_serve_webhook_deliveries_total",
      "Deliveries to the webhook, by their end; aside: given up after days."
    ),
    ("reel_serve_closed_connections_total", "Connections of addresses that had as many as they may have."),
    ("reel_build_info", "The version of Reel; always 1."),
  ]

  private func verdicts(_ word: Verdict.Word) -> Counter {
    Counter(
      label: "reel_serve_verdicts_total", dimensions: [("verdict", word.rawValue)], factory: registry)
  }

  func count(_ verdict: Verdict) {
    verdicts(verdict.word).increment()
    if let problem = verdict.problem { count(problem: problem.code) }
  }

  /// - Parameter problem: one of the server's own codes, never a stranger's word.
  func count(problem: String) {
    Counter(label: "reel_serve_problems_total", dimensions: [("code", problem)], factory: registry)
      .increment()
  }

  /// - Parameter place: one of the server's own names, never a stranger's word.
  func count(_ status: HTTPResponse.Status, at place: String, after time: Duration) {
    Timer(
      label: "reel_serve_request_seconds",
      dimensions: [("place", place), ("status", "\(status.code / 100)xx")], factory: registry
    ).record(duration: time)
  }

  func count(received bytes: Int) { received.increment(by: bytes) }
  func countClosedConnection() { closedConnections.increment() }
  func set(waitingEvents count: Int) { waitingEvents.record(count) }
  func count(takenEvents count: Int) { taken.increment(by: count) }
  func countRefusedEvent() { refused.increment() }
  func count(eventsSetAside count: Int) { aside.increment(by: count) }

  /// All metrics in Prometheus' text format, with those of other libraries.
  /// - Parameter busy: the number of uploads that are being worked on.
  func text(busy count: Int, version: String) -> String {
    busy.record(count)
    Gauge(label: "reel_build_info", dimensions: [("version", version)], factory: registry).record(1)
    return registry.text()
  }
}
