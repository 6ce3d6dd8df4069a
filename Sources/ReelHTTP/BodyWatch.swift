import Synchronization

/// Whether the other side takes what is sent. async-http-client looks only whether there is something to send, and waits
/// for ever for a connection that takes nothing.
final class BodyWatch: Sendable {
  /// Since when the connection holds a piece that it has not passed on; nil while the next one is being made, and after
  /// the last.
  private let waiting = Mutex<ContinuousClock.Instant?>(nil)

  /// The last piece went out, or the body begins.
  func isTaken() { waiting.withLock { $0 = nil } }

  /// A piece is the connection's.
  func isHandedOver() { waiting.withLock { $0 = .now } }

  /// How long the connection has been stuck.
  var silence: Duration { waiting.withLock { $0.map { $0.duration(to: .now) } ?? .zero } }
}
