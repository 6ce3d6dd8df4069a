/// What the fragments of an ISO base media file hold of its tracks (ISO/IEC 14496-12, 8.8), by their own tables.
struct MovieFragments: Hashable {
  /// The samples of one track.
  struct Run: Hashable {
    fileprivate(set) var samples: Int64 = 0
    /// How long they last together, in ticks of the track.
    fileprivate(set) var ticks: Int64 = 0
    /// Stretches of time in which one fragment follows the other, in ticks from the beginning of the track's time.
    fileprivate(set) var stretches: [Stretch] = []
    /// How many samples last how long. The last one of each fragment is among them.
    fileprivate var steps: [Int64: Int64] = [:]
    /// When the first sample is shown, against its time of decoding.
    fileprivate var firstOffset: Int64?
    /// When the last one of the last stretch is shown; nil where nothing but their order of decoding tells.
    fileprivate var lastShown: Int64?
    /// Whether that is the one decoded last.
    fileprivate var isLastShownLast = false
    /// How far that is from those of the samples beside it.
    fileprivate var firstOffsetBeyond: Int64 = 0
    fileprivate var defaultStep: Int64 = 0
    /// Steps that fragments give several samples at once, and that nothing confirms.
    fileprivate var commonSteps: Set<Int64> = []
    /// Those of the last fragment, which are confirmed where the next one begins at its end.
    fileprivate var lastCommonSteps: Set<Int64> = []
    fileprivate var lastSteps: [Int64: Int64] = [:]
    /// The longest sample that nothing confirms, and that of the last fragment, which the next one may confirm. Of the very
    /// first one nothing is asked.
    fileprivate var longest: Int64 = 0
    fileprivate var lastLongest: Int64 = 0
    /// How long the very last sample lasts.
    fileprivate var lastStep: Int64 = 0
    fileprivate var isSound = false
    fileprivate var defaultSize: Int64 = 0
    /// Bytes of the samples in one fragment, at most.
    fileprivate(set) var mostBytes: Int64 = 0
    fileprivate var even: EvenSteps
    /// How many seconds later than its media an edit list shows it; nil without one.
    fileprivate var shift: Double?
    /// Ticks a second.
    fileprivate let scale: Int64
    fileprivate var next: Int64 = 0
    /// When the last fragment begins.
    fileprivate var lastStart: Int64 = 0
    /// Where fragments begin later than the one before ends, in seconds.
    fileprivate var pauses: [ClosedRange<Double>] = []
  }

  struct Stretch: Hashable {
    fileprivate(set) var start: Int64
    fileprivate(set) var end: Int64
  }

  /// Where its boxes contradict one another, so that what they tell cannot all be true.
  enum Fault: Int, Hashable {
    /// A box is not as long as its flags and its count say.
    case shape
    /// A fragment is of a track that there is none of.
    case track
    /// Samples are not as large together as the media data behind them.
    case bytes
    /// Times do not follow from one another: tracks drift apart, one begins elsewhere than it ended and not all pause
    /// there, or a sample lasts far longer than all others, or than the sound.
    case pace
    /// Its last picture is shown far later than the others are, and no sound lasts until then: true of a film that ends with a
    /// pause, and nothing else tells.
    case tail
  }

  /// By the id of the track.
  private(set) var runs: [UInt32: Run] = [:]
  /// Where the media data of each track lie in the fragments, in their order: one range for a fragment of video or
  /// sound, some of the samples of other tracks. Apart from ``runs``, which are copied.
  private(set) var places: [UInt32: [Range<Int64>]] = [:]
  private(set) var faults: Set<Fault> = []
  /// Whether the samples of the last fragment lie beyond the end of the file.
  private(set) var endsBeyondFile = false
  /// Whether all of them are there, by all of its tables.
  private(set) var endsWithin = false
  /// Seconds that all tracks leave out together, as a live recording does that lost its connection. They count.
  private(set) var pause = 0.0

  /// A gap between two fragments of a track, or a step back, that is no rounding, in seconds.
  private static let jump = 0.5
  /// How far tracks may drift apart from one fragment to another, in seconds.
  fileprivate static let drift = 0.5
  /// Lengths of samples that are told apart.
  fileprivate static let mostSteps = 4096
  private static let mostBoxes = 1024

