import Synchronization

/// That a server is away, as everybody in this process sees it who works with it: it is waited for once, by all of them,
/// and given up by all of them at the same time.
final class Outage: Sendable {
  private struct State {
    /// Whether there has been a connection: then one that can't be made is an outage, not a mistake in the address.
    var wasThere = false
    /// Since when nothing comes of anything; nil while the server is there.
    var since: ContinuousClock.Instant?
    var takesNoWrites = false
    var isTold = false
    var givenUp: GivenUp?
    /// When the last one was over.
    var ended: ContinuousClock.Instant?
  }

  private struct GivenUp {
    let error: PostgresError
    /// How long the last try took.
    let took: Duration
    /// When one of them may look whether it is there again.
    var nextLook: ContinuousClock.Instant
  }

  /// As ``PostgresPool/Settings`` has them.
  private let (patience, silence): (Duration, Duration)
  private let onWait: @Sendable (PostgresError) -> Void
  private let haste: Haste
  private let state = Mutex(State())

  init(
    patience: Duration, silence: Duration, _ haste: Haste, onWait: @escaping @Sendable (PostgresError) -> Void
  ) {
    (self.patience, self.silence, self.haste, self.onWait) = (patience, silence, haste, onWait)
  }

  /// When somebody may look again after a try that took so long: one that is soon refused keeps nobody from anything.
  private static func nextLook(after took: Duration) -> ContinuousClock.Instant {
    .now + (took < .seconds(1) ? .zero : took * 4)
  }

  /// A connection was made.
  func connected() { state.withLock { $0.wasThere = true } }

  /// Something went through.
  func end(byWriting: Bool) {
    state.withLock { state in
      guard state.since != nil, byWriting || !state.takesNoWrites else { return }
      (state.since, state.takesNoWrites, state.isTold, state.givenUp) = (nil, false, false, nil)
      state.ended = .now
    }
  }

  /// When the last one that this process has seen was over; nil where it has seen none.
  var lastEnd: ContinuousClock.Instant? { state.withLock { $0.ended } }

  /// To be asked before a connection is made.
  /// - Throws: what the server was given up for.
  func check() throws {
    try state.withLock { state in
      guard let givenUp = state.givenUp else { return }
      guard givenUp.nextLook <= .now else { throw givenUp.error }
      // One of them.
      state.givenUp?.nextLook = Self.nextLook(after: givenUp.took)
    }
  }

  /// Whether what failed by `error`, an outage, is to be tried again; says once that it is waited for.
  /// - Parameters:
  ///   - start: when it was begun.
  ///   - mine: since when this one fails.
  /// - Throws: `error`, with how long it was waited for, where it was given up.
  func wait(
    for error: PostgresError, begunAt start: ContinuousClock.Instant,
    failingSince mine: ContinuousClock.Instant
  ) throws {
    let now = ContinuousClock.now
    let isToBeTold = try state.withLock { state in
      guard state.wasThere || error.isPassing, error != state.givenUp?.error else { throw error }
      // Who is in haste has waited for the first failure, too.
      let since = state.since ?? (haste.hasBegun ? start : now)
      state.since = since
      if error.state == PostgresError.takesNoWrites { state.takesNoWrites = true }
      // Others may go on over connections that are there, while there are none to be had.
      guard now < haste.limit(min(since, mine) + patience, since: since).limit else {
        let seconds = Int(((now - since) / .seconds(1)).rounded())
        let given = PostgresError(
          error.kind, state: error.state,
          seconds > 0 ? "\(error.message); it was waited for, \(seconds) s" : error.message)
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
