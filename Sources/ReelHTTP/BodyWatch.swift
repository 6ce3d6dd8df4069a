import Synchronization

/// Whether the other side takes what is sent. async-http-client looks only whether there is something to send, and waits
/// for ever for a connection that takes nothing.
final class BodyWatch: Sendable {
  private struct State {
    /// Since when the connection holds a piece that it has not passed on; nil while the next one is being made, and
    /// after the last.
    var waiting: ContinuousClock.Instant?
    /// When there was no further piece.
    var end: ContinuousClock.Instant?
  }
  private let state = Mutex(State())

  /// The last piece went out, or the body begins.
  func isTaken() { state.withLock { $0.waiting = nil } }

  /// A piece is the connection's.
  func isHandedOver() { state.withLock { $0.waiting = .now } }

  /// There are no more pieces.
  func hasEnded() { state.withLock { $0.end = .now } }

  /// How long the connection has been stuck.
  var silence: Duration { state.withLock { $0.waiting.map { $0.duration(to: .now) } ?? .zero } }

  /// How long ago the body ended; nil before that.
  var sinceEnd: Duration? { state.withLock { $0.end.map { $0.duration(to: .now) } } }
}