  /// How far the first fragment's tracks were apart, by the track, in seconds.
  private var skews: [UInt32: Double] = [:]
  /// Tracks that began apart from the first one.
  private var met: Set<UInt32> = []
  private let chosen: Set<UInt32>

  /// A `moof` and the media data that follows it before the next one.
  struct Part: Hashable {
    let box: ISOBox
    /// Bytes within the `mdat` boxes behind it.
    var media: Int64 = 0
    /// How many of these lie beyond the file's end.
    var missing: Int64 = 0
    /// Where the last of these boxes begins; nil without one.
    var lastMedia: Int64?
  }

  /// - Parameters:
  ///   - movie: the box `moov`.
  ///   - mediaBefore: bytes of media data before the first fragment.
  ///   - holdsAll: whether the media data has nothing in it but samples.
  init(
    _ file: some ByteReading, movie: ISOBox, movieScale: UInt32?, tracks: [ISOTrack], parts: [Part],
    mediaBefore: Int64, holdsAll: Bool
  ) {
    chosen = Set(tracks.filter(\.isSeenOrHeard).compactMap(\.id))
    for track in tracks {
      guard let id = track.id, runs[id] == nil else { continue }
      var run = Run(scale: track.timescale.map(Int64.init) ?? 1)
      run.shift = track.shift(movieScale: movieScale)
      run.isSound = track.handler == "soun"
      // A movie may have samples of its own before its fragments.
      if let sizes = track.counts.sizes, sizes > 0, let times = track.times?.limited(to: sizes),
        let total = times.total
      {
        run.add(times, total, firstOffset: track.firstOffset)
      }
      runs[id] = run
    }
    takeDefaults(movie, of: file)
    // Media data that no table is about.
    if mediaBefore > 0, runs.values.allSatisfy({ $0.samples == 0 }) { faults.insert(.bytes) }
    for part in parts { take(part, of: file, holdsAll: holdsAll) }
    takePauses()
    if runs.values.contains(where: { $0.hasOddDefault || $0.hasOddStart }) { faults.insert(.pace) }
    if tracks.contains(where: { $0.isSeenOrHeard && $0.timescale == nil }) { faults.insert(.pace) }
    let sounds = tracks.filter { $0.handler == "soun" }.compactMap(\.id)
    if sounds.contains(where: { runs[$0]?.hasLongSample ?? false }) { faults.insert(.pace) }
    let heard = sounds.compactMap { runs[$0] }.map(\.length).max() ?? 0
    if heard > 0, chosen.contains(where: { runs[$0]?.outlasts(heard) ?? false }) { faults.insert(.pace) }
    let heardUntil = sounds.compactMap { runs[$0]?.seconds.last?.upperBound }.max()
    if chosen.contains(where: { runs[$0]?.hasOddEnd(beside: heardUntil) ?? false }) { faults.insert(.tail) }
  }

  /// `trex` (8.8.3): how long a sample lasts, and how large it is, where its fragment does not say.
  private mutating func takeDefaults(_ movie: ISOBox, of file: some ByteReading) {
    for extends in movie.children(in: file, atMost: Self.mostBoxes) where extends.type == "mvex" {
      for box in extends.children(in: file, atMost: Self.mostBoxes) where box.type == "trex" {
        let bytes = file.bytes(at: box.contents, count: 24)
        guard let id = bytes.number(at: 4, bytes: 4), let step = bytes.number(at: 12, bytes: 4),
          let size = bytes.number(at: 16, bytes: 4)
        else { continue }
        runs[UInt32(id)]?.defaultStep = Int64(step)
        runs[UInt32(id)]?.defaultSize = Int64(size)
      }
    }
  }

