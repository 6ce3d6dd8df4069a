import Synchronization

/// The server's numbers, for Prometheus' text format, version 0.0.4.
final class ServerMetrics: Sendable {
  private struct Numbers {
    var verdicts: [Verdict.Word: Int] = [:]
    var problems: [String: Int] = [:]
    var received: Int64 = 0
    var events = Events()
    var closedConnections = 0
  }
  /// Of a webhook.
  private struct Events {
    var waiting = 0
    var taken = 0
    var refused = 0
    var setAside = 0
  }
  private let numbers = Mutex(Numbers())

  func count(_ verdict: Verdict) {
    numbers.withLock { numbers in
      numbers.verdicts[verdict.word, default: 0] += 1
      if let problem = verdict.problem { numbers.problems[problem.code, default: 0] += 1 }
    }
  }

  /// - Parameter problem: a code of ours, never a stranger's word.
  func count(problem: String) { numbers.withLock { $0.problems[problem, default: 0] += 1 } }

  func count(received bytes: Int) { numbers.withLock { $0.received += Int64(bytes) } }

  func countClosedConnection() { numbers.withLock { $0.closedConnections += 1 } }

  func set(waitingEvents count: Int) { numbers.withLock { $0.events.waiting = count } }
  func count(takenEvents count: Int) { numbers.withLock { $0.events.taken += count } }
  func countRefusedEvent() { numbers.withLock { $0.events.refused += 1 } }
  func count(eventsSetAside count: Int) { numbers.withLock { $0.events.setAside += count } }

  /// - Parameter busy: uploads that are worked on now.
  func text(busy: Int, version: String) -> String {
    let numbers = numbers.withLock { $0 }
    return [
      family(
        "reel_serve_verdicts_total", "counter", "Videos that were judged, by what became of them.", "verdict",
        Verdict.Word.allCases.map { ($0.rawValue, numbers.verdicts[$0] ?? 0) }),
      family(
        "reel_serve_problems_total", "counter",
        "Requests and videos that came to no post, by the code of the reason.",
        "code", numbers.problems.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
      family(
        "reel_serve_received_bytes_total", "counter", "Bytes of uploads that were taken.", nil,
        [("", Int(numbers.received))]),
      family(
        "reel_serve_busy_uploads", "gauge", "Uploads that are being received or judged.", nil, [("", busy)]),
      family(
        "reel_serve_webhook_waiting_events", "gauge", "Events that the webhook has not taken yet.", nil,
        [("", numbers.events.waiting)]),
      family(
        "reel_serve_webhook_deliveries_total", "counter",
        "Deliveries to the webhook, by their end; aside: given up after days.", "end",
        [
          ("taken", numbers.events.taken), ("refused", numbers.events.refused),
          ("aside", numbers.events.setAside),
        ]),
      family(
        "reel_serve_closed_connections_total", "counter",
        "Connections of addresses that had as many as they may have.", nil, [("", numbers.closedConnections)]),
      family("reel_build_info", "gauge", "The version of Reel; always 1.", "version", [(version, 1)]),
    ].joined()
  }

  private func family(
    _ name: String, _ kind: String, _ help: String, _ label: String?, _ samples: [(String, Int)]
  ) -> String {
    let lines = samples.map { value, number in
      label.map { "\(name){\($0)=\"\(value)\"} \(number)\n" } ?? "\(name) \(number)\n"
    }
    return "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n" + lines.joined()
  }
}
