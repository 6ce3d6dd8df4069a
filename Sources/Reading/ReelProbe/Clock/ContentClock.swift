import CFFmpeg
import ReelCore

/// The presentation times of a file's packets, read from its structure without FFmpeg: those of all packets in a small
/// file, otherwise those at its beginning, at its end, and at places between them.
struct ContentClock {
  /// What the container calls a stream: a track number, a packet identifier, the type of a tag.
  typealias Key = Int

  /// The time base of all times.
  let base: AVRational
  private(set) var extents: [Key: PacketExtent] = [:]
  /// The presentation times of the first packets.
  private(set) var heads: [Key: PacketTimes] = [:]
  /// The presentation times of packets further on if not all were read, for each of the places that were.
  private(set) var windows: [[Key: PacketTimes]] = []
  /// The decoding times of the first packets, where those of all are known.
  private var decodes: [Key: PacketTimes] = [:]
  /// The positions of the first packets, without the container's own headers.
  private(set) var firsts: [Key: Range<Int64>] = [:]
  /// Some of the packets that are contiguous in the file.
  private(set) var samples: [Key: PacketSample] = [:]
  /// The positions of packets that may reveal a location, in the order in which they were read: text, data, and
  /// pictures that depend on no other.
  private(set) var places: [Key: [Range<Int64>]] = [:]
  /// Streams in which several packets share one time, so that the times do not show how long each packet lasts.
  private(set) var shared: Set<Key> = []
  /// Streams of which packets without times were counted at the end.
  private(set) var counted: Set<Key> = []
  /// The steps from one packet to the next, of streams whose header states how long a frame lasts.
  private var statedSteps: [Key: StatedSteps] = [:]
  /// The duration of a stream's frames in ticks, as the header states it.
  private var stated: [Key: Double] = [:]
  /// The codec records between the packets: the first of a stream, and the first that differs from it.
  private(set) var records: [Key: (first: [UInt8], later: [UInt8]?)] = [:]
  /// The codecs by the program maps between the packets: the first of a stream, and the first that differs from it.
  private(set) var mapped: [Key: (first: AVCodecID, later: AVCodecID?)] = [:]
  /// The steps in decoding time from one packet to the next, within each of some windows that are spread evenly over
  /// the file.
  private(set) var steps: [Key: [[Int64]]] = [:]
  /// Streams that have no packets in a part or all of such a window while others continue.
  private(set) var pausing: Set<Key> = []
  /// Streams whose packets were seen, whether or not their times were added.
  private var seen: Set<Key> = []
  /// Whether every packet was read.
  var isWhole = false
  /// Whether the file does not state where it should end, and may begin anywhere.
  var mayEndAnywhere = false
  /// Whether it is unknown how the times continue somewhere: too little was read, or a packet's time cannot be right.
  var isUnclear = false
  /// Whether nothing was found after a damaged place, so that the file may last longer.
  var isEndLost = false { didSet { isUnclear = isUnclear || isEndLost } }
  /// The number of files that were joined.
  private(set) var parts = 1
  /// The streams of each joined file, in the order of the file, if they differ from those of the first.
  private(set) var streamsOfParts: [Set<Key>] = []
  /// Whether consecutive parts of the file cover the same times.
  var overlaps = false
  /// Whether the times of the packets that follow are kept. Not if packets were left out before them, because those
  /// times are not one step apart.
  var keepsTimes = true
  /// Whether the last window is at the end of the file.
  private(set) var isAtEnd = false
  private let jump: PacketExtent.Jump

  /// The number of times at the beginning of a stream that are kept.
  static let mostTimes = 100_000
  /// The number of places that are read between the two ends. The gap between two is less than a fiftieth of the file.
  static let places = 64

  /// - Parameters:
  ///   - ahead: the number of seconds from one packet to the next above which a step is a jump.
  ///   - isReordered: whether decoding times are not known.
  init(base: AVRational, ahead: Double, isReordered: Bool = false) {
    self.base = base
    jump = PacketExtent.Jump(back: 0.3, ahead: ahead, in: base, isReordered: isReordered)
  }

  /// Begins a window: the packets that follow are from another place further on in the file.
  mutating func beginWindow(atEnd: Bool) {
    windows.append([:])
    isAtEnd = atEnd
  }