  private mutating func take(_ part: Part, of file: some ByteReading, holdsAll: Bool) {
    var (behind, furthest) = (part.box.start, part.box.start)
    var (bytes, spans): (Int64, [(id: UInt32, start: Double)]) = (0, [])
    for box in part.box.children(in: file, atMost: Self.mostBoxes) where box.type == "traf" {
      guard let fragment = TrackFragment(box, of: file) else {
        faults.insert(.shape)
        continue
      }
      guard let run = runs[fragment.id] else {
        faults.insert(.track)
        continue
      }
      let (start, before) = (fragment.base ?? run.next, behind)
      var even = run.even
      even.begin(at: start)
      let told = fragment.samples(
        even, defaultStep: run.defaultStep, defaultSize: run.defaultSize, moof: part.box.start,
        behind: behind, of: file)
      guard let told else {
        faults.insert(.shape)
        continue
      }
      if let start = told.dataStart, start >= 0, start < told.dataEnd {
        places[fragment.id, default: []] +=
          chosen.contains(fragment.id)
          ? [start..<told.dataEnd]
          : fragment.someSamples(defaultSize: run.defaultSize, moof: part.box.start, behind: before, of: file)
      }
      bytes = bytes.addingClamped(told.bytes)
      (behind, furthest) = (told.dataEnd, max(furthest, told.dataEnd))
      guard told.count > 0 else { continue }
      let isApart = run.isApart(from: start, told.steps, jump: Self.jump)
      if isApart, runs[fragment.id]?.pause(until: start) != true { faults.insert(.pace) }
      // Behind a pause nothing tells that the steps before it are right.
      runs[fragment.id]?.add(
        told, at: start, isConfirmed: fragment.base != nil && !isApart, jump: Self.jump)
      spans.append((fragment.id, (Double(start) + (run.shift ?? 0)) / Double(run.scale)))
    }
    // Media data that claims more than the file has hides the fragments behind it.
    if part.missing > 0, Self.isFragment(file, at: furthest) { faults.insert(.bytes) }
    endsBeyondFile = bytes > part.media && furthest > file.size
    endsWithin =
      bytes <= part.media - part.missing && furthest <= file.size
      && faults.isDisjoint(with: [.shape, .track])
    // What a decryptor needs is little beside what it decrypts.
    let isLeftOut = part.lastMedia.map { furthest <= $0 } ?? false || bytes < part.media / 2
    if part.missing == 0, holdsAll ? bytes != part.media : isLeftOut, !endsBeyondFile {
      faults.insert(.bytes)
    }
    compare(spans)
  }

  /// Where the clock only steps ahead, and that of all tracks at once, it tells of a pause; else it is wrong.
  private mutating func takePauses() {
    let own = chosen.compactMap { runs[$0] }.filter { $0.samples > 0 }
    guard let first = own.max(by: { $0.pauses.count < $1.pauses.count }), !first.pauses.isEmpty else {
      return
    }
    guard own.allSatisfy({ $0.pauses(like: first) && !$0.stepsBack }) else {
      faults.insert(.pace)
      return
    }
    pause = first.pauses.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    for id in runs.keys { runs[id]?.joinStretches() }
  }

  private static func isFragment(_ file: some ByteReading, at place: Int64) -> Bool {
    let parts: Set<FourCharacterCode> = ["moof", "styp", "sidx", "emsg", "prft"]
    return file.bigEndian(at: place, width: 4) ?? 0 >= 8
      && parts.contains(FourCharacterCode(file.bytes(at: place + 4, count: 4)))
  }

  /// Tracks of which a fragment holds samples of the same moments begin together; where they end the next one tells, as one
  /// of them may be the last to end.
  private mutating func compare(_ spans: [(id: UInt32, start: Double)]) {
    let own = spans.filter { chosen.contains($0.id) }
    guard own.count > 1, let first = own.first, Set(own.map(\.id)).count == own.count else { return }
    for other in own.dropFirst() {
      let skew = other.start - first.start
      // One that begins later may do so within a fragment.
      if abs(skew) > Self.drift, met.insert(other.id).inserted { continue }
      let before = skews[other.id] ?? skew
      skews[other.id] = before
      if abs(skew - before) > Self.drift { faults.insert(.pace) }
    }
  }
}

extension MovieFragments.Run {
  fileprivate init(scale: Int64) {
    self.scale = max(1, scale)
    even = EvenSteps(scale: self.scale)
  }

  fileprivate mutating func add(_ times: SampleTimes, _ total: Int64, firstOffset offset: Int64) {
    (samples, ticks, next, firstOffset) = (times.samples, total, total, offset)
    stretches = [MovieFragments.Stretch(start: 0, end: total)]
    even.begin(at: 0)
    for run in times.runs {
      note(run.step, run.count)
      even.add(run.step, run.count)
    }
  }

