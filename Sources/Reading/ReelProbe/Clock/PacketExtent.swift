import CFFmpeg

/// The stretches of time that a stream's packets cover, in the stream's time base.
///
/// A clock may start again (the cells of a DVD, a stream that was reconnected, files that were joined) or jump ahead.
/// The duration is then the sum of the stretches.
struct PacketExtent: Hashable {
  /// Packets whose times continue without a jump.
  struct Stretch: Hashable {
    fileprivate(set) var packets = 0
    fileprivate(set) var first = Int64.max
    fileprivate(set) var last = Int64.min
    fileprivate(set) var end = Int64.min
  }

  /// The limits, in ticks, beyond which a step from one packet to the next is a jump.
  struct Jump: Hashable {
    /// Back by more than this.
    let back: Int64
    /// Ahead by more than this.
    let ahead: Int64
    /// Ahead by more than this, if something shows that the clock continues.
    let pause: Int64

    /// The number of packets after a pause that may belong before it: pictures that depend on one that is shown later
    /// are stored after it. 0 if the clock is that of decoding times.
    let mostLate: Int

    /// Creates the limits; `back` and `ahead` are in seconds.
    init(back: Double, ahead: Double, in base: AVRational, isReordered: Bool = false) {
      mostLate = isReordered ? 16 : 0
      let rate = base.num > 0 && base.den > 0 ? Double(base.den) / Double(base.num) : 1
      self.back = Int64(min(1e15, max(1, back * rate)))
      self.ahead = Int64(min(1e15, max(1, ahead * rate)))
      pause = Int64(min(1e15, max(1, Self.longestPause * rate)))
    }

    /// The longest pause, in seconds, that is part of a recording.
    static let longestPause = 6.0 * 3600
  }

  private struct Leap: Hashable {
    /// The latest presentation time before the step.
    let from: Int64
    /// The number of packets since then.
    var packets = 0
  }

  private(set) var stretches: [Stretch] = []
  /// The total number of packets.
  private(set) var packets = 0
  /// The decoding time of the last packet.
  private var before = Int64.min
  /// The last step ahead of the presentation times so long that the way back would be a jump.
  private var leap: Leap?
  /// How often packets were left out, and how much time passed there in all, in ticks.
  private var gaps = 0
  private var gapTicks = 0.0
  private var step = PacketStep()
  /// The longest step in what was appended, in ticks.
  private var longestAppended = 0.0
  private var longestStep: Double { max(longestAppended, step.longest) }
  /// Whether the clock at some point starts anew with a step back.
  private var stepsBack = false
  /// Whether a step that would otherwise be a jump was a pause.
  private(set) var hasPauses = false
  private let jump: Jump

  /// The number of stretches that are told apart. With more, the clock of a file means nothing.
  static let mostStretches = 10_000

  init(jump: Jump) {
    self.jump = jump
  }

  /// - Parameters:
  ///   - time: the packet's presentation time.
  ///   - decoded: its decoding time, which rises from packet to packet; nil if it is not known.
  ///   - isFar: whether packets between it and the one before were left out, so that only a step back is a jump.
  ///   - isPause: whether something shows that a step ahead to it is a pause.
  ///
  /// Returns whether the clock starts anew with it.
  @discardableResult mutating func add(
    _ time: Int64, decoded: Int64? = nil, lasting duration: Int64, isFar: Bool = false, isPause: Bool = false
  ) -> Bool {
    packets += 1
    let clock = decoded ?? time
    let isAnew = isJump(to: clock, time, isFar, isPause) && stretches.count < Self.mostStretches
    if isPause, !isAnew, isJump(to: clock, time, isFar, false) { hasPauses = true }
    if isAnew, clock < before { stepsBack = true }
    if isAnew || stretches.isEmpty {
      stretches.append(Stretch())
    } else if isFar {
      gaps += 1
      gapTicks += Double(clock) - Double(before)
    }
    let last = stretches.count - 1
    leap?.packets += 1
    if isAnew {
      leap = nil
    } else if stretches[last].packets > 0, Double(time) - Double(stretches[last].last) > Double(jump.back) {
      leap = Leap(from: stretches[last].last)
    }
    before = clock
    step.add(time, isApart: isAnew || isFar)
    stretches[last].packets += 1
    stretches[last].first = min(stretches[last].first, time)
    stretches[last].last = max(stretches[last].last, time)
    let (sum, overflow) = time.addingReportingOverflow(max(0, duration))
    if !overflow { stretches[last].end = max(stretches[last].end, sum) }
    return isAnew
  }

