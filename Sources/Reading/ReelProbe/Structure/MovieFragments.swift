/// What the fragments of an ISO base media file contain of its tracks (ISO/IEC 14496-12, 8.8), by their own tables.
struct MovieFragments: Hashable {
  /// The samples of one track.
  struct Run: Hashable {
    fileprivate(set) var samples: Int64 = 0
    /// Their total duration, in ticks of the track.
    fileprivate(set) var ticks: Int64 = 0
    /// Stretches of time in which fragments follow one another, in ticks from the beginning of the track's time.
    fileprivate(set) var stretches: [Stretch] = []
    /// The number of samples of each duration, including the last sample of each fragment.
    fileprivate var steps: [Int64: Int64] = [:]
    /// The offset of the first sample's presentation time from its decoding time.
    fileprivate var firstOffset: Int64?
    /// When the last sample of the last stretch is shown; nil if only the decoding order is known.
    fileprivate var lastShown: Int64?
    /// Whether that sample is also the last one decoded.
    fileprivate var isLastShownLast = false
    /// How far the first offset is from those of the samples beside it.
    fileprivate var firstOffsetBeyond: Int64 = 0
    fileprivate var defaultStep: Int64 = 0
    /// Steps that fragments give several samples at once, and that nothing confirms.
    fileprivate var commonSteps: Set<Int64> = []
    /// Such steps of the last fragment, which are confirmed if the next one begins at its end.
    fileprivate var lastCommonSteps: Set<Int64> = []
    fileprivate var lastSteps: [Int64: Int64] = [:]
    /// The longest sample that nothing confirms, and that of the last fragment, which the next one may confirm. The
    /// very first sample is exempt.
    fileprivate var longest: Int64 = 0
    fileprivate var lastLongest: Int64 = 0
    /// How long the very last sample lasts.
    fileprivate var lastStep: Int64 = 0
    fileprivate var isSound = false
    fileprivate var defaultSize: Int64 = 0
    /// The most bytes of samples in one fragment.
    fileprivate(set) var mostBytes: Int64 = 0
    fileprivate var even: EvenSteps
    /// How many ticks later than its media an edit list shows it; nil without an edit list.
    fileprivate var shift: Double?
    /// Ticks per second.
    fileprivate let scale: Int64
    fileprivate var next: Int64 = 0
    /// When the last fragment begins.
    fileprivate var lastStart: Int64 = 0
    /// The ticks of short gaps between fragments, in which the last sample of the one before is still shown.
    fileprivate var gaps: Int64 = 0
    /// Gaps between the end of a fragment and the beginning of the next one, in seconds.
    fileprivate var pauses: [ClosedRange<Double>] = []
  }

  struct Stretch: Hashable {
    fileprivate(set) var start: Int64
    fileprivate(set) var end: Int64
  }

  /// A contradiction between its boxes, because of which not all of them can be true.
  enum Fault: Int, Hashable {
    /// A box is not as long as its flags and its count say.
    case shape
    /// A fragment is of a track that does not exist.
    case track
    /// The total size of the samples is not that of the media data behind them.
    case bytes
    /// Times do not follow from one another: tracks drift apart, one begins elsewhere than it ended and not all pause
    /// there, or a sample lasts far longer than all others, or than the sound.
    case pace
    /// The last picture is shown far later than the others, and no sound lasts until then. That may be right, in a
    /// film that ends with a pause, but nothing confirms it.
    case tail
  }

  /// The samples of each track, by its ID.
  private(set) var runs: [UInt32: Run] = [:]
  /// The ranges of the media data of each track of video and sound, one for each fragment, in their order. They are kept
  /// apart from ``runs``, which are copied.
  private(set) var places: [UInt32: [Range<Int64>]] = [:]
  /// The runs of samples of each track but those of sound, in their order.
  private(set) var sampleRuns: [UInt32: [SampleRun]] = [:]
  private(set) var faults: Set<Fault> = []
  /// Whether samples of the last fragment are beyond the end of the file.
  private(set) var endsBeyondFile = false
  /// Whether all of them are in the file, according to all of its tables.
  private(set) var endsWithin = false
  private struct Skew: Hashable {
    let start: Double
    let later: Double
  }