  /// Adds a packet. Returns whether the clock starts anew with it.
  @discardableResult mutating func add(
    _ key: Key, at time: Int64, decoded: Int64? = nil, lasting duration: Int64 = 0,
    bytes: Range<Int64>? = nil,
    isFar: Bool = false, isPause: Bool = false
  ) -> Bool {
    let isFar = isFar || windows.last.map { $0[key] == nil } ?? false
    let anew = extents[key, default: PacketExtent(jump: jump)].add(
      time, decoded: decoded, lasting: duration, isFar: isFar, isPause: isPause)
    if !windows.isEmpty {
      windows[windows.count - 1][key, default: PacketTimes()].add(time, anew: anew)
    } else if keepsTimes, heads[key]?.count ?? 0 < Self.mostTimes {
      heads[key, default: PacketTimes()].add(time, anew: anew)
      if let decoded { decodes[key, default: PacketTimes()].add(decoded, anew: anew) }
    }
    if let bytes {
      if firsts[key] == nil { firsts[key] = bytes }
      samples[key, default: PacketSample()].add(time, bytes: bytes, isApart: anew || isFar)
    }
    return anew
  }

  /// Notes when a stream ends at least, by counting the packets behind the last one that has a time.
  mutating func note(_ key: Key, countedEnd end: Int64) {
    extents[key]?.extend(to: end)
    counted.insert(key)
  }

  /// Notes a packet whose presentation time is wrong.
  mutating func note(_ key: Key, decoded: Int64) {
    if windows.isEmpty, decodes[key]?.count ?? 0 < Self.mostTimes {
      decodes[key, default: PacketTimes()].add(decoded)
    }
  }

  /// Appends the next part of the file, which has a clock of its own with the same time base.
  mutating func append(_ other: ContentClock) {
    for (key, extent) in other.extents { extents[key, default: PacketExtent(jump: jump)].append(extent) }
    for (key, times) in other.heads where heads[key]?.count ?? 0 < Self.mostTimes {
      heads[key, default: PacketTimes()].append(times)
    }
    for (key, times) in other.decodes where decodes[key]?.count ?? 0 < Self.mostTimes {
      decodes[key, default: PacketTimes()].append(times)
    }
    parts += other.parts
    firsts.merge(other.firsts) { own, _ in own }
    samples.merge(other.samples) { own, _ in own }
    places.merge(other.places) { $0 + $1 }
    shared.formUnion(other.shared)
    windows += other.windows
    isAtEnd = other.windows.isEmpty ? isAtEnd : other.isAtEnd
    isWhole = isWhole && other.isWhole
    isUnclear = isUnclear || other.isUnclear
    isEndLost = isEndLost || other.isEndLost
    overlaps = overlaps || other.overlaps
  }

  /// Notes that the file consists of several joined files whose streams have keys of their own.
  mutating func note(parts streams: [Set<Key>]) {
    streamsOfParts = streams
    parts = streams.count
  }

  mutating func noteSeen(_ keys: some Sequence<Key>) { seen.formUnion(keys) }

  /// Returns whether any packet of a stream was seen.
  func hasSeen(_ key: Key) -> Bool { extents[key] != nil || seen.contains(key) }

  /// Notes the steps from one packet of a window to the next.
  mutating func note(_ key: Key, steps own: [Int64]) {
    if own.count >= 3 { steps[key, default: []].append(own) }
  }

  mutating func note(_ key: Key, place: Range<Int64>) { places[key, default: []].append(place) }

  /// Notes that several packets of this stream share one time.
  mutating func noteShared(_ key: Key) { shared.insert(key) }

  /// Notes the number of ticks from a packet with so many frames to the next.
  mutating func note(_ key: Key, step: Int64, of frames: Int64) {
    guard let stated = stated[key] else { return }
    statedSteps[key, default: StatedSteps(in: base)]
      .add(Double(step), stated * Double(frames))
  }

  /// Returns whether most frames of a stream last as long by the times of its packets as the header states, however
  /// many share a packet.
  func keepsStatedPace(_ key: Key) -> Bool {
    statedSteps[key]?.agree ?? false
  }

