import CFFmpeg

/// Reads packets one after the other, within the limits, and records the span of their times.
struct PacketScan: ~Copyable {
  /// Why no more packets are read.
  enum End: Hashable {
    /// The file's own end, or an error in it.
    case file
    case limit
  }

  private(set) var end: End?
  /// The streams of which a non-empty packet has been read.
  private(set) var seen: Set<Int32> = []
  /// The first non-empty packets of the kept stream and of each sound, by the index of the stream.
  private(set) var firsts: [Int32: UnsafeMutablePointer<AVPacket>] = [:]
  /// The first non-empty packet of the kept stream.
  var first: UnsafeMutablePointer<AVPacket>? { kept.flatMap { firsts[$0] } }
  /// The presentation times of the kept stream's frames; their decoding times if one of them has no presentation
  /// time.
  var frames: PacketTimes { withoutPauses(shown.count >= readDecoded.count ? shown : readDecoded) }
  private var shown = PacketTimes()
  /// The decoding times of the kept stream's frames.
  var decoded: PacketTimes { withoutPauses(readDecoded) }
  private var readDecoded = PacketTimes()
  /// The number of packets of the kept stream that have been read.
  private(set) var packetsOfKept = 0
  /// How many of them have no presentation time, among those whose times are recorded.
  private(set) var untimedOfKept = 0
  /// The first and the last of these with a decoding time: the packet's number, and its time.
  private var countedFrom: (packet: Int, time: Int64)?
  private var countedTo: (packet: Int, time: Int64)?
  /// Whether one of the first few of them has no decoding time or no presentation time.
  private(set) var lacksTimes = false
  /// About as many frames as FFmpeg examines to find their rate.
  static let fewFrames = 32
  /// The most frames whose times are recorded.
  private static let mostFrames = 100_000
  /// The beginnings of the first non-empty packets of each sound, by the index of the stream.
  private(set) var beginnings: [Int32: [[UInt8]]] = [:]
  /// The most of these for each sound, and the most bytes of each.
  static let mostBeginnings = (packets: 8, bytes: 4096)
  private let kept: Int32?
  private let sounds: Set<Int32>
  private let jumps: (back: Double, ahead: Double)
  private let hasDurations: Bool
  private let context: UnsafeMutablePointer<AVFormatContext>
  private let limits: ReadingLimits
  private var soundPackets: [Int32: SoundPackets] = [:]
  /// Whether only packets show how long frames of sound last.
  private let hasFrames: Bool
  /// Whether an ASF states that blocks of WMA vary in duration.
  private let hasVariableRate: Bool
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var extents: [Int32: PacketExtent] = [:]
  private var packets = 0
  private var bytes: Int64 = 0
  private var furthest: Int64 = 0

  /// - Parameters:
  ///   - kept: the index of the stream whose first packet is kept.
  ///   - clock: the presentation times of the packets, if these are known.
  init(
    _ context: UnsafeMutablePointer<AVFormatContext>, limits: ReadingLimits,
    keepingFirstOf kept: Int32? = nil,
    clock: ContentClock?
  ) {
    self.context = context
    self.kept = kept
    let streams = (0..<Int(context.pointee.nb_streams)).compactMap { context.pointee.streams[$0] }
    sounds = Set(
      streams.filter { $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO }.map(\.pointee.index))
    // A live stream that continues ten seconds later was interrupted; in other files the times may contain a pause.
    let demuxer = context.pointee.iformat.pointee.name.map { String(cString: $0) } ?? ""
    hasDurations = demuxer.hasPrefix("mov")
    hasFrames = ["mpegts", "mpeg", "asf"].contains(demuxer)
    hasVariableRate =
      av_dict_get(context.pointee.metadata, "IsVBR", nil, 0).map { $0.pointee.value.pointee } == 0x31
    let isLive = ["mpegts", "mpeg", "flv"].contains(demuxer)
    jumps = (0.3, isLive && clock?.stepsAheadArePauses != true ? 10 : PacketExtent.Jump.longestPause)
    self.limits = limits
    packet = av_packet_alloc()
  }