  /// Notes that the last stretch ends at this time or later.
  mutating func extend(to end: Int64) {
    guard !stretches.isEmpty else { return }
    stretches[stretches.count - 1].end = max(stretches[stretches.count - 1].end, end)
  }

  /// Appends what comes after, on a clock of its own.
  mutating func append(_ other: PacketExtent) {
    stretches += other.stretches.prefix(max(0, Self.mostStretches - stretches.count))
    packets += other.packets
    before = other.before
    gaps += other.gaps
    gapTicks += other.gapTicks
    longestAppended = max(longestStep, other.longestStep)
    step = other.step
    stepsBack = stepsBack || other.stepsBack
    hasPauses = hasPauses || other.hasPauses
  }

  private func isJump(to clock: Int64, _ time: Int64, _ isFar: Bool, _ isPause: Bool) -> Bool {
    guard let last = stretches.last?.last else { return false }
    let (step, overflow) = clock.subtractingReportingOverflow(before)
    if step < -jump.back, !overflow { return jump.mostLate == 0 || !goesOn(time, after: last) }
    if overflow { return true }
    // What was decoded before a pause may be shown after it.
    return Double(clock) - Double(max(before, last)) > Double(isPause ? jump.pause : jump.ahead) && !isFar
  }

  /// Whether the clock continues although the decoding time, which many packets share, steps back: the packet is shown
  /// after all others, or belongs before a pause whose end was stored first.
  private func goesOn(_ time: Int64, after last: Int64) -> Bool {
    Double(time) - Double(last) >= -Double(jump.back)
      || leap.map { $0.packets < jump.mostLate && time > $0.from } ?? false
  }

  /// Whether the stream ends at `claimed` seconds, or lasts that long, if its clock never starts anew but pauses. The
  /// last packet may stay for as long as another.
  func mayEndWithPauses(at claimed: Double, in base: AVRational) -> Bool {
    guard base.num > 0, base.den > 0, !stepsBack, let first = stretches.first?.first,
      let last = stretches.map(\.last).max()
    else { return false }
    let tick = Double(base.num) / Double(base.den)
    let pauses = zip(stretches, stretches.dropFirst()).map { Double($1.first) - Double($0.last) }
    let longest = max(0, pauses.max() ?? 0) * tick
    let slack = max(0.1, claimed * 0.01)
    return [Double(last) * tick, (Double(last) - Double(first)) * tick].contains { end in
      claimed >= end - slack && claimed <= end + longest + slack
    }
  }

  /// Returns the stretches in seconds, in their order, without those whose length is unknown: if several packets all
  /// have one time, times were never written.
  ///
  /// - Parameter stated: the number of ticks, by the stream's header, that a packet lasts that does not state its own
  ///   duration. It is ignored if it exceeds the longest step by more than a tick. Nil if the header states none; such
  ///   a packet lasts as long as the others do.
  func seconds(in base: AVRational, stated: Double? = nil) -> [ClosedRange<Double>] {
    guard base.num > 0, base.den > 0 else { return [] }
    let tick = Double(base.num) / Double(base.den)
    let lasting = stated.flatMap { $0 <= longestStep + 1 ? $0 : nil } ?? ordinary
    return stretches.compactMap { stretch in
      guard stretch.packets == 1 || stretch.last > stretch.first else { return nil }
      let end = stretch.end > stretch.last ? Double(stretch.end) : Double(stretch.last) + lasting
      return (Double(stretch.first) * tick)...(end * tick)
    }
  }

