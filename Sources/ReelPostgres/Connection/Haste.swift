import CPostgres
import ReelCore
import Synchronization

/// Whether those who wait for a server are to make it short, because the program is about to end.
package final class Haste: Sendable {
  private struct State {
    var end: ContinuousClock.Instant?
    /// Readable from the moment on; nil where the system has no descriptor left, or nobody was ever to be woken.
    var event: Descriptor?
  }
  private let state: Mutex<State>

  package init() {
    let event = reel_postgres_event()
    state = Mutex(State(end: nil, event: event < 0 ? nil : Descriptor(adopting: event)))
  }

  /// From now on nobody waits longer than `patience`. A second time changes nothing.
  package func begin(patience: Duration) {
    state.withLock { state in
      guard state.end == nil else { return }
      state.end = .now + patience
      if let event = state.event { reel_postgres_ring(event.rawValue) }
    }
  }

  /// When it is to be given up what would have waited until `end`; and what to poll for a change of that, -1 for nothing.
  func limit(_ end: ContinuousClock.Instant) -> (limit: ContinuousClock.Instant, event: Int32) {
    state.withLock { state in
      if let haste = state.end { return (min(haste, end), -1) }
      return (end, state.event?.rawValue ?? -1)
    }
  }
}