  /// Notes how many ticks the frames of this stream last by the header.
  mutating func note(_ key: Key, stated ticks: Double) { stated[key] = ticks }

  mutating func note(_ key: Key, record: [UInt8]) {
    guard let first = records[key]?.first else { return records[key] = (record, nil) }
    if record != first, records[key]?.later == nil { records[key]?.later = record }
  }

  mutating func note(_ map: ProgramMap) {
    for (key, codec) in map.codecs {
      let first = mapped[key, default: (codec, nil)].first
      mapped[key] = (first, mapped[key]?.later ?? (codec == first ? nil : codec))
    }
  }

  /// Notes that packets of this stream are missing within a window.
  mutating func notePause(_ key: Key) { pausing.insert(key) }

  /// Returns whether packets follow one another evenly, at the same pace in all windows; nil if too few windows show
  /// it.
  func isEvenThroughout(_ key: Key) -> Bool? {
    if pausing.contains(key) { return false }
    let own = steps[key] ?? []
    guard own.count >= 4 else { return nil }
    let middles = own.map { $0.sorted()[$0.count / 2] }
    let middle = middles.sorted()[middles.count / 2]
    let all = own.joined()
    let millisecond = FramePace.ticksOfMillisecond(in: base)
    let slack = max(all.allSatisfy { $0 % millisecond == 0 } ? millisecond : 0, 2 + middle / 50)
    if middles.contains(where: { abs($0 - middle) > slack }) { return false }
    return all.count { abs($0 - middle) <= slack } * 50 >= all.count * 49 ? true : nil
  }

  /// The only stream, if its clock seems to start anew. There is no other stream to show whether it does, or only
  /// pauses.
  var jumpingAlone: (key: Key, extent: PacketExtent)? {
    guard extents.count == 1, let only = extents.first, only.value.stretches.count > 1 else { return nil }
    return (only.key, only.value)
  }

  /// Whether there is only one stream, and its clock continues wherever it steps ahead, however far.
  var stepsAheadArePauses: Bool { extents.count == 1 && jumpingAlone?.extent.hasPauses != false }

  /// Returns the joint duration of streams, or of all if `keys` is nil; nil without times.
  func sum(of keys: Set<Key>? = nil) -> StretchSum? {
    let own = extents.filter { keys?.contains($0.key) ?? true }
    func streams(_ part: [Key: PacketExtent]) -> [[ClosedRange<Double>]] {
      part.sorted { $0.value.packets > $1.value.packets }.map { seconds($0.key) }
    }
    guard !streamsOfParts.isEmpty else { return StretchSum(streams(own)) }
    return StretchSum(
      parts: streamsOfParts.compactMap { part in
        let streams = streams(own.filter { part.contains($0.key) })
        guard let whole = StretchSum(streams) else { return nil }
        // Where several frames share a packet, the end of a part is less certain.
        let finest = StretchSum(Array(streams.prefix(1)))
        return finest.flatMap { whole.seconds - $0.seconds < 1 ? $0 : nil } ?? whole
      })
  }

  /// Returns when the last packet of streams ends, in seconds, or that of all if `keys` is nil.
  func end(of keys: Set<Key>? = nil) -> Double? {
    extents.keys.filter { keys?.contains($0) ?? true }.flatMap(seconds).map(\.upperBound).max()
  }