  /// - Parameter isConfirmed: whether the fragment says itself that it begins where the one before ends.
  fileprivate mutating func add(
    _ told: TrackFragment.Samples, at start: Int64, isConfirmed: Bool, jump: Double
  ) {
    let gap = Double(start) - Double(next)
    if stretches.isEmpty || abs(gap) > jump * Double(scale), stretches.count < PacketExtent.mostStretches {
      stretches.append(MovieFragments.Stretch(start: start, end: start))
      lastShown = nil
    }
    if isConfirmed, lastStep == 0, gap > 0, gap <= jump * Double(scale), let untold = steps[0] {
      endLast(at: start, of: untold)
    }
    lastStart = start
    let (end, overflow) = start.addingReportingOverflow(told.ticks)
    next = overflow ? start : end
    stretches[stretches.count - 1].end = max(stretches[stretches.count - 1].end, next)
    samples += told.count
    ticks = ticks &+ told.ticks
    mostBytes = max(mostBytes, told.bytes)
    if firstOffset == nil, let first = told.firstOffset {
      firstOffset = first
      if let others = told.otherOffsets { firstOffsetBeyond = others.distance(to: first) }
    }
    let shown = told.lastShown.map { start.addingClamped($0) }
    isLastShownLast = told.isLastShownLast && shown.map { $0 >= lastShown ?? $0 } ?? false
    if let shown { lastShown = max(lastShown ?? shown, shown) }
    for (step, count) in told.steps { note(step, count) }
    even = told.even
    if !isConfirmed {
      commonSteps.formUnion(lastCommonSteps)
      longest = max(longest, lastLongest)
    }
    lastCommonSteps = told.commonSteps
    lastSteps = told.steps
    lastStep = told.lastStep
    lastLongest = told.longest(besidesFirst: samples == told.count)
  }

  /// What its writer did not know yet when it wrote the last sample, of which it says that it takes no time: it stays until the
  /// next fragment begins.
  ///
  /// - Parameter untold: how many samples take no time.
  private mutating func endLast(at start: Int64, of untold: Int64) {
    let step = start - next
    steps[0] = untold > 1 ? untold - 1 : nil
    note(step, 1)
    ticks = ticks &+ step
    stretches[stretches.count - 1].end = max(stretches[stretches.count - 1].end, start)
  }

  /// Whether a fragment that begins here does not follow the one before; a clock that starts anew is another matter.
  ///
  /// - Parameter told: the steps of its samples. How long the last sample before it is shown its writer may not have known:
  ///   it lasts as long as others do.
  fileprivate func isApart(from start: Int64, _ told: [Int64: Int64], jump: Double) -> Bool {
    guard let last = stretches.last, last.end == next else { return false }
    let gap = abs(Double(start) - Double(next)) / Double(scale)
    if gap > jump, start <= lastStart { return false }
    // What follows takes long, and is the same for a small one.
    guard gap > 0.1 else { return false }
    let usual = [steps, told].flatMap { $0.filter { $0.value > 1 }.keys }.max() ?? 0
    return gap > max(0.1, 1.5 * Double(max(usual, ordinaryStep)) / Double(scale))
  }

  /// Takes what passes until the next fragment begins for a pause; false where that is none.
  fileprivate mutating func pause(until start: Int64) -> Bool {
    let (from, to) = (Double(next) / Double(scale), Double(start) / Double(scale))
    guard to > from, to - from <= PacketExtent.Jump.longestPause, pauses.count < PacketExtent.mostStretches
    else {
      return false
    }
    pauses.append(from...to)
    return true
  }

  /// Whether another track pauses with this one, however far apart their fragments end.
  fileprivate func pauses(like other: Self) -> Bool {
    pauses.count == other.pauses.count
      && zip(pauses, other.pauses).allSatisfy {
        abs($0.lowerBound - $1.lowerBound) <= 2 * MovieFragments.drift
          && abs($0.upperBound - $1.upperBound) <= 2 * MovieFragments.drift
      }
  }

  fileprivate var stepsBack: Bool { zip(stretches, stretches.dropFirst()).contains { $1.start < $0.end } }

