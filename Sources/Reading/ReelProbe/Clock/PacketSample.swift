/// Some packets of a stream, spread about evenly over those that were looked at, however many these are.
struct PacketSample: Hashable {
  struct Packet: Hashable {
    /// Where it lies, without the container's own headers.
    let bytes: Range<Int64>
    fileprivate let time: Int64
    /// Ticks to the next one; nil where packets after it were left out.
    fileprivate(set) var step: Int64?
  }

  private(set) var packets: [Packet] = []
  private var seen = 0
  /// One of how many is kept.
  private var every = 1
  private static let most = 32

  /// - Parameter isApart: whether what passed since the one before is no step.
  mutating func add(_ time: Int64, bytes: Range<Int64>, isApart: Bool) {
    if !isApart, seen > 0, (seen - 1) % every == 0, let last = packets.last {
      let (step, overflow) = time.subtractingReportingOverflow(last.time)
      packets[packets.count - 1].step = overflow ? nil : step
    }
    defer { seen += 1 }
    guard seen % every == 0 else { return }
    if packets.count == Self.most {
      packets = stride(from: 0, to: packets.count, by: 2).map { packets[$0] }
      every *= 2
      guard seen % every == 0 else { return }
    }
    packets.append(Packet(bytes: bytes, time: time))
  }

  /// The size that most of them have about, in bytes.
  var usualSize: Int? {
    packets.isEmpty ? nil : packets.map(\.bytes.count).sorted()[packets.count / 2]
  }
}