  /// Returns the range of times, in seconds, at which the last packet of streams may end. It is that of the stream
  /// whose last packet comes last.
  func ends(of keys: Set<Key>? = nil) -> ClosedRange<Double>? {
    extents.filter { keys?.contains($0.key) ?? true }.values.compactMap { $0.ends(in: base) }
      .max { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
  }

  private func seconds(_ key: Key) -> [ClosedRange<Double>] {
    // If several frames share a packet, the stated duration is that of one frame.
    extents[key]?.seconds(in: base, stated: shared.contains(key) ? nil : stated[key]) ?? []
  }

  /// Returns the pace of a stream's frames at the beginning; nil if too few are known.
  func pace(of key: Key) -> FramePace? {
    let isCut = !isWhole || mayEndAnywhere
    func pace(_ times: PacketTimes?) -> FramePace? {
      times.flatMap {
        FramePace(withoutPauses($0, of: key), in: base, isCut: isCut, beginsAnywhere: mayEndAnywhere)
      }
    }
    return pace(heads[key])?.unless(pace(decodes[key]))
  }

  /// Returns whether the first frame lasts as long as most others.
  func beginsEvenly(_ key: Key, _ pace: FramePace) -> Bool {
    guard let first = heads[key]?.stretches.first?.prefix(2), first.count == 2 else { return false }
    let step = (Double(first[1]) - Double(first[0])) * Double(base.num) / Double(base.den)
    return abs(step * pace.ordinary - 1) <= 0.1
  }

  private func withoutPauses(_ times: PacketTimes, of key: Key) -> PacketTimes {
    times.withoutPauses(in: base) {
      extents.keys.filter { $0 != key }.flatMap(seconds)
    }
  }

  /// Returns whether packets of a stream are missing for a long time while another stream continues.
  func isPausing(_ key: Key) -> Bool {
    pausing.contains(key)
      || heads[key].map { withoutPauses($0, of: key).stretches.count < $0.stretches.count } ?? false
  }

  /// Returns the pace of a stream's frames at each place further on that shows it.
  func pacesFurtherOn(of key: Key) -> [FramePace] {
    windows.enumerated().compactMap { place, window in
      let isLast = isAtEnd && place == windows.count - 1
      return window[key].flatMap {
        FramePace($0, in: base, isCut: mayEndAnywhere || !isLast, beginsAnywhere: true)
      }
    }
  }

  /// Returns whether a stream was read at so many places that no gap between two of them is long enough to change its
  /// average rate by more than the tolerance of an even rate.
  func isShownThroughout(_ key: Key) -> Bool {
    guard let own = extents[key]?.stretches, own.count == 1, let whole = own.first, let pace = pace(of: key)
    else { return false }
    let step = Double(base.den) / (pace.ordinary * Double(base.num))
    let shown = ([heads[key]] + windows.map { $0[key] }).compactMap { times -> ClosedRange<Int64>? in
      guard let times, let first = times.stretches.joined().min(), let last = times.stretches.joined().max(),
        // A single packet does not show a pace.
        times.count > 2
          || times.count == 2 && abs(Double(last) - Double(first) - step) <= 1 + step * FramePace.tolerance
      else { return nil }
      return first...last
    }
    .sorted { $0.lowerBound < $1.lowerBound }
    // The step to the next packet is no gap.
    let longest = (Double(whole.last) - Double(whole.first)) * FramePace.tolerance + 2 * step
    var reached = whole.first
    return (shown + [whole.last...whole.last]).allSatisfy { part in
      defer { reached = max(reached, part.upperBound) }
      return Double(part.lowerBound) - Double(reached) <= longest
    }
  }

  /// Returns whether the frames of a stream come unevenly at one of the places that were read, or faster at one than at
  /// another.
  func isUneven(_ key: Key) -> Bool {
    guard let first = pace(of: key) else { return false }
    return first.isVariable
      || pacesFurtherOn(of: key).contains {
        $0.isVariable || abs($0.ordinary - first.ordinary) > FramePace.tolerance * first.ordinary
      }
  }
}

/// Steps from one packet to the next, compared with the duration that the header states for their frames.
private struct StatedSteps {
  /// A millisecond in ticks.
  let millisecond: Double
  private var agreeing = 0
  private var all = 0
  private var ticks = 0.0
  private var expected = 0.0

  init(in base: AVRational) { millisecond = Double(base.den) / (1000 * Double(max(1, base.num))) }

  mutating func add(_ step: Double, _ stated: Double) {
    all += 1
    guard isClose(step, stated) else { return }
    agreeing += 1
    ticks += step
    expected += stated
  }

  /// Whether most steps have the stated duration, and so has their sum: rounding errors do not add up, those of a wrong
  /// clock do.
  var agree: Bool { all >= 8 && agreeing * 3 > all * 2 && isClose(ticks, expected) }

  /// Both are rounded to a tick, which mkvmerge makes about as long as a sample of sound. Before that, they may have
  /// been rounded to the milliseconds of the file from which this one was made.
  private func isClose(_ step: Double, _ stated: Double) -> Bool {
    abs(step - stated) <= 2 + millisecond + 0.002 * stated
  }
}