  deinit {
    var freed = packet
    av_packet_free(&freed)
    for case var first: UnsafeMutablePointer<AVPacket>? in firsts.values { av_packet_free(&first) }
  }

  /// Reads until a packet of `stream` has been seen, or to the end.
  mutating func run(untilSeen stream: Int32) {
    while end == nil, !seen.contains(stream) { step() }
  }

  /// Reads until a packet of `stream` has been seen, or until `limit` bytes of packets have been read in total, or to
  /// the end.
  mutating func run(untilSeen stream: Int32, orRead limit: Int64) {
    while end == nil, bytes < limit, !seen.contains(stream) { step() }
  }

  /// Reads until the first packets of a sound have been seen, or until `limit` bytes of packets have been read in
  /// total, or to the end.
  mutating func run(untilBegun sound: Int32, orRead limit: Int64) {
    while end == nil, bytes < limit, beginnings[sound]?.count ?? 0 < Self.mostBeginnings.packets { step() }
  }

  /// Reads until `count` packets of the kept stream have been seen, or to the end.
  mutating func run(untilSeenOfKept count: Int) {
    while end == nil, packetsOfKept < count { step() }
  }

  /// Reads until `limit` bytes of packets have been read in total, or to the end.
  mutating func run(untilRead limit: Int64) {
    while end == nil, bytes < limit { step() }
  }

  /// Reads until `limit` bytes have been read in total, or to the end, and returns whether `holds` is true for each
  /// packet of the kept stream on the way. Stops at the first one for which it is not.
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
  mutating func runToTheEnd(_ look: (UnsafeMutablePointer<AVPacket>) -> Void = { _ in }) {
    while end == nil { step(look) }
  }

  /// Returns the total time of `streams`; nil if no packet of theirs had a time.
  func sum(of streams: [UnsafeMutablePointer<AVStream>]) -> StretchSum? {
    let own = streams.compactMap { stream in
      extents[stream.pointee.index].map {
        (packets: $0.packets, stretches: $0.seconds(in: stream.pointee.time_base))
      }
    }
    return StretchSum(own.sorted { $0.packets > $1.packets }.map(\.stretches))
  }

  /// The packets per second of the kept stream, including those without a time; nil if too few have one.
  var countedRate: Double? {
    guard let kept, let base = timeBase(kept), base.num > 0, base.den > 0, let first = countedFrom,
      let last = countedTo, last.packet > first.packet
    else { return nil }
    let seconds = (Double(last.time) - Double(first.time)) * Double(base.num) / Double(base.den)
    return seconds > 0 ? Double(last.packet - first.packet) / seconds : nil
  }

  private func withoutPauses(_ times: PacketTimes) -> PacketTimes {
    guard let kept, let base = timeBase(kept) else { return times }
    return times.withoutPauses(in: base) {
      extents.flatMap { index, extent in
        index == kept ? [] : timeBase(index).map { extent.seconds(in: $0) } ?? []
      }
    }
  }

  private func timeBase(_ stream: Int32) -> AVRational? {
    context.pointee.streams[Int(stream)]?.pointee.time_base
  }

  /// Returns when the last packet of `streams` ends, in seconds.
  func lastEnd(of streams: [UnsafeMutablePointer<AVStream>]) -> Double? {
    streams.compactMap { stream in
      extents[stream.pointee.index]?.seconds(in: stream.pointee.time_base).map(\.upperBound).max()
    }
    .max()
  }

  /// Whether enough packets were read to show that a header is wrong about them: of only a few, the last may be shown
  /// for long.
  var isTelling: Bool { packets >= 10 }

  /// Returns the share of a file of `size` bytes that lies before the end of the last packet, above 0 and at most 1.
  /// FFmpeg itself has read further.
  func share(of size: Int64) -> Double? {
    guard furthest > 0, size > 0 else { return nil }
    return min(1, Double(furthest) / Double(size))
  }

