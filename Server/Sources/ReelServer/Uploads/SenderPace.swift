/// How slowly the bytes of a request may come; pure.
struct SenderPace: Hashable, Sendable {
  /// Bytes a second, on average since the request began.
  var least: Int64
  /// How long a request may take before that counts, and how long it may say nothing at all.
  var patience: Duration

  /// - Parameters:
  ///   - received: bytes so far.
  ///   - elapsed: since the request began.
  ///   - silence: since its last byte.
  func isTooSlow(received: Int64, elapsed: Duration, silence: Duration) -> Bool {
    if silence > patience { return true }
    guard elapsed > patience else { return false }
    return Double(received) < Double(least) * (elapsed / .seconds(1))
  }
}

/// How far a sender is. What is being written is not the sender's time: nothing more is read meanwhile, however fast it comes.
struct SenderProgress: Sendable {
  private(set) var received: Int64 = 0
  private let begun: ContinuousClock.Instant
  private var last: ContinuousClock.Instant
  private var writingSince: ContinuousClock.Instant?
  private var writing = Duration.zero

  init(begun: ContinuousClock.Instant) { (self.begun, last) = (begun, begun) }

  /// These are written from now on.
  mutating func noteArrival(of count: Int, at now: ContinuousClock.Instant) {
    received += Int64(count)
    writingSince = now
  }

  mutating func noteWritten(at now: ContinuousClock.Instant) {
    writing += writingSince.map { now - $0 } ?? .zero
    (last, writingSince) = (now, nil)
  }

  func isTooSlow(by pace: SenderPace, at now: ContinuousClock.Instant) -> Bool {
    writingSince == nil
      && pace.isTooSlow(received: received, elapsed: now - begun - writing, silence: now - last)
  }
}
