import CFFmpeg
import ReelCore

/// When the packets of a file are shown, read from its structure without FFmpeg: all of them in a small file, else those
/// at its beginning and at its end.
struct ContentClock {
  /// The streams by what the container calls them: a track's number, a packet identifier, the kind of a tag.
  typealias Key = Int

  /// The tick of all times.
  let base: AVRational
  private(set) var extents: [Key: PacketExtent] = [:]
  /// When the first packets are shown.
  private(set) var heads: [Key: PacketTimes] = [:]
  /// When packets further on are shown, where not all were read: in each of the places that were looked at.
  private(set) var windows: [[Key: PacketTimes]] = []
  /// When these are decoded, where that is known of each.
  private var decodes: [Key: PacketTimes] = [:]
  /// Where the first packets lie, without the container's own headers.
  private(set) var firsts: [Key: Range<Int64>] = [:]
  /// Some of the packets that lie in one piece.
  private(set) var samples: [Key: PacketSample] = [:]
  /// Where packets lie in which a place may be told, in the order in which they were looked at: text, data, and pictures that
  /// need no other.
  private(set) var places: [Key: [Range<Int64>]] = [:]
  /// Streams of which several packets share one time, so that these tell nothing of how long each of them lasts.
  private(set) var shared: Set<Key> = []
  /// The steps from one packet to the next, where the header says how long these frames last.
  private var statedSteps: [Key: StatedSteps] = [:]
  /// Ticks from one frame of a stream to the next, as the header has it.
  private var stated: [Key: Double] = [:]
  /// The codecs' records that stand between the packets: the first of a stream, and one that differs from it.
  private(set) var records: [Key: (first: [UInt8], later: [UInt8]?)] = [:]
  /// From one packet to the next within each of some windows that lie evenly over the file, when it is decoded.
  private(set) var steps: [Key: [[Int64]]] = [:]
  /// Streams that lack packets within one of these windows, or in all of it, while others go on.
  private(set) var pausing: Set<Key> = []
  /// Streams whose packets were seen, and not taken.
  private var seen: Set<Key> = []
  /// Whether every packet was looked at.
  var isWhole = false
  /// Whether the file does not say where its end should be.
  var mayEndAnywhere = false
  /// Whether nothing tells how the times go on somewhere: too little was looked at, or a packet's time cannot be meant.
  var isUnclear = false
  /// Whether nothing was found behind a damaged place, so that the file may last longer.
  var isEndLost = false { didSet { isUnclear = isUnclear || isEndLost } }
  /// How many files were joined in it.
  private(set) var parts = 1
  /// The streams of each of these, where they have others than the first: in the order of the file.
  private(set) var streamsOfParts: [Set<Key>] = []
  /// Whether parts that follow one another are of the same moments.
  var overlaps = false
  /// Whether the times of what comes now are kept: not where packets were left out before it, as those are no steps.
  var keepsTimes = true
  /// Whether the last of the windows is the end of the file.
  private(set) var isAtEnd = false
  private let jump: PacketExtent.Jump

  /// Times of a stream that are kept from each end.
  static let mostTimes = 100_000
  /// Places between the two ends that are looked at: so many that what lies between two is less than a fiftieth.
  static let places = 64

  /// - Parameters:
  ///   - ahead: seconds from one packet to the next that are a jump.
  ///   - isReordered: whether nothing tells when packets are decoded.
  init(base: AVRational, ahead: Double, isReordered: Bool = false) {
    self.base = base
    jump = PacketExtent.Jump(back: 0.3, ahead: ahead, in: base, isReordered: isReordered)
  }

  /// From now on packets are from another place further on in the file.
  mutating func beginWindow(atEnd: Bool) {
    windows.append([:])
    isAtEnd = atEnd
  }

  /// Gives whether the clock starts anew with it.
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

  /// A packet whose time of showing is wrong.
  mutating func note(_ key: Key, decoded: Int64) {
    if windows.isEmpty, decodes[key]?.count ?? 0 < Self.mostTimes {
      decodes[key, default: PacketTimes()].add(decoded)
    }
  }

  /// A part of the file that comes after this one and has a clock of its own, of the same tick.
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

  /// Several files were joined in it, whose streams have names of their own.
  mutating func note(parts streams: [Set<Key>]) {
    streamsOfParts = streams
    parts = streams.count
  }

  mutating func noteSeen(_ keys: some Sequence<Key>) { seen.formUnion(keys) }

  /// Whether any packet of a stream is in what was looked at.
  func hasSeen(_ key: Key) -> Bool { extents[key] != nil || seen.contains(key) }

  /// What passes from one packet of a window to the next.
  mutating func note(_ key: Key, steps own: [Int64]) {
    if own.count >= 3 { steps[key, default: []].append(own) }
  }

  mutating func note(_ key: Key, place: Range<Int64>) { places[key, default: []].append(place) }

  /// Several packets of this stream share one time.
  mutating func noteShared(_ key: Key) { shared.insert(key) }

  /// So many ticks pass from a packet of so many frames to the next.
  mutating func note(_ key: Key, step: Int64, of frames: Int64) {
    guard let stated = stated[key] else { return }
    statedSteps[key, default: StatedSteps(in: base)]
      .add(Double(step), stated * Double(frames))
  }

