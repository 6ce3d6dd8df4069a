/// A sample of a stream's packets, spread about evenly over those that were read, however many there are.
struct PacketSample: Hashable {
  struct Packet: Hashable {
    /// Its position, without the container's own headers.
    let bytes: Range<Int64>
    fileprivate let time: Int64
    /// The ticks to the next packet; nil if packets after it were left out.
    fileprivate(set) var step: Int64?
  }

  private(set) var packets: [Packet] = []
  private var seen = 0
  /// One packet of this many is kept.
  private var every = 1
  private static let most = 32

  /// - Parameter isApart: whether the time since the packet before is no step.
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

  /// The median size of the packets, in bytes.
  var usualSize: Int? {
    packets.isEmpty ? nil : packets.map(\.bytes.count).sorted()[packets.count / 2]
  }
}