  /// Joins what pauses part; what is further away is another stretch.
  fileprivate mutating func joinStretches() {
    guard !pauses.isEmpty else { return }
    let most = PacketExtent.Jump.longestPause * Double(scale)
    stretches = stretches.reduce(into: []) { joined, next in
      if let last = joined.last, Double(next.start) - Double(last.end) <= most {
        joined[joined.count - 1].end = next.end
      } else {
        joined.append(next)
      }
    }
  }

  /// Whether a fragment gives several samples a step that no other place confirms, and that is far from what the others have.
  fileprivate var hasOddDefault: Bool {
    // What the last one says of itself does not confirm it.
    let before = Self.ordinary(steps.merging(lastSteps) { $0 - $1 })
    func isOdd(_ step: Int64, beside ordinary: Int64) -> Bool {
      ordinary > 0 && (2 * step > 3 * ordinary || 3 * step < 2 * ordinary)
    }
    let ordinary = ordinaryStep
    return commonSteps.contains { isOdd($0, beside: ordinary) }
      || lastCommonSteps.contains { isOdd($0, beside: before > 0 ? before : ordinary) }
  }

  var length: Double { Double(ticks) / Double(scale) }

  /// Ticks for which what is shown last stays after all are decoded: where pictures are put in order, those before it may
  /// come later than their turn to be decoded, by as much as they are apart.
  private var tail: Int64 {
    let limits = -Int64(1 << 61)...Int64(1 << 61)
    guard let lastShown, let end = stretches.last?.end, limits.contains(lastShown), limits.contains(end)
    else { return 0 }
    // Its own step is the time until the next one is decoded, and that of the very last what the writer knows of the end: of
    // another picture it may be a pause that comes before this one (x264 as FFmpeg 6.1 has it).
    let step = isLastShownLast ? lastStep : min(lastStep, usualStep)
    return max(0, lastShown + step - (firstOffset ?? 0) - end)
  }

  /// Ticks by which the last sample of a sound lasts longer than the others: a picture may stay, and no frame of sound does.
  private var excess: Int64 {
    let ordinary = ordinaryStep
    return isSound && samples >= 8 && ordinary > 0 && lastStep / 2 > ordinary && next == stretches.last?.end
      ? lastStep - ordinary : 0
  }

  /// Whether what is shown last comes far later than the others do, and nothing tells so but its own time: no sound lasts until
  /// then.
  fileprivate func hasOddEnd(beside heard: Double?) -> Bool {
    let isLong = Double(tail) > max(0.5 * Double(scale), 8 * Double(usualStep))
    guard isLong, let end = seconds.last?.upperBound else { return false }
    return heard.map { end - $0 > MovieFragments.drift } ?? true
  }

  private var hasLongTail: Bool { Double(tail) > max(0.1 * Double(scale), 1.5 * Double(usualStep)) }

  /// The longest of which there are several.
  private var usualStep: Int64 { max(steps.filter { $0.value > 1 }.keys.max() ?? 0, ordinaryStep) }

  /// Whether it goes on long after another track by a single sample that nothing confirms.
  fileprivate func outlasts(_ other: Double) -> Bool {
    hasLongSample && length - other > Double(max(longest, lastLongest)) / Double(scale) / 2
  }

  /// Whether the first sample waits to be shown for longer than any decoder puts pictures in order (ITU-T H.264, A.3.1).
  fileprivate var hasOddStart: Bool { firstOffsetBeyond / 16 > max(1, ordinaryStep) }

  /// Whether one sample lasts more than eight times as long as the others, and nothing confirms it. The first one of sound
  /// may last until the pictures begin; one before a short gap of a live stream lasts until it goes on.
  fileprivate var hasLongSample: Bool {
    let (ordinary, most) = (ordinaryStep, max(longest, lastLongest))
    return ordinary > 0 && most / 8 > ordinary && Double(most) > MovieFragments.drift * Double(scale)
  }

  private mutating func note(_ step: Int64, _ count: Int64) {
    if steps[step] != nil || steps.count < MovieFragments.mostSteps { steps[step, default: 0] += count }
  }

