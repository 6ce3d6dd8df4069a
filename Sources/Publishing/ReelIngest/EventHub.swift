import ReelCore
import Synchronization

/// Sends the events of one run to every observer, in one order, and folds them into the state.
///
/// Emitting never waits for an observer. Each has its own buffer, from which only outdated progress events are dropped.
/// An observer that has stopped reading therefore costs memory for its unread events other than progress, but no time.
final class EventHub: Sendable {
  private struct State {
    var sequence = 0
    var folded = IngestState()
    var subscriptions: [ObjectIdentifier: Subscription] = [:]
    var watchers: [AsyncStream<Void>.Continuation] = []
    var isFinished = false
  }
  private let state = Mutex(State())
  private let clock: any WallClock
  private let wording: (@Sendable (ErrorMessage) -> String)?
  private let patience: Duration

  /// - Parameter patience: an observer that has taken nothing for this long counts as having stopped reading.
  init(
    clock: any WallClock, wording: (@Sendable (ErrorMessage) -> String)? = nil,
    patience: Duration = .seconds(5)
  ) {
    (self.clock, self.wording, self.patience) = (clock, wording, patience)
  }

  /// The state after the last event.
  var snapshot: IngestState {
    state.withLock { $0.folded }
  }

  func emit(_ body: IngestEvent.Body) {
    emit([body])
  }

  /// Emits several events that became true together, at hardly more than the cost of one.
  func emit(_ bodies: [IngestEvent.Body]) {
    guard !bodies.isEmpty else { return }
    let bodies = wording.map { wording in bodies.map { $0.worded(wording) } } ?? bodies
    let at = clock.now()
    let (waiting, watchers) = state.withLock { state in
      guard !state.isFinished else { return ([Subscription.Wakeup](), [AsyncStream<Void>.Continuation]()) }
      let events = bodies.map { body in
        state.sequence += 1
        state.folded.apply(body)
        return IngestEvent(sequence: state.sequence, at: at, body: body)
      }
      return (state.subscriptions.values.compactMap { $0.offer(events) }, state.watchers)
    }
    for wakeup in waiting { wakeup.fire() }
    for watcher in watchers { watcher.yield() }
  }

  /// Waits while an active observer is far behind, so that its unread events do not pile up. An observer that has
  /// stopped reading is not waited for.
  func observersToCatchUp() async {
    while state.withLock({ $0.subscriptions.values.contains { $0.isFarBehind } }) {
      guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return }
    }
  }

  /// Ends every observer's stream once its buffer is empty.
  func finish() {
    let (waiting, watchers) = state.withLock { state in
      state.isFinished = true
      defer { state.watchers = [] }
      return (state.subscriptions.values.compactMap { $0.finish() }, state.watchers)
    }
    for wakeup in waiting { wakeup.fire() }
    for watcher in watchers { watcher.finish() }
  }

  /// A stream that signals each change of the state until the run's end; several changes may be signaled as one. The
  /// reader looks at ``snapshot`` then.
  func changes() -> AsyncStream<Void> {
    let (stream, watcher) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let isFinished = state.withLock { state in
      if !state.isFinished { state.watchers.append(watcher) }
      return state.isFinished
    }
    if isFinished { watcher.finish() }
    return stream
  }

  /// Adds an observer, which gets the events from now on.
  func subscribe() -> Subscription {
    let subscription = Subscription(patience: patience)
    let isFinished = state.withLock { state in
      if !state.isFinished { state.subscriptions[ObjectIdentifier(subscription)] = subscription }
      return state.isFinished
    }
    if isFinished { _ = subscription.finish() }
    return subscription
  }

  func unsubscribe(_ subscription: Subscription) {
    state.withLock { _ = $0.subscriptions.removeValue(forKey: ObjectIdentifier(subscription)) }
  }
}
