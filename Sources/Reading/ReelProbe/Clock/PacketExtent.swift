import CFFmpeg

/// The stretches of time that a stream's packets cover, in the stream's time base.
///
/// A clock may start again (the cells of a DVD, a stream that was reconnected, files that were joined) or jump ahead; what
/// is shown is then the sum of the stretches.
struct PacketExtent: Hashable {
  /// Packets whose times go on without a jump.
  struct Stretch: Hashable {
    fileprivate(set) var packets = 0
    fileprivate(set) var first = Int64.max
    fileprivate(set) var last = Int64.min
    fileprivate(set) var end = Int64.min
  }

  /// What is no step from one packet to the next any more, in ticks.
  struct Jump: Hashable {
    /// Back by more than this.
    let back: Int64
    /// Ahead by more than this.
    let ahead: Int64
    /// The same where something tells that the clock goes on.
    let pause: Int64

    /// Packets after a pause that may belong before it: pictures that are shown before another one, and build on it, are
    /// stored behind it. None where clocks are of when they are decoded.
    let mostLate: Int

    /// - Parameters: in seconds.
    init(back: Double, ahead: Double, in base: AVRational, isReordered: Bool = false) {
      mostLate = isReordered ? 16 : 0
      let rate = base.num > 0 && base.den > 0 ? Double(base.den) / Double(base.num) : 1
      self.back = Int64(min(1e15, max(1, back * rate)))
      self.ahead = Int64(min(1e15, max(1, ahead * rate)))
      pause = Int64(min(1e15, max(1, Self.longestPause * rate)))
    }

    /// Seconds of a pause that is part of a recording.
    static let longestPause = 6.0 * 3600
  }

  private struct Leap: Hashable {
    /// The last that was shown before.
    let from: Int64
    /// Packets since.
    var packets = 0
  }

  private(set) var stretches: [Stretch] = []
  /// Packets in all.
  private(set) var packets = 0
  /// The time of decoding of the last packet.
  private var before = Int64.min
  /// Where what is shown last stepped ahead by so much that the way back would be a jump.
  private var leap: Leap?
  /// Where packets were left out: how many times, and how much time passed there, in ticks.
  private var gaps = 0
  private var gapTicks = 0.0
  private var step = PacketStep()
  /// The longest that passed from one packet to the next, in ticks.
  private var longestStep = 0.0
  /// Whether the clock once starts anew by a step back.
  private var stepsBack = false
  /// Whether a step that would be a jump elsewhere was a pause.
  private(set) var hasPauses = false
  private let jump: Jump

  /// Stretches that are told apart; in a file with more its clock means nothing.
  static let mostStretches = 10_000

  init(jump: Jump) {
    self.jump = jump
  }

