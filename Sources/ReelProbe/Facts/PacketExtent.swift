import CFFmpeg

/// The stretch of time that a stream's packets cover, in the stream's time base.
struct PacketExtent: Hashable {
  private var packets = 0
  private var first = Int64.max
  private var last = Int64.min
  private var end = Int64.min

  init() {}

  mutating func add(_ time: Int64, lasting duration: Int64) {
    packets += 1
    first = min(first, time)
    last = max(last, time)
    let (sum, overflow) = time.addingReportingOverflow(max(0, duration))
    if !overflow { end = max(end, sum) }
  }

  /// Nil without packets, and when there are several and all are of one moment: then their times were never
  /// written. The last packet lasts as long as the others do on average when it does not say how long.
  func seconds(in base: AVRational) -> (first: Double, end: Double)? {
    guard packets == 1 || last > first, base.num > 0, base.den > 0 else { return nil }
    let tick = Double(base.num) / Double(base.den)
    let ordinary = packets > 1 ? (Double(last) - Double(first)) / Double(packets - 1) : 0
    let end = end > last ? Double(end) : Double(last) + ordinary
    return (Double(first) * tick, end * tick)
  }
}