  /// - Parameter anew: whether the clock restarts with this packet.
  private mutating func note(_ packet: UnsafeMutablePointer<AVPacket>, anew: Bool) {
    let stream = packet.pointee.stream_index
    if stream == kept {
      packetsOfKept += 1
      let lacksTime = packet.pointee.pts == reel_no_time || packet.pointee.dts == reel_no_time
      if lacksTime, packetsOfKept <= Self.fewFrames { lacksTimes = true }
      if packetsOfKept <= Self.mostFrames, packet.pointee.flags & AV_PKT_FLAG_DISCARD == 0 {
        if packet.pointee.pts != reel_no_time { shown.add(packet.pointee.pts, anew: anew) }
        if packet.pointee.pts == reel_no_time { untimedOfKept += 1 }
        if packet.pointee.dts != reel_no_time {
          readDecoded.add(packet.pointee.dts, anew: anew)
          countedTo = (packetsOfKept, packet.pointee.dts)
          if countedFrom == nil { countedFrom = countedTo }
        }
      }
    }
    let isSound = sounds.contains(stream)
    if isSound, packet.pointee.size > 0, beginnings[stream]?.count ?? 0 < Self.mostBeginnings.packets {
      let head = BitstreamHeader.bytes(of: packet).prefix(Self.mostBeginnings.bytes)
      beginnings[stream, default: []].append(Array(head))
    }
    guard packet.pointee.size > 0, seen.insert(stream).inserted, stream == kept || isSound else { return }
    firsts[stream] = av_packet_clone(packet)
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
    note(packet, anew: extend(with: packet))
    if hasFrames, sounds.contains(packet.pointee.stream_index) { noteSound(packet) }
    look(packet)
  }

  private mutating func noteSound(_ packet: UnsafeMutablePointer<AVPacket>) {
    let index = packet.pointee.stream_index
    guard soundPackets[index]?.isFull != true,
      let parameters = context.pointee.streams[Int(index)]?.pointee.codecpar
    else { return }
    // A packet that was damaged on the way is no evidence.
    let isWhole =
      packet.pointee.flags & AV_PKT_FLAG_CORRUPT == 0 && packet.pointee.size < SoundFrame.longest
      && !(hasVariableRate && parameters.pointee.block_align > 0)
    let seconds = isWhole ? SoundFrame.seconds(parameters, first: BitstreamHeader.bytes(of: packet)) : nil
    soundPackets[index, default: SoundPackets()].add(
      packet.pointee.pts == reel_no_time ? nil : packet.pointee.pts, lasting: seconds)
  }

  /// How many times longer sounds last by their times than by their frames, by the index of the stream, for those
  /// that can be measured; 1 if they differ by no more than rounding.
  var soundPaces: [Int32: Double] {
    Dictionary(
      uniqueKeysWithValues: soundPackets.compactMap { index, packets in
        timeBase(index).flatMap { packets.pace(in: $0) }.map { (index, $0) }
      })
  }

  /// Returns whether the clock restarts with this packet.
  private mutating func extend(with packet: UnsafeMutablePointer<AVPacket>) -> Bool {
    let time = packet.pointee.pts == reel_no_time ? packet.pointee.dts : packet.pointee.pts
    let index = packet.pointee.stream_index
    // What an edit list hides is not shown.
    guard time != reel_no_time, packet.pointee.flags & AV_PKT_FLAG_DISCARD == 0,
      let stream = context.pointee.streams[Int(index)]
    else { return false }
    let jump = PacketExtent.Jump(back: jumps.back, ahead: jumps.ahead, in: stream.pointee.time_base)
    return extents[index, default: PacketExtent(jump: jump)].add(
      time, decoded: packet.pointee.dts == reel_no_time ? nil : packet.pointee.dts,
      // FFmpeg guesses how long a picture lasts unless an index states it.
      lasting: index == kept && !hasDurations ? 0 : packet.pointee.duration)
  }
}