  /// - Parameters:
  ///   - time: when it is shown.
  ///   - decoded: when it is decoded, which goes up from packet to packet; nil when that is not known.
  ///   - isFar: whether packets between it and the one before were left out, so that only a step back is a jump.
  ///   - isPause: whether something tells that a step ahead to it is a pause.
  ///
  /// Gives whether the clock starts anew with it.
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
    if stretches[last].packets > 0, !isFar {
      longestStep = max(longestStep, Double(time) - Double(stretches[last].last))
    }
    step.add(time, isApart: isAnew || isFar)
    stretches[last].packets += 1
    stretches[last].first = min(stretches[last].first, time)
    stretches[last].last = max(stretches[last].last, time)
    let (sum, overflow) = time.addingReportingOverflow(max(0, duration))
    if !overflow { stretches[last].end = max(stretches[last].end, sum) }
    return isAnew
  }

  /// What comes after, on a clock of its own.
  mutating func append(_ other: PacketExtent) {
    stretches += other.stretches.prefix(max(0, Self.mostStretches - stretches.count))
    packets += other.packets
    before = other.before
    gaps += other.gaps
    gapTicks += other.gapTicks
    step = other.step
    stepsBack = stepsBack || other.stepsBack
    hasPauses = hasPauses || other.hasPauses
    longestStep = max(longestStep, other.longestStep)
  }

  private func isJump(to clock: Int64, _ time: Int64, _ isFar: Bool, _ isPause: Bool) -> Bool {
    guard let last = stretches.last?.last else { return false }
    let (step, overflow) = clock.subtractingReportingOverflow(before)
    if step < -jump.back, !overflow { return jump.mostLate == 0 || !goesOn(time, after: last) }
    if overflow { return true }
    // What was decoded before a pause may be shown after it.
    return Double(clock) - Double(max(before, last)) > Double(isPause ? jump.pause : jump.ahead) && !isFar
  }

  /// Whether a packet comes after all others though its clock, which is one of many packets, steps back; or belongs before
  /// a pause whose end was stored first.
  private func goesOn(_ time: Int64, after last: Int64) -> Bool {
    Double(time) - Double(last) >= -Double(jump.back)
      || leap.map { $0.packets < jump.mostLate && time > $0.from } ?? false
  }

  /// Whether a clock that starts anew nowhere, but pauses in between, ends at `claimed` seconds, or begins so long before:
  /// the last packet may stay for as long as another.
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

  /// The stretches in seconds, in their order, without those of which no length can be told: of several packets that are
  /// all of one moment the times were never written.
  ///
  /// - Parameter stated: ticks that a packet lasts which does not say so itself, as the stream's header has it; held
  ///   against those that pass. Nil where it says nothing; such a packet lasts as long as the others do.
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

  /// On average, but for the times that packets are shown for longer than most.
  private var ordinary: Double {
    let steps = stretches.reduce(into: (ticks: 0.0, count: 0)) { sum, stretch in
      sum.ticks += Double(stretch.last) - Double(stretch.first)
      sum.count += stretch.packets - 1
    }
    let count = steps.count - gaps
    let mean = count > 0 ? max(0, steps.ticks - gapTicks) / Double(count) : 0
    return min(mean, step.ticks ?? mean)
  }

  /// Between which moments its last packet may end, in seconds, if that may be shown for as long as any other was.
  func ends(in base: AVRational) -> ClosedRange<Double>? {
    guard base.num > 0, base.den > 0, let last = stretches.last?.last else { return nil }
    let tick = Double(base.num) / Double(base.den)
    return Double(last) * tick...(Double(last) + longestStep) * tick
  }
}

/// How long streams last together, by the stretches that each of them covers.
struct StretchSum: Hashable {
  /// Above 0.
  let seconds: Double
  /// How often the clock starts again or jumps ahead.
  let jumps: Int

  /// - Parameter streams: stretches in seconds, in the order of the file, of each stream, those with the shortest packets
  ///   first. Nil when there are none.
  ///
  /// A pause of one stream while another goes on is no jump.
  init?(_ streams: [[ClosedRange<Double>]]) {
    let joined = streams.enumerated().map { place, own in
      Self.withoutPauses(own, others: streams.enumerated().filter { $0.offset != place }.flatMap(\.element))
    }
    .filter { !$0.isEmpty }
    guard let first = joined.map({ $0[0].lowerBound }).min() else { return nil }
    jumps = (joined.map(\.count).max() ?? 1) - 1
    // The one before others that notices every jump: where several frames share a packet, as those of sound do, the end
    // of a stretch is less certain.
    let sums = joined.map {
      (jumps: $0.count - 1, seconds: $0.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) })
    }
    let jumps = jumps
    let longest =
      jumps == 0 ? sums.map(\.seconds).max() ?? 0 : sums.first { $0.jumps == jumps }?.seconds ?? 0
    // Streams that begin at different times last from the first beginning to the last end.
    let end = joined.compactMap { $0.last?.upperBound }.max() ?? first
    // Streams that have nothing to do with one another, as those of two programs, do not add up.
    let all = end - first
    seconds = jumps == 0 && all <= 2 * longest + 60 ? all : longest
  }

  /// What comes one after the other, each on a clock of its own. Nil for nothing.
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

  /// Whether one of the others goes on between two stretches of a stream, in seconds.
  static func isPause(from end: Double, to start: Double, others: [ClosedRange<Double>]) -> Bool {
    start >= end
      && others.contains { $0.lowerBound <= end + tolerance && $0.upperBound >= start - tolerance }
  }

  /// Seconds that streams beside one another may be apart.
  private static let tolerance = 1.0
}