  /// The average step, but no more than that of most packets, which are not shown for longer than others.
  private var ordinary: Double {
    let steps = stretches.reduce(into: (ticks: 0.0, count: 0)) { sum, stretch in
      sum.ticks += Double(stretch.last) - Double(stretch.first)
      sum.count += stretch.packets - 1
    }
    let count = steps.count - gaps
    let mean = count > 0 ? max(0, steps.ticks - gapTicks) / Double(count) : 0
    return min(mean, step.ticks ?? mean)
  }

  /// Returns the range of times, in seconds, at which the last packet may end if it may be shown for as long as any
  /// other.
  func ends(in base: AVRational) -> ClosedRange<Double>? {
    guard base.num > 0, base.den > 0, let last = stretches.last?.last else { return nil }
    let tick = Double(base.num) / Double(base.den)
    return Double(last) * tick...(Double(last) + longestStep) * tick
  }
}

/// The joint duration of streams, by the stretches that each of them covers.
struct StretchSum: Hashable {
  /// The duration in seconds, above 0.
  let seconds: Double
  /// How often the clock starts anew or jumps ahead.
  let jumps: Int

  /// - Parameter streams: the stretches of each stream in seconds, in the order of the file. Streams with the shortest
  ///   packets come first. Nil if there are none.
  ///
  /// A pause of one stream while another continues is no jump.
  init?(_ streams: [[ClosedRange<Double>]]) {
    let joined = streams.enumerated().map { place, own in
      Self.withoutPauses(own, others: streams.enumerated().filter { $0.offset != place }.flatMap(\.element))
    }
    .filter { !$0.isEmpty }
    guard let first = joined.map({ $0[0].lowerBound }).min() else { return nil }
    jumps = (joined.map(\.count).max() ?? 1) - 1
    // Use the first stream that shows every jump: where several frames share a packet, as those of sound do, the end of
    // a stretch is less certain.
    let sums = joined.map {
      (jumps: $0.count - 1, seconds: $0.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) })
    }
    let jumps = jumps
    let longest =
      jumps == 0 ? sums.map(\.seconds).max() ?? 0 : sums.first { $0.jumps == jumps }?.seconds ?? 0
    // Streams that begin at different times last from the first beginning to the last end.
    let end = joined.compactMap { $0.last?.upperBound }.max() ?? first
    // Unrelated streams, such as those of two programs, do not add up.
    let all = end - first
    seconds = jumps == 0 && all <= 2 * longest + 60 ? all : longest
  }

  /// Adds up parts that follow one another, each on a clock of its own. Nil if there are none.
  init?(parts: [StretchSum]) {
    guard !parts.isEmpty else { return nil }
    seconds = parts.reduce(0) { $0 + $1.seconds }
    jumps = parts.reduce(-1) { $0 + $1.jumps + 1 }
  }

  private static func withoutPauses(
    _ own: [ClosedRange<Double>], others: [ClosedRange<Double>]
  ) -> [ClosedRange<Double>] {
    own.reduce(into: []) { joined, stretch in
      guard let before = joined.last,
        isPause(from: before.upperBound, to: stretch.lowerBound, others: others)
      else {
        joined.append(stretch)
        return
      }
      joined[joined.count - 1] = before.lowerBound...max(before.upperBound, stretch.upperBound)
    }
  }

  /// Returns whether one of the others continues between two stretches of a stream. All times are in seconds.
  static func isPause(from end: Double, to start: Double, others: [ClosedRange<Double>]) -> Bool {
    start >= end
      && others.contains { $0.lowerBound <= end + tolerance && $0.upperBound >= start - tolerance }
  }

  /// The number of seconds by which parallel streams may be apart.
  private static let tolerance = 1.0
}
