import Synchronization

/// An outage of a server, shared by everything in this process that works with it: all wait for the server together,
/// and give up at the same time.
final class Outage: Sendable {
  private struct State {
    /// Whether there has been a connection. Then a failure to connect is an outage, not a mistake in the address.
    var wasThere = false
    /// Since when nothing has succeeded; nil while the server is there.
    var since: ContinuousClock.Instant?
    var takesNoWrites = false
    var isTold = false
    var givenUp: GivenUp?
    /// When the last outage ended.
    var ended: ContinuousClock.Instant?
  }

  private struct GivenUp {
    let error: PostgresError
    /// How long the last try took.
    let took: Duration
    /// When a caller may next look whether the server is back.
    var nextLook: ContinuousClock.Instant
  }

  /// As in ``PostgresPool/Settings``.
  private let (patience, silence): (Duration, Duration)
  private let onWait: @Sendable (PostgresError) -> Void
  private let haste: Haste
  private let state = Mutex(State())

  init(
    patience: Duration, silence: Duration, _ haste: Haste, onWait: @escaping @Sendable (PostgresError) -> Void
  ) {
    (self.patience, self.silence, self.haste, self.onWait) = (patience, silence, haste, onWait)
  }

  /// Returns when to look again after a try that took this long. A quick refusal
  /// holds nobody up, so it may be repeated.
  private static func nextLook(after took: Duration) -> ContinuousClock.Instant {
    .now + (took < .seconds(1) ? .zero : took * 4)
  }

  /// Notes that a connection was made.
  func connected() { state.withLock { $0.wasThere = true } }

  /// Notes that something has succeeded.
  func end(byWriting: Bool) {
    state.withLock { state in
      guard state.since != nil, byWriting || !state.takesNoWrites else { return }
      (state.since, state.takesNoWrites, state.isTold, state.givenUp) = (nil, false, false, nil)
      state.ended = .now
    }
  }

  /// When the last outage that this process has seen ended; nil if it has seen none.
  var lastEnd: ContinuousClock.Instant? { state.withLock { $0.ended } }

  /// Checks, before a connection is made, whether the server was given up.
  /// - Throws: the error for which it was given up.
  func check() throws {
    try state.withLock { state in
      guard let givenUp = state.givenUp else { return }
      guard givenUp.nextLook <= .now else { throw givenUp.error }
      // Only this caller may look now.
      state.givenUp?.nextLook = Self.nextLook(after: givenUp.took)
    }
  }

  /// Returns if what failed by `error`, an outage, is to be tried again. Reports once that the server is waited for.
  /// - Parameters:
  ///   - start: when the try began.
  ///   - mine: since when this caller has been failing.
  /// - Throws: `error`, with how long the server was waited for, once it is given up.
  func wait(
    for error: PostgresError, begunAt start: ContinuousClock.Instant,
    failingSince mine: ContinuousClock.Instant
  ) throws {
    let now = ContinuousClock.now
    let isToBeTold = try state.withLock { state in
      guard state.wasThere || error.isPassing, error != state.givenUp?.error else { throw error }
      // For a caller in haste, the first failure counts as waiting, too.
      let since = state.since ?? (haste.hasBegun ? start : now)
      state.since = since
      if error.state == PostgresError.takesNoWrites { state.takesNoWrites = true }
      // Others may succeed over existing connections while no new ones can be made.
      guard now < haste.limit(min(since, mine) + patience, since: since).limit else {
        let seconds = Int(((now - since) / .seconds(1)).rounded())
        let given = PostgresError(
          error.kind, state: error.state,
          seconds > 0 ? "\(error.message); gave up after waiting for \(seconds) s" : error.message)
        state.givenUp = GivenUp(error: given, took: now - start, nextLook: Self.nextLook(after: now - start))
        throw given
      }
      if state.isTold || now - since < silence { return false }
      state.isTold = true
      return true
    }
    if isToBeTold { onWait(error) }
  }
}
