import CFFmpeg

/// Reads packets on, one after the other, and keeps what their times span. Bounded by the limits.
struct PacketScan: ~Copyable {
  /// Why no more packets are read.
  enum End: Hashable {
    /// The file's own end, or an error in it.
    case file
    case limit
  }

  private(set) var end: End?
  /// The streams that have shown a packet with bytes in it.
  private(set) var seen: Set<Int32> = []
  /// The first packet with bytes in it of the stream that it was asked to keep one of.
  private(set) var first: UnsafeMutablePointer<AVPacket>?
  /// How many packets of that stream have been read.
  private(set) var packetsOfKept = 0
  /// Whether one of the first few of them has no time of decoding, or of showing.
  private(set) var lacksTimes = false
  /// About as many frames as FFmpeg looks at to find their rate.
  static let fewFrames = 32
  private let kept: Int32?
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let limits: ReadingLimits
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var extents: [Int32: PacketExtent] = [:]
  private var packets = 0
  private var bytes: Int64 = 0
  private var furthest: Int64 = 0

  /// - Parameter kept: the stream whose first packet is kept.
  init(
    _ context: UnsafeMutablePointer<AVFormatContext>, limits: ReadingLimits, keepingFirstOf kept: Int32? = nil
  ) {
    self.context = context
    self.kept = kept
    self.limits = limits
    packet = av_packet_alloc()
  }

  deinit {
    var freed = packet
    av_packet_free(&freed)
    var freedFirst = first
    av_packet_free(&freedFirst)
  }

  /// Reads until a packet of `stream` has been seen, or the end.
  mutating func run(untilSeen stream: Int32) {
    while end == nil, !seen.contains(stream) { step() }
  }

  /// Reads until so many packets of the stream of which one is kept have been seen, or the end.
  mutating func run(untilSeenOfKept count: Int) {
    while end == nil, packetsOfKept < count { step() }
  }

  /// Reads until so many bytes of packets have been read in all, or the end.
  mutating func run(untilRead limit: Int64) {
    while end == nil, bytes < limit { step() }
  }

  /// Whether `holds` for each packet of the stream of which one is kept, from the next one on until so many bytes have
  /// been read in all, or the end.
  mutating func allOfKept(
    untilRead limit: Int64, _ holds: (UnsafeMutablePointer<AVPacket>) -> Bool
  ) -> Bool {
    let kept = kept
    var isTrue = true
    while isTrue, end == nil, bytes < limit {
      step { if $0.pointee.stream_index == kept { isTrue = holds($0) } }
    }
    return isTrue
  }

  /// Reads to the end.
  mutating func runToTheEnd() {
    while end == nil { step() }
  }

  /// Seconds from the earliest to the latest moment of `streams`; nil when no packet of theirs had a time.
  func span(of streams: [UnsafeMutablePointer<AVStream>]) -> Double? {
    let spans = streams.compactMap { stream in
      extents[stream.pointee.index]?.seconds(in: stream.pointee.time_base)
    }
    guard let first = spans.map(\.first).min(), let end = spans.map(\.end).max() else { return nil }
    return end - first
  }

  /// How much of the file of `size` bytes lies before the end of the last packet, above 0 and at most 1. FFmpeg
  /// itself has read further.
  func share(of size: Int64) -> Double? {
    guard furthest > 0, size > 0 else { return nil }
    return min(1, Double(furthest) / Double(size))
  }

  private mutating func note(_ packet: UnsafeMutablePointer<AVPacket>) {
    let stream = packet.pointee.stream_index
    if stream == kept {
      packetsOfKept += 1
      let lacksTime = packet.pointee.pts == reel_no_time || packet.pointee.dts == reel_no_time
      if lacksTime, packetsOfKept <= Self.fewFrames { lacksTimes = true }
    }
    guard packet.pointee.size > 0, seen.insert(stream).inserted, stream == kept else { return }
    first = av_packet_clone(packet)
  }

  private mutating func step(_ look: (UnsafeMutablePointer<AVPacket>) -> Void = { _ in }) {
    guard let packet, packets < limits.scannedPackets, bytes < limits.scannedBytes else {
      end = .limit
      return
    }
    guard av_read_frame(context, packet) >= 0 else {
      end = .file
      return
    }
    defer { av_packet_unref(packet) }
    packets += 1
    bytes += Int64(packet.pointee.size)
    if packet.pointee.pos >= 0 { furthest = max(furthest, packet.pointee.pos &+ Int64(packet.pointee.size)) }
    note(packet)
    look(packet)
    let time = packet.pointee.pts == reel_no_time ? packet.pointee.dts : packet.pointee.pts
    guard time != reel_no_time else { return }
    extents[packet.pointee.stream_index, default: PacketExtent()].add(time, lasting: packet.pointee.duration)
  }
}
