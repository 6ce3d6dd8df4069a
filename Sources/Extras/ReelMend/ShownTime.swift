import CFFmpeg
import ReelProbe

/// The presentation times of a stream's packets, as they are read.
struct ShownTime {
  private var first: Int64?
  private var last: Int64?
  /// The duration of the packet at ``last``; 0 if it does not state one.
  private var lastDuration: Int64 = 0
  private var step = PacketStep()

  mutating func add(_ packet: AVPacket) {
    // In Matroska's tracks of Video for Windows, the times of blocks are decoding times.
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

  /// Returns the first presentation time in nanoseconds.
  func start(_ base: AVRational) -> Int64? { first.map { Self.nanoseconds(Double($0), base) } }

  /// Returns the end of the last packet in nanoseconds. If it states no duration, it lasts as long as most before it.
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