  /// In seconds, each from when its first sample is shown. What an edit list puts before zero is hidden, but for what begins
  /// anew.
  var seconds: [ClosedRange<Double>] {
    // Divided once: an even number of seconds is told as that.
    let (scale, offset) = (Double(scale), Double(firstOffset ?? 0) + (shift ?? 0))
    var shown = stretches.filter { $0.end > $0.start }.map {
      (Double($0.start) + offset) / scale...(Double($0.end) + offset) / scale
    }
    if tail > 0 || excess > 0, let last = shown.popLast() {
      let end = Double(stretches.last?.end ?? 0) + Double(tail) - Double(excess) + offset
      shown.append(last.lowerBound...max(last.lowerBound, end / scale))
    }
    guard shift != nil, let first = shown.first else { return shown }
    return (first.upperBound > 0 ? [max(0, first.lowerBound)...first.upperBound] : []) + shown.dropFirst()
  }

  /// Samples a second: all but the last one of each stretch may be equally long.
  var rate: TrackPresentation.Rate? {
    guard ticks > 0, samples > 0, samples < 1 << 31 else { return nil }
    let others = steps.filter { $0.key != ordinaryStep }.values.reduce(0, +)
    if others <= max(1, stretches.count), ordinaryStep > 0, !hasLongTail {
      return TrackPresentation.Rate(samples: scale, ticks: ordinaryStep)
    }
    return TrackPresentation.Rate(samples: samples * scale, ticks: ticks.addingClamped(tail))
  }

  /// Samples a second, if all lasted as long as the ordinary one does.
  var ordinaryRate: Double? { ordinaryStep > 0 ? Double(scale) / Double(ordinaryStep) : nil }

  /// Seconds that each sample lasts, where they come evenly and their times are rounded; nil else.
  var evenStep: ClosedRange<Double>? { even.seconds }

  /// Of each sample but for a few; nil where there is none, and of few samples.
  var steadySeconds: Double? {
    let step = ordinaryStep
    guard step > 1, samples >= 8, samples - steps[step, default: 0] <= samples / 10 else { return nil }
    return Double(step) / Double(scale)
  }

  private var ordinaryStep: Int64 { Self.ordinary(steps) }

  private static func ordinary(_ steps: [Int64: Int64]) -> Int64 {
    let half = steps.values.reduce(0, +) / 2
    var passed: Int64 = 0
    for (step, count) in steps.sorted(by: { $0.key < $1.key }) {
      passed += count
      if passed > half { return step }
    }
    return 0
  }
}

/// One track's part of a fragment (8.8.6 to 8.8.8, 8.8.12).
private struct TrackFragment {
  struct Samples {
    var count: Int64 = 0
    var ticks: Int64 = 0
    var bytes: Int64 = 0
    var steps: [Int64: Int64] = [:]
    /// Where the media data of the first ones begin, and those of the last ones end.
    var dataStart: Int64?
    var dataEnd: Int64
    /// How long the very first one lasts, and the last.
    var firstStep: Int64?
    var lastStep: Int64 = 0
    /// Those of all fragments up to this one.
    var even: EvenSteps
    var commonSteps: Set<Int64> = []
    var firstOffset: Int64?
    /// Those of the others, from the least to the most.
    var otherOffsets: ClosedRange<Int64>?
    /// When the last one is shown, against when the first is decoded; nil without offsets.
    var lastShown: Int64?
    var isLastShownLast = false
  }

  var id: UInt32 { header.id }
  /// When its first sample is decoded, in ticks of the track; nil where it follows the one before.
  private(set) var base: Int64?
  private let header: Header
  private var runs: [ISOBox] = []

  /// `tfhd` (8.8.7).
  private struct Header {
    let id: UInt32
    /// What places of its media data are counted from; nil where nothing says so.
    var origin: Int64?
    var startsAtFragment = false
    var step: Int64?
    var size: Int64?
  }

  /// The flags that there are.
  private static let headerFlags = 0x03_003B
  private static let runFlags = 0x0F05
  private static let mostSamples = 1 << 20
  /// About the number of samples of a run that are searched for a location; at most twice as many.
  private static let mostPlaces = 64

