/// The slowest pace at which the bytes of a request may come; pure.
struct SenderPace: Hashable, Sendable {
  /// In bytes per second, averaged since the request began.
  var least: Int64
  /// How long a request may take before the average counts, and how long it may pause.
  var patience: Duration

  /// - Parameters:
  ///   - received: the number of bytes so far.
  ///   - elapsed: the time since the request began.
  ///   - silence: the time since its last byte.
  func isTooSlow(received: Int64, elapsed: Duration, silence: Duration) -> Bool {
    if silence > patience { return true }
    guard elapsed > patience else { return false }
    return Double(received) < Double(least) * (elapsed / .seconds(1))
  }
}

/// The progress of a sender. The time that writing takes is not counted as the sender's: nothing more is read
/// meanwhile, however fast it sends.
struct SenderProgress: Sendable {
  private(set) var received: Int64 = 0
  private let begun: ContinuousClock.Instant
  private var last: ContinuousClock.Instant
  private var writingSince: ContinuousClock.Instant?
  private var writing = Duration.zero

  init(begun: ContinuousClock.Instant) { (self.begun, last) = (begun, begun) }

  /// Notes the arrival of bytes that are being written from now on.
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
