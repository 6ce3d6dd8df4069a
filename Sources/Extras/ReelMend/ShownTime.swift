import CFFmpeg

/// When the packets of a stream are shown, as they come.
struct ShownTime {
  private var first: Int64?
  private var last: Int64?
  /// The last time before ``last``.
  private var previous: Int64?
  /// How long the packet at ``last`` lasts; 0 where it does not say.
  private var lastDuration: Int64 = 0

  mutating func add(_ packet: AVPacket) {
    let time = packet.pts
    guard time != reel_no_time else { return }
    first = min(first ?? time, time)
    guard let last else {
      (self.last, lastDuration) = (time, packet.duration)
      return
    }
    if time > last {
      (previous, self.last, lastDuration) = (last, time, packet.duration)
    } else if time == last {
      lastDuration = max(lastDuration, packet.duration)
    } else {
      previous = max(previous ?? time, time)
    }
  }

  /// In nanoseconds.
  func start(_ base: AVRational) -> Int64? { first.map { Self.nanoseconds($0, base) } }

  /// In nanoseconds; one that does not say how long it lasts is taken to last as long as the one before it.
  func end(_ base: AVRational) -> Int64? {
    guard let last else { return nil }
    let duration = lastDuration > 0 ? lastDuration : previous.map { last &- $0 } ?? 0
    return Self.nanoseconds(last &+ duration, base)
  }

  private static func nanoseconds(_ time: Int64, _ base: AVRational) -> Int64 {
    guard base.num > 0, base.den > 0 else { return 0 }
    return Int64(Double(time) * Double(base.num) / Double(base.den) * 1e9, clamping: ())
  }
}

extension Int64 {
  fileprivate init(_ value: Double, clamping: Void) {
    self = value >= 9.2e18 ? .max : value <= -9.2e18 ? .min : Int64(value.rounded())
  }
}
