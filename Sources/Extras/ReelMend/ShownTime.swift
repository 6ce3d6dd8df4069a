import CFFmpeg
import ReelProbe

/// When the packets of a stream are shown, as they come.
struct ShownTime {
  private var first: Int64?
  private var last: Int64?
  /// How long the packet at ``last`` lasts; 0 where it does not say.
  private var lastDuration: Int64 = 0
  private var step = PacketStep()

  mutating func add(_ packet: AVPacket) {
    // Matroska's tracks of Video for Windows have the times of their blocks as those of decoding.
    let time = packet.pts == reel_no_time ? packet.dts : packet.pts
    guard time != reel_no_time else { return }
    first = min(first ?? time, time)
    step.add(time)
    if let last, time <= last {
      if time == last { lastDuration = max(lastDuration, packet.duration) }
    } else {
      (last, lastDuration) = (time, packet.duration)
    }
  }

  /// In nanoseconds.
  func start(_ base: AVRational) -> Int64? { first.map { Self.nanoseconds(Double($0), base) } }

  /// In nanoseconds; the last one lasts as long as most before it where it does not say how long.
  func end(_ base: AVRational) -> Int64? {
    guard let last else { return nil }
    let duration = lastDuration > 0 ? Double(lastDuration) : step.ticks ?? 0
    return Self.nanoseconds(Double(last) + duration, base)
  }

  private static func nanoseconds(_ time: Double, _ base: AVRational) -> Int64 {
    guard base.num > 0, base.den > 0 else { return 0 }
    return Int64(time * Double(base.num) / Double(base.den) * 1e9, clamping: ())
  }
}

extension Int64 {
  fileprivate init(_ value: Double, clamping: Void) {
    self = value >= 9.2e18 ? .max : value <= -9.2e18 ? .min : Int64(value.rounded())
  }
}