  /// Nil without a header, or with one that is not as long as its flags say.
  init?(_ box: ISOBox, of file: some ByteReading) {
    var header: Header?
    for part in box.children(in: file, atMost: 64) {
      switch part.type {
      case "tfhd" where header == nil:
        guard let told = Self.header(part, of: file) else { return nil }
        header = told
      case "tfdt":
        let width = file.bigEndian(at: part.contents, width: 1) == 1 ? 8 : 4
        base = file.bigEndian(at: part.contents + 4, width: width).flatMap { Int64(exactly: $0) }
        guard let base, base < 1 << 62 else { return nil }
      case "trun": runs.append(part)
      default: break
      }
    }
    guard let header else { return nil }
    self.header = header
  }

  private static func header(_ box: ISOBox, of file: some ByteReading) -> Header? {
    let bytes = file.bytes(at: box.contents, count: 32)
    guard let flags = bytes.number(at: 0, bytes: 4).map({ $0 & 0xFF_FFFF }),
      let id = bytes.number(at: 4, bytes: 4), flags & ~headerFlags == 0
    else { return nil }
    var (place, told): (Int, [Int: Int64]) = (8, [:])
    for (flag, width) in [(1, 8), (2, 4), (8, 4), (0x10, 4), (0x20, 4)] where flags & flag != 0 {
      if width == 4 { told[flag] = bytes.number(at: place, bytes: 4).map { Int64($0) } }
      place += width
    }
    guard box.end - box.contents == Int64(place) else { return nil }
    let origin = flags & 1 != 0 ? file.bigEndian(at: box.contents + 8, width: 8) : nil
    return Header(
      id: UInt32(id), origin: origin.map { Int64(clamping: $0) }, startsAtFragment: flags & 0x02_0000 != 0,
      step: told[8], size: told[0x10])
  }

  /// Nil where a table is not as long as it says.
  ///
  /// - Parameters:
  ///   - even: the steps of the track up to here.
  ///   - moof: where the fragment begins.
  ///   - behind: where the media data of its track before this one end.
  func samples(
    _ even: EvenSteps, defaultStep: Int64, defaultSize: Int64, moof: Int64, behind: Int64,
    of file: some ByteReading
  ) -> Samples? {
    let origin = header.origin ?? (header.startsAtFragment ? moof : behind)
    var found = Samples(dataEnd: origin, even: even)
    for run in runs {
      let before = found.bytes
      let start = Self.offset(of: run, file).map { origin.addingClamped($0) } ?? found.dataEnd
      guard Self.add(run, header.step ?? defaultStep, header.size ?? defaultSize, of: file, to: &found)
      else { return nil }
      found.dataStart = found.dataStart ?? start
      found.dataEnd = start.addingClamped(found.bytes - before)
    }
    return found
  }

  /// The places of samples, evenly spaced among all of them. Each text is searched by itself, not joined to the next.
  func someSamples(
    defaultSize: Int64, moof: Int64, behind: Int64, of file: some ByteReading
  ) -> [Range<Int64>] {
    let origin = header.origin ?? (header.startsAtFragment ? moof : behind)
    var (found, end): ([Range<Int64>], Int64) = ([], origin)
    for run in runs {
      let start = Self.offset(of: run, file).map { origin.addingClamped($0) } ?? end
      end = Self.addSamples(of: run, from: start, header.size ?? defaultSize, file, to: &found)
    }
    return found
  }

  /// - Returns: where the last sample ends.
  private static func addSamples(
    of run: ISOBox, from start: Int64, _ size: Int64, _ file: some ByteReading, to found: inout [Range<Int64>]
  ) -> Int64 {
    let head = file.bytes(at: run.contents, count: 8)
    guard let flags = head.number(at: 0, bytes: 4), let count = head.number(at: 4, bytes: 4).map({ Int($0) }),
      count > 0, count <= mostSamples, start >= 0
    else { return start }
    let step = max(1, count / mostPlaces)
    guard flags & 0x200 != 0 else {
      guard size > 0 else { return start }
      for number in stride(from: 0, to: count, by: step) {
        let place = start.addingClamped(Int64(number) * size)
        found.append(place..<place.addingClamped(size))
      }
      return start.addingClamped(Int64(count) * size)
    }
    let first = 8 + (flags & 1 != 0 ? 4 : 0) + (flags & 4 != 0 ? 4 : 0)
    let width = [0x100, 0x200, 0x400, 0x800].reduce(0) { $0 + (flags & $1 != 0 ? 4 : 0) }
    let table = file.bytes(at: run.contents + Int64(first), count: width * count)
    var place = start
    for (number, row) in stride(from: flags & 0x100 != 0 ? 4 : 0, to: table.count, by: width).enumerated() {
      let end = place.addingClamped(Int64(table.number(at: row, bytes: 4) ?? 0))
      if number % step == 0, place < end { found.append(place..<end) }
      place = end
    }
    return place
  }

