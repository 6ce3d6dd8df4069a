import CPostgres
import ReelCore
import Synchronization

/// Whether those who wait for a server are to make it short, because the program is about to end.
package final class Haste: Sendable {
  private struct State {
    var begun: (at: ContinuousClock.Instant, patience: Duration)?
    /// Readable from the moment on; nil where the system has no descriptor left, or nobody was ever to be woken.
    var event: Descriptor?
  }
  private let state: Mutex<State>

  package init() {
    let event = reel_postgres_event()
    state = Mutex(State(begun: nil, event: event < 0 ? nil : Descriptor(adopting: event)))
  }

  /// From now on nobody waits longer than `patience` for one thing. A second time changes nothing.
  package func begin(patience: Duration) {
    state.withLock { state in
      guard state.begun == nil else { return }
      state.begun = (.now, patience)
      if let event = state.event { reel_postgres_ring(event.rawValue) }
    }
  }

  /// When it is to be given up what has begun at `start` and would have waited until `end`; and what to poll for a change
  /// of that, -1 for nothing.
  func limit(
    _ end: ContinuousClock.Instant, since start: ContinuousClock.Instant
  ) -> (limit: ContinuousClock.Instant, event: Int32) {
    state.withLock { state in
      if let begun = state.begun { return (min(max(begun.at, start) + begun.patience, end), -1) }
      return (end, state.event?.rawValue ?? -1)
    }
  }

  var hasBegun: Bool { state.withLock { $0.begun != nil } }
}