  /// The seconds that all tracks leave out together, as a live recording does that lost its connection. They are part
  /// of the duration.
  private(set) var pause = 0.0

  /// The most seconds of a gap between two fragments of a track, or of a step back, that may be rounding.
  private static let jump = 0.5
  /// How far tracks may drift apart from one fragment to another, in seconds.
  fileprivate static let drift = 0.5
  /// Over so few steps, frames that do not end with their fragments are no drift.
  private static let driftSteps = 8
  /// The most durations of samples that are told apart.
  fileprivate static let mostSteps = 4096
  private static let mostBoxes = 1024

  /// When the first track begins in each fragment that another one is in, too, and how much later the other begins
  /// there, by the ID of the other, in seconds.
  private var skews: [UInt32: [Skew]] = [:]
  private let chosen: Set<UInt32>

  /// A `moof` and the media data that follows it before the next one.
  struct Part: Hashable {
    let box: ISOBox
    /// The bytes within the `mdat` boxes behind it.
    var media: Int64 = 0
    /// How many of these are beyond the end of the file.
    var missing: Int64 = 0
    /// Where the contents of the last of these boxes begin; nil without one.
    var lastMedia: Int64?
  }

  /// - Parameters:
  ///   - movie: the `moov` box.
  ///   - mediaBefore: the bytes of media data before the first fragment.
  ///   - holdsAll: whether the media data contains nothing but samples.
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
    // There is media data to which no table refers.
    if mediaBefore > 0, runs.values.allSatisfy({ $0.samples == 0 }) { faults.insert(.bytes) }
    for part in parts { take(part, of: file, holdsAll: holdsAll) }
    takePauses()
    // Slow pictures may begin up to their own step before or after the sound of their fragment.
    let slowest = chosen.compactMap { runs[$0] }.map { Double($0.ordinaryStep) / Double($0.scale) }.max() ?? 0
    if skews.values.contains(where: { Self.isDrift($0, beyond: max(Self.drift, 2 * slowest)) }) {
      faults.insert(.pace)
    }
    // What is neither seen nor heard, such as a subtitle, lasts for as long as its writer wants.
    if chosen.contains(where: { runs[$0].map { $0.hasOddDefault || $0.hasOddStart } ?? false }) {
      faults.insert(.pace)
    }
    if tracks.contains(where: { $0.isSeenOrHeard && $0.timescale == nil }) { faults.insert(.pace) }
    let sounds = tracks.filter { $0.handler == "soun" }.compactMap(\.id)
    if sounds.contains(where: { runs[$0]?.hasLongSample ?? false }) { faults.insert(.pace) }
    let heard = sounds.compactMap { runs[$0] }.map(\.length).max() ?? 0
    if heard > 0, chosen.contains(where: { runs[$0]?.outlasts(heard) ?? false }) { faults.insert(.pace) }
    let heardUntil = sounds.compactMap { runs[$0]?.seconds.last?.upperBound }.max()
    if chosen.contains(where: { runs[$0]?.hasOddEnd(beside: heardUntil) ?? false }) { faults.insert(.tail) }
  }

  /// Reads `trex` (8.8.3): how long a sample lasts, and how large it is, if its fragment does not say.
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
      let start = fragment.base ?? run.next
      var even = run.even
      even.begin(at: start)
      let told = fragment.samples(
        even, defaultStep: run.defaultStep, defaultSize: run.defaultSize, moof: part.box.start,
        behind: behind, of: file)
      guard let told else {
        faults.insert(.shape)
        continue
      }
      if !run.isSound { sampleRuns[fragment.id, default: []] += told.runs }
      if chosen.contains(fragment.id), let start = told.dataStart, start >= 0, start < told.dataEnd {
        places[fragment.id, default: []].append(start..<told.dataEnd)
      }
      bytes = bytes.addingClamped(told.bytes)
      (behind, furthest) = (told.dataEnd, max(furthest, told.dataEnd))
      guard told.count > 0 else { continue }
      let isApart = run.isApart(from: start, told.steps, jump: Self.jump)
      if isApart, runs[fragment.id]?.pause(until: start) != true, chosen.contains(fragment.id) {
        faults.insert(.pace)
      }
      // After a pause nothing confirms the steps before it.
      runs[fragment.id]?.add(
        told, at: start, isConfirmed: fragment.base != nil && !isApart, jump: Self.jump)
      spans.append((fragment.id, (Double(start) + (run.shift ?? 0)) / Double(run.scale)))
    }
    // Media data that claims more bytes than the file has hides the fragments behind it.
    if part.missing > 0, Self.isFragment(file, at: furthest) { faults.insert(.bytes) }
    endsBeyondFile = bytes > part.media && furthest > file.size
    endsWithin =
      bytes <= part.media - part.missing && furthest <= file.size
      && faults.isDisjoint(with: [.shape, .track])
    // What a decryptor needs is small beside what it decrypts.
    let isLeftOut = part.lastMedia.map { furthest <= $0 } ?? false || bytes < part.media / 2
    if part.missing == 0, holdsAll ? bytes != part.media : isLeftOut, !endsBeyondFile {
      faults.insert(.bytes)
    }
    compare(spans)
  }

  /// Decides whether gaps are pauses: they are if the clock only steps ahead, and in all tracks at once. Otherwise
  /// the clock is wrong.
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

  /// Notes when the tracks in a fragment begin. When they end is told by the next fragment, as any of them may be the
  /// last to end.
  private mutating func compare(_ spans: [(id: UInt32, start: Double)]) {
    let own = spans.filter { chosen.contains($0.id) }
    guard own.count > 1, let first = own.first, Set(own.map(\.id)).count == own.count else { return }
    for other in own.dropFirst() {
      skews[other.id, default: []].append(Skew(start: first.start, later: other.start - first.start))
    }
  }

  /// Whether tracks drift apart, as they do if the clock of one is wrong: steadily. A writer that waits for pictures
  /// may write sound far ahead of them, but only in some fragments, and others make up for it.
  private static func isDrift(_ skews: [Skew], beyond drift: Double) -> Bool {
    let steps = min(skews.count - 1, driftSteps)
    guard steps > 1, let first = skews.first, let last = skews.last,
      case let drifted = last.later - first.later, abs(drifted) > drift,
      abs(last.later) > abs(first.later) || abs(last.later) > drift && last.later.sign != first.later.sign
    else { return false }
    let some = (0...steps).map { skews[$0 * (skews.count - 1) / steps] }
    // A single jump is no drift.
    let changes = zip(some, some.dropFirst()).map { $1.later - $0.later }
    let rest = drifted - (changes.max { abs($0) < abs($1) } ?? 0)
    guard steps < 4 || abs(rest) > drift && rest.sign == drifted.sign else { return false }
    let rates = zip(some, some.dropFirst()).filter { $0.start < $1.start }
      .map { ($1.later - $0.later) / ($1.start - $0.start) }.sorted()
    guard !rates.isEmpty else { return false }
    // The median; of an even number, both in the middle.
    return [rates[(rates.count - 1) / 2], rates[rates.count / 2]].allSatisfy {
      let steady = $0 * (last.start - first.start)
      return abs(steady) > drift && steady.sign == drifted.sign
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

  /// - Parameter isConfirmed: whether the fragment itself says that it begins where the one before ends.
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
    } else if isConfirmed, samples > 0, abs(gap) <= jump * Double(scale) {
      gaps += start - next
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

  /// Extends the last sample until the next fragment begins. Its writer did not know yet how long it lasts, and wrote
  /// that it takes no time.
  ///
  /// - Parameter untold: the number of samples that take no time.
  private mutating func endLast(at start: Int64, of untold: Int64) {
    let step = start - next
    steps[0] = untold > 1 ? untold - 1 : nil
    note(step, 1)
    ticks = ticks &+ step
    stretches[stretches.count - 1].end = max(stretches[stretches.count - 1].end, start)
  }

  /// Whether a fragment that begins here does not follow the one before. A clock that restarts is a different case.
  ///
  /// - Parameter told: the steps of its samples. The writer may not have known how long the sample before it is
  ///   shown; that is assumed to last as long as others.
  fileprivate func isApart(from start: Int64, _ told: [Int64: Int64], jump: Double) -> Bool {
    guard let last = stretches.last, last.end == next else { return false }
    let gap = abs(Double(start) - Double(next)) / Double(scale)
    if gap > jump, start <= lastStart { return false }
    // What follows is slow, and has the same result for a small gap.
    guard gap > 0.1 else { return false }
    let usual = [steps, told].flatMap { $0.filter { $0.value > 1 }.keys }.max() ?? 0
    return gap > max(0.1, 1.5 * Double(max(usual, ordinaryStep)) / Double(scale))
  }

  /// Takes the time until the next fragment begins for a pause. Returns false if it can't be one.
  fileprivate mutating func pause(until start: Int64) -> Bool {
    let (from, to) = (Double(next) / Double(scale), Double(start) / Double(scale))
    guard to > from, to - from <= PacketExtent.Jump.longestPause, pauses.count < PacketExtent.mostStretches
    else {
      return false
    }
    pauses.append(from...to)
    return true
  }

  /// Whether another track pauses together with this one, although their fragments may end up to a second apart.
  fileprivate func pauses(like other: Self) -> Bool {
    pauses.count == other.pauses.count
      && zip(pauses, other.pauses).allSatisfy {
        abs($0.lowerBound - $1.lowerBound) <= 2 * MovieFragments.drift
          && abs($0.upperBound - $1.upperBound) <= 2 * MovieFragments.drift
      }
  }

  fileprivate var stepsBack: Bool { zip(stretches, stretches.dropFirst()).contains { $1.start < $0.end } }

  /// Joins stretches that are separated by pauses. What is further away remains another stretch.
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

  /// Whether a fragment gives several samples a step that nothing else confirms, and that is far from those of the
  /// others.
  fileprivate var hasOddDefault: Bool {
    // What the last fragment says about itself does not confirm it.
    let before = Self.ordinary(steps.merging(lastSteps) { $0 - $1 })
    func isOdd(_ step: Int64, beside ordinary: Int64) -> Bool {
      ordinary > 0 && (2 * step > 3 * ordinary || 3 * step < 2 * ordinary)
    }
    let ordinary = ordinaryStep
    return commonSteps.contains { isOdd($0, beside: ordinary) }
      || lastCommonSteps.contains { isOdd($0, beside: before > 0 ? before : ordinary) }
  }

  var length: Double { Double(ticks) / Double(scale) }

  /// The ticks by which the presentation outlasts the end by decoding times. If pictures are reordered, the last ones
  /// may be shown later than in decoding order, by as much as they are apart.
  private var tail: Int64 {
    let limits = -Int64(1 << 61)...Int64(1 << 61)
    guard let lastShown, let end = stretches.last?.end, limits.contains(lastShown), limits.contains(end)
    else { return 0 }
    // The step of a sample is the time until the next one is decoded; for the very last one it is what the writer
    // knows about the end. If another picture is decoded last, its step may be a pause before the one shown last
    // (x264 as FFmpeg 6.1 writes it).
    let step = isLastShownLast ? lastStep : min(lastStep, usualStep)
    return max(0, lastShown + step - (firstOffset ?? 0) - end)
  }

  /// The ticks by which the last sample of a sound lasts longer than the others. A picture may stay longer, but a
  /// frame of sound does not.
  private var excess: Int64 {
    let ordinary = ordinaryStep
    return isSound && samples >= 8 && ordinary > 0 && lastStep / 2 > ordinary && next == stretches.last?.end
      ? lastStep - ordinary : 0
  }

  /// Whether the sample that is shown last comes far later than the others, and only its own time says so: no sound
  /// lasts until then.
  fileprivate func hasOddEnd(beside heard: Double?) -> Bool {
    let isLong = Double(tail) > max(0.5 * Double(scale), 8 * Double(usualStep))
    guard isLong, let end = seconds.last?.upperBound else { return false }
    return heard.map { end - $0 > MovieFragments.drift } ?? true
  }

  private var hasLongTail: Bool { Double(tail) > max(0.1 * Double(scale), 1.5 * Double(usualStep)) }

  /// The longest step that several samples have.
  private var usualStep: Int64 { max(steps.filter { $0.value > 1 }.keys.max() ?? 0, ordinaryStep) }

  /// Whether the track lasts far longer than another one because of a single sample that nothing confirms.
  fileprivate func outlasts(_ other: Double) -> Bool {
    hasLongSample && length - other > Double(max(longest, lastLongest)) / Double(scale) / 2
  }

  /// Whether the first sample waits to be shown for longer than any decoder reorders pictures (ITU-T H.264, A.3.1).
  fileprivate var hasOddStart: Bool { firstOffsetBeyond / 16 > max(1, ordinaryStep) }

  /// Whether one sample lasts more than eight times as long as the others, and nothing confirms it. The first one of
  /// sound may last until the pictures begin; one before a short gap in a live stream lasts until the stream
  /// continues.
  fileprivate var hasLongSample: Bool {
    let (ordinary, most) = (ordinaryStep, max(longest, lastLongest))
    return ordinary > 0 && most / 8 > ordinary && Double(most) > MovieFragments.drift * Double(scale)
  }

  private mutating func note(_ step: Int64, _ count: Int64) {
    if steps[step] != nil || steps.count < MovieFragments.mostSteps { steps[step, default: 0] += count }
  }

  /// The stretches in seconds, each from when its first sample is shown. What an edit list puts before zero is
  /// hidden, except in stretches after a restart.
  var seconds: [ClosedRange<Double>] {
    // Divided only once, so that a whole number of seconds stays exact.
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

  /// The samples per second. All but the first one, and the last one of each stretch, may be equally long; then their
  /// step counts.
  var rate: TrackPresentation.Rate? {
    guard ticks > 0, samples > 0, samples < 1 << 31 else { return nil }
    let odd = steps.filter { $0.key != ordinaryStep }
    let mayBeginLonger = samples > SampleTimes.telling && odd.keys.allSatisfy { $0 / 2 < ordinaryStep }
    let others = odd.values.reduce(0, +) - (mayBeginLonger ? 1 : 0)
    if others <= max(1, stretches.count), ordinaryStep > 0, !hasLongTail {
      return TrackPresentation.Rate(samples: scale, ticks: ordinaryStep)
    }
    let shown = max(1, ticks.addingClamped(tail).addingClamped(gaps))
    return TrackPresentation.Rate(samples: samples * scale, ticks: shown)
  }

  /// The samples per second, if all lasted as long as the usual one.
  var ordinaryRate: Double? { ordinaryStep > 0 ? Double(scale) / Double(ordinaryStep) : nil }

  /// The seconds that each sample lasts, if they come evenly and their times are rounded; otherwise nil.
  var evenStep: ClosedRange<Double>? { even.seconds }

  /// The seconds that all samples but a few last; nil if there is no such step, or there are few samples.
  var steadySeconds: Double? {
    let step = ordinaryStep
    guard step > 1, samples >= 8, samples - steps[step, default: 0] <= samples / 10 else { return nil }
    return Double(step) / Double(scale)
  }

  fileprivate var ordinaryStep: Int64 { Self.ordinary(steps) }

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
    var runs: [SampleRun] = []
    var steps: [Int64: Int64] = [:]
    /// Where the media data of the first samples begins, and that of the last ones ends.
    var dataStart: Int64?
    var dataEnd: Int64
    /// How long the very first sample lasts, and the last one.
    var firstStep: Int64?
    var lastStep: Int64 = 0
    /// The steps of all fragments up to this one.
    var even: EvenSteps
    var commonSteps: Set<Int64> = []
    var firstOffset: Int64?
    /// The offsets of the other samples, from the least to the greatest.
    var otherOffsets: ClosedRange<Int64>?
    /// When the last sample is shown, relative to when the first one is decoded; nil without offsets.
    var lastShown: Int64?
    var isLastShownLast = false
  }

  var id: UInt32 { header.id }
  /// When its first sample is decoded, in ticks of the track; nil if it follows the one before.
  private(set) var base: Int64?
  private let header: Header
  private var runs: [ISOBox] = []

  /// The track fragment header, `tfhd` (8.8.7).
  private struct Header {
    let id: UInt32
    /// The position from which the places of its media data are counted; nil if none is stated.
    var origin: Int64?
    var startsAtFragment = false
    var step: Int64?
    var size: Int64?
  }

  /// The flags that are defined.
  private static let headerFlags = 0x03_003B

  /// Returns nil without a header, or if that is not as long as its flags say.
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

  /// Returns the samples; nil if a table is not as long as it says.
  ///
  /// - Parameters:
  ///   - even: the steps of the track up to here.
  ///   - moof: where the fragment begins.
  ///   - behind: where the media data of the track before this one ends.
  func samples(
    _ even: EvenSteps, defaultStep: Int64, defaultSize: Int64, moof: Int64, behind: Int64,
    of file: some ByteReading
  ) -> Samples? {
    let origin = header.origin ?? (header.startsAtFragment ? moof : behind)
    var found = Samples(dataEnd: origin, even: even)
    for run in runs {
      let before = found.bytes
      let start = SampleRunTable.offset(in: run, file).map { origin.addingClamped($0) } ?? found.dataEnd
      let (step, size) = (header.step ?? defaultStep, header.size ?? defaultSize)
      guard let table = SampleRunTable(run, of: file), Self.add(table, step, size, of: file, to: &found)
      else {
        return nil
      }
      found.runs.append(SampleRun(start: start, size: size, table: table))
      found.dataStart = found.dataStart ?? start
      found.dataEnd = start.addingClamped(found.bytes - before)
    }
    return found
  }

  private static func add(
    _ run: SampleRunTable, _ step: Int64, _ size: Int64, of file: some ByteReading, to found: inout Samples
  ) -> Bool {
    let count = Int64(run.count)
    found.count += count
    var time = found.ticks
    if !run.hasSteps {
      found.note(step, count)
      if count > 1 { found.commonSteps.insert(step) }
    }
    if !run.hasSizes { found.bytes += count * size }
    guard run.hasSteps || run.hasSizes || run.hasOffsets else { return true }
    guard let table = run.rows(run.count, of: file) else { return false }
    table.withUnsafeBytes { bytes in
      func number(_ place: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
      }
      for row in stride(from: 0, to: table.count, by: run.width) {
        if run.hasSteps { found.note(Int64(number(row)), 1) }
        if run.hasSizes { found.bytes += Int64(number(row + run.sizePlace)) }
      }
      guard run.hasOffsets else { return }
      for row in stride(from: 0, to: table.count, by: run.width) {
        let offset = Int64(Int32(bitPattern: number(row + run.width - 4)))
        found.note(offset: offset, at: time)
        time = time &+ (run.hasSteps ? Int64(number(row)) : step)
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

  /// Returns how long the longest sample lasts, without the first one if requested.
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
  /// Returns how far a number is from the range.
  fileprivate func distance(to number: Int64) -> Int64 {
    Swift.max(lowerBound - number, number - upperBound, 0)
  }
}