  /// How far behind the origin its media data begin, where it says so.
  private static func offset(of run: ISOBox, _ file: some ByteReading) -> Int64? {
    guard let flags = file.bigEndian(at: run.contents, width: 4), flags & 1 != 0 else { return nil }
    return file.bigEndian(at: run.contents + 8, width: 4).map { Int64(Int32(truncatingIfNeeded: $0)) }
  }

  private static func add(
    _ box: ISOBox, _ step: Int64, _ size: Int64, of file: some ByteReading, to found: inout Samples
  ) -> Bool {
    let head = file.bytes(at: box.contents, count: 8)
    guard let flags = head.number(at: 0, bytes: 4).map({ $0 & 0xFF_FFFF }),
      let count = head.number(at: 4, bytes: 4),
      flags & ~runFlags == 0, count <= mostSamples
    else { return false }
    let start = 8 + (flags & 1 != 0 ? 4 : 0) + (flags & 4 != 0 ? 4 : 0)
    let width = [0x100, 0x200, 0x400, 0x800].reduce(0) { $0 + (flags & $1 != 0 ? 4 : 0) }
    guard box.end - box.contents == Int64(start + width * count) else { return false }
    found.count += Int64(count)
    var time = found.ticks
    if flags & 0x100 == 0 {
      found.note(step, Int64(count))
      if count > 1 { found.commonSteps.insert(step) }
    }
    if flags & 0x200 == 0 { found.bytes += Int64(count) * size }
    guard width > 0, flags & 0xB00 != 0 else { return true }
    let table = file.bytes(at: box.contents + Int64(start), count: width * count)
    guard table.count == width * count else { return false }
    let sizeAt = flags & 0x100 != 0 ? 4 : 0
    table.withUnsafeBytes { bytes in
      func number(_ place: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
      }
      for place in stride(from: 0, to: table.count, by: width) {
        if flags & 0x100 != 0 { found.note(Int64(number(place)), 1) }
        if flags & 0x200 != 0 { found.bytes += Int64(number(place + sizeAt)) }
      }
      guard flags & 0x800 != 0 else { return }
      for place in stride(from: 0, to: table.count, by: width) {
        let offset = Int64(Int32(bitPattern: number(place + width - 4)))
        found.note(offset: offset, at: time)
        time = time &+ (flags & 0x100 != 0 ? Int64(number(place)) : step)
      }
    }
    return true
  }
}

extension TrackFragment.Samples {
  /// - Parameter time: when the sample is decoded.
  fileprivate mutating func note(offset: Int64, at time: Int64) {
    let shown = time &+ offset
    isLastShownLast = lastShown.map { shown > $0 } ?? true
    lastShown = max(lastShown ?? shown, shown)
    guard firstOffset != nil else { return firstOffset = offset }
    let other = otherOffsets ?? offset...offset
    otherOffsets = min(other.lowerBound, offset)...max(other.upperBound, offset)
  }

  /// How long the longest lasts, without the first one if need be.
  fileprivate func longest(besidesFirst: Bool) -> Int64 {
    steps.filter { !besidesFirst || $0.key != firstStep || $0.value > 1 }.keys.max() ?? 0
  }

  fileprivate mutating func note(_ step: Int64, _ count: Int64) {
    if firstStep == nil { firstStep = step }
    if count > 0 { lastStep = step }
    ticks = ticks &+ step &* count
    even.add(step, count)
    if steps[step] != nil || steps.count < MovieFragments.mostSteps { steps[step, default: 0] += count }
  }
}

extension ClosedRange<Int64> {
  /// How far a number is from it.
  fileprivate func distance(to number: Int64) -> Int64 {
    Swift.max(lowerBound - number, number - upperBound, 0)
  }
}
