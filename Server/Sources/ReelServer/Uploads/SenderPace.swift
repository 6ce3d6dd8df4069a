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
