import CPostgres
import ReelCore
import Synchronization

/// Whether waits for a server are to be cut short, because the program is about to end.
package final class Haste: Sendable {
  private struct State {
    var begun: (at: ContinuousClock.Instant, patience: Duration)?
    /// Readable once `begin(patience:)` is called; nil if the system has no descriptor left.
    var event: Descriptor?
  }
  private let state: Mutex<State>

  package init() {
    let event = reel_postgres_event()
    state = Mutex(State(begun: nil, event: event < 0 ? nil : Descriptor(adopting: event)))
  }

  /// From now on, no single wait lasts longer than `patience`. The second call changes nothing.
  package func begin(patience: Duration) {
    state.withLock { state in
      guard state.begun == nil else { return }
      state.begun = (.now, patience)
      if let event = state.event { reel_postgres_ring(event.rawValue) }
    }
  }

  /// Returns when to give up what has begun at `start` and would have waited until `end`, and what to poll for a change
  /// of that; -1 for nothing.
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
