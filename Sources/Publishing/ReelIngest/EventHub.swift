import ReelCore
import Synchronization

/// Tells the events of one run to every observer, in one order, and folds them into the state.
///
/// Emitting never waits for an observer: each has a buffer of its own, in which progress that was overtaken is
/// dropped and nothing else is. An observer that stopped reading therefore costs memory for the events it has not
/// read (not for progress), and no time.
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

  /// - Parameter patience: an observer that has taken nothing for so long has stopped reading.
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

  /// Tells several that became true together, at the cost of hardly more than one.
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

  /// Waits while an observer that does read is far behind, so that what it has not read yet does not pile up. One
  /// that has stopped reading is not waited for.
  func observersToCatchUp() async {
    while state.withLock({ $0.subscriptions.values.contains { $0.isFarBehind } }) {
      guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return }
    }
  }

  /// Ends every observer's stream, after what is still in its buffer.
  func finish() {
    let (waiting, watchers) = state.withLock { state in
      state.isFinished = true
      defer { state.watchers = [] }
      return (state.subscriptions.values.compactMap { $0.finish() }, state.watchers)
    }
    for wakeup in waiting { wakeup.fire() }
    for watcher in watchers { watcher.finish() }
  }

  /// Says that something came, however much it was, until the run's end: for who looks at ``snapshot`` then.
  func changes() -> AsyncStream<Void> {
    let (stream, watcher) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let isFinished = state.withLock { state in
      if !state.isFinished { state.watchers.append(watcher) }
      return state.isFinished
    }
    if isFinished { watcher.finish() }
    return stream
  }

  /// A stream of the events from now on.
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