  /// Whether most frames of a stream last as long by the times of its packets as the header says, however many share one.
  func keepsStatedPace(_ key: Key) -> Bool {
    statedSteps[key]?.agree ?? false
  }

  /// The header says so of the frames of this stream.
  mutating func note(_ key: Key, stated ticks: Double) { stated[key] = ticks }

  mutating func note(_ key: Key, record: [UInt8]) {
    guard let first = records[key]?.first else { return records[key] = (record, nil) }
    if record != first, records[key]?.later == nil { records[key]?.later = record }
  }

  /// Within a window packets of this stream are missing.
  mutating func notePause(_ key: Key) { pausing.insert(key) }

  /// Whether packets follow one another evenly, and alike in all windows; nil where too few of these show it.
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

  /// The only stream, if its clock seems to start anew. No other one tells whether it does, or pauses.
  var jumpingAlone: (key: Key, extent: PacketExtent)? {
    guard extents.count == 1, let only = extents.first, only.value.stretches.count > 1 else { return nil }
    return (only.key, only.value)
  }

  /// Whether the clock of the only stream goes on wherever it steps ahead, however far.
  var stepsAheadArePauses: Bool { extents.count == 1 && jumpingAlone?.extent.hasPauses != false }

  /// How long streams last together, of all where `keys` is nil; nil without times.
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

  /// When the last packet of streams ends, in seconds; of all where `keys` is nil.
  func end(of keys: Set<Key>? = nil) -> Double? {
    extents.keys.filter { keys?.contains($0) ?? true }.flatMap(seconds).map(\.upperBound).max()
  }

  /// Between which moments the last packet of streams may end, in seconds, of that stream whose last one comes last.
  func ends(of keys: Set<Key>? = nil) -> ClosedRange<Double>? {
    extents.filter { keys?.contains($0.key) ?? true }.values.compactMap { $0.ends(in: base) }
      .max { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
  }

  private func seconds(_ key: Key) -> [ClosedRange<Double>] {
    // Where several frames share a packet, that of one is stated.
    extents[key]?.seconds(in: base, stated: shared.contains(key) ? nil : stated[key]) ?? []
  }

  /// How fast the frames of a stream follow one another at the beginning; nil where too few are known.
  func pace(of key: Key) -> FramePace? {
    let isCut = !isWhole || mayEndAnywhere
    func pace(_ times: PacketTimes?) -> FramePace? {
      times.flatMap { FramePace(withoutPauses($0, of: key), in: base, isCut: isCut) }
    }
    return pace(heads[key])?.unless(pace(decodes[key]))
  }

  /// Whether the first frame lasts as long as most of them.
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

  /// Whether packets of a stream are missing for long while another goes on.
  func isPausing(_ key: Key) -> Bool {
    pausing.contains(key)
      || heads[key].map { withoutPauses($0, of: key).stretches.count < $0.stretches.count } ?? false
  }

  /// The same further on, in each place that shows it.
  func pacesFurtherOn(of key: Key) -> [FramePace] {
    windows.enumerated().compactMap { place, window in
      let isLast = isAtEnd && place == windows.count - 1
      return window[key].flatMap { FramePace($0, in: base, isCut: mayEndAnywhere || !isLast) }
    }
  }

  /// Whether a stream was looked at in so many places that what lies between two of them is too short to change its
  /// average rate by what makes it variable.
  func isShownThroughout(_ key: Key) -> Bool {
    guard let own = extents[key]?.stretches, own.count == 1, let whole = own.first, let pace = pace(of: key)
    else { return false }
    let step = Double(base.den) / (pace.ordinary * Double(base.num))
    let shown = ([heads[key]] + windows.map { $0[key] }).compactMap { times -> ClosedRange<Int64>? in
      guard let times, let first = times.stretches.joined().min(), let last = times.stretches.joined().max(),
        // One says nothing of how fast they come.
        times.count > 2
          || times.count == 2 && abs(Double(last) - Double(first) - step) <= 1 + step * FramePace.tolerance
      else { return nil }
      return first...last
    }
    .sorted { $0.lowerBound < $1.lowerBound }
    // The step to the next one is no gap.
    let longest = (Double(whole.last) - Double(whole.first)) * FramePace.tolerance + 2 * step
    var reached = whole.first
    return (shown + [whole.last...whole.last]).allSatisfy { part in
      defer { reached = max(reached, part.upperBound) }
      return Double(part.lowerBound) - Double(reached) <= longest
    }
  }

  /// Whether frames of a stream come unevenly at one of the places that were looked at, or at one of them faster than at
  /// another.
  func isUneven(_ key: Key) -> Bool {
    guard let first = pace(of: key) else { return false }
    return first.isVariable
      || pacesFurtherOn(of: key).contains {
        $0.isVariable || abs($0.ordinary - first.ordinary) > FramePace.tolerance * first.ordinary
      }
  }
}

/// Steps from one packet to the next, beside how long the header says that the frames in them last.
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

  /// Whether most of them last so long, and those together, too: what is rounded does not add up, a wrong clock does.
  var agree: Bool { all >= 8 && agreeing * 3 > all * 2 && isClose(ticks, expected) }

  /// Both are rounded to a tick, which mkvmerge makes about as long as a sample, and before it to the millisecond of a file
  /// that it was made from.
  private func isClose(_ step: Double, _ stated: Double) -> Bool {
    abs(step - stated) <= 2 + millisecond + 0.002 * stated
  }
}
