import CFFmpeg
import ReelCore

/// The pace at which frames follow one another, by their presentation times.
struct FramePace: Hashable {
  /// The average number of frames per second.
  let average: Double
  /// The number of frames per second if all came at the ordinary step.
  let ordinary: Double
  /// The number of seconds by which the span of all frames may be wrong, because times are whole ticks.
  let precision: Double
  /// The number of steps that were measured.
  let steps: Int

  /// The fraction by which the average rate of evenly spaced frames may differ from that of their ordinary step.
  static let tolerance = 0.02
  /// The number of frames that are read if nothing else requires reading that far.
  static let sample = 128

  /// - Parameters:
  ///   - times: the presentation times of frames, in any order.
  ///   - base: the time base of the times.
  ///   - isCut: whether the frames that were read may end anywhere.
  ///   - beginsAnywhere: whether they may also begin anywhere.
  ///
  /// Nil for fewer than two steps.
  init?(_ times: PacketTimes, in base: AVRational, isCut: Bool, beginsAnywhere: Bool = false) {
    guard base.num > 0, base.den > 0 else { return nil }
    var stretches = times.stretches.map(Self.ordered).filter { $0.count > 1 }
    guard stretches.reduce(0, { $0 + $1.count - 1 }) > 1 else { return nil }
    // If one span is too long to be real, no time is trusted.
    let spans = stretches.compactMap { Self.difference($0[$0.count - 1], $0[0]) }
    guard spans.count == stretches.count else { return nil }
    let grain = Self.grain(of: stretches, in: base)
    if grain > 1 { stretches = stretches.map { times in times.map { ($0 - times[0]) / grain } } }
    let tick = Double(grain) * Double(base.num) / Double(base.den)
    let step = Self.ordinaryStep(stretches)
    func isReordered(_ times: [Int64]?) -> Bool {
      times.map { zip($0, $0.dropFirst()).contains(where: >) } ?? false
    }
    if isCut, isReordered(times.stretches.last) { Self.cutHoles(&stretches[stretches.count - 1], step) }
    if beginsAnywhere, isReordered(times.stretches.first) { Self.cutFirstHoles(&stretches[0], step) }
    let span = stretches.reduce(0.0) { $0 + Double($1[$1.count - 1] - $1[0]) }
    guard span > 0 else { return nil }
    steps = stretches.reduce(0) { $0 + $1.count - 1 }
    precision = tick * Double(stretches.count)
    average = Double(steps) / (span * tick)
    ordinary = 1 / (step * tick)
  }

  /// Returns the ticks of a millisecond if all times are whole milliseconds apart on a clock with finer ticks: their
  /// writer had them in milliseconds. Otherwise returns 1.
  private static func grain(of stretches: [[Int64]], in base: AVRational) -> Int64 {
    let millisecond = ticksOfMillisecond(in: base)
    let isCoarse = stretches.allSatisfy { times in times.allSatisfy { ($0 - times[0]) % millisecond == 0 } }
    return isCoarse ? millisecond : 1
  }

  /// Returns the number of ticks in a millisecond; 1 if it is not a whole number.
  static func ticksOfMillisecond(in base: AVRational) -> Int64 {
    let (ticks, rest) = Int64(base.den).quotientAndRemainder(dividingBy: max(1, 1000 * Int64(base.num)))
    return rest == 0 ? max(1, ticks) : 1
  }

  private static func ordered(_ times: [Int64]) -> [Int64] {
    var last: Int64?
    return times.sorted().filter { time in
      defer { last = time }
      return time != last
    }
  }

  private init(average: Double, ordinary: Double, precision: Double, steps: Int) {
    (self.average, self.ordinary, self.precision, self.steps) = (average, ordinary, precision, steps)
  }

  /// The pace of frames if each of their fields was counted.
  var halved: FramePace {
    FramePace(average: average / 2, ordinary: ordinary / 2, precision: precision, steps: max(1, steps / 2))
  }

  /// Returns the pace on a clock that runs slower by the factor `speed`.
  func multiplied(by speed: Double) -> FramePace {
    FramePace(
      average: average * speed, ordinary: ordinary * speed, precision: precision / speed, steps: steps)
  }

  /// Returns the pace of the decoding times if that is even and otherwise the same: then some presentation times are
  /// wrong. Otherwise returns this pace.
  func unless(_ decoded: FramePace?) -> FramePace {
    guard isVariable, let decoded, !decoded.isVariable,
      abs(decoded.ordinary - ordinary) <= Self.tolerance * ordinary
    else { return self }
    return decoded
  }

  /// Whether the average rate differs from that of the ordinary step.
  var isVariable: Bool { abs(average - ordinary) > Self.tolerance * ordinary }

  /// Whether `rate` agrees with the average within the precision of the times.
  func agrees(with rate: Rational) -> Bool { agrees(rate, with: average) }

  private func agrees(_ rate: Rational, with found: Double) -> Bool {
    guard rate.value > 0 else { return false }
    return abs(Double(steps) / rate.value - Double(steps) / found) <= 1.5 * precision
  }

  /// Returns the rate as a fraction: the one of `claims` that agrees with the times, otherwise the usual rate that
  /// does, otherwise one as exact as the times are.
  func rate(among claims: [Rational]) -> FrameRate? {
    if !isVariable,
      let agreed = (claims + Self.usual).first(where: agrees)
        // A missing frame, as where a stream was cut, changes the average but no step.
        ?? claims.first(where: { agrees($0, with: ordinary) })
    {
      return FrameRate(agreed)
    }
    var reduced = AVRational()
    let seconds = Double(steps) / average
    av_reduce(
      &reduced.num, &reduced.den, Int64(steps) * Self.parts,
      Int64(clamping: (seconds * Double(Self.parts)).rounded()),
      Int64(Self.largestPart))
    return Rational(Int(reduced.num), Int(reduced.den)).map(FrameRate.init)
  }

  private static let parts: Int64 = 90_000
  private static let largestPart = 90_000
  /// The rates that cameras, film and television use. The most common whole ones come first, because most times are in
  /// milliseconds.
  private static let usual: [Rational] = [
    (25, 1), (30, 1), (24, 1), (50, 1), (60, 1), (30_000, 1001), (24_000, 1001), (60_000, 1001), (15, 1),
    (12, 1),
    (10, 1), (20, 1), (120, 1), (100, 1), (90, 1), (48, 1), (240, 1), (120_000, 1001), (15_000, 1001), (5, 1),
    (8, 1), (29, 1), (48_000, 1001), (240_000, 1001), (12_000, 1001),
  ].compactMap { Rational($0.0, $0.1) }

  /// Returns the usual rate whose step is within `slack` seconds of that of `rate`, which was rounded; nil if there is
  /// none.
  static func usualRate(of rate: Rational, within slack: Double) -> Rational? {
    usual.first { abs(1 / $0.value - 1 / rate.value) < slack }
  }

  /// Returns the step of frames that come evenly, whatever the rounding of their times and the pulldown pattern of film
  /// on television; otherwise the median step, as far as the precision of the times goes.
  private static func ordinaryStep(_ stretches: [[Int64]]) -> Double {
    func spans(_ frames: Int) -> [Int64] {
      stretches.flatMap { zip($0, $0.dropFirst(frames)).map { $1 &- $0 } }
    }
    for frames in 1...longestPattern {
      let spans = spans(frames)
      guard spans.count > frames else { break }
      let middle = spans.sorted()[spans.count / 2]
      let slack = 1 + middle / 200
      let even = spans.filter { abs($0 - middle) <= slack }
      if even.count * 50 >= spans.count * 49 {
        return mean(even) / Double(frames)
      }
    }
    let steps = spans(1)
    let middle = steps.sorted()[steps.count / 2]
    let near = steps.filter { abs($0 - middle) <= 1 }
    return mean(near)
  }

  /// Returns the mean of numbers whose sum may overflow an integer.
  private static func mean(_ numbers: [Int64]) -> Double {
    numbers.reduce(0.0) { $0 + Double($1) } / Double(numbers.count)
  }

  /// Removes the frames after a hole near the end: if frames are not stored in display order, some that belong before
  /// the last ones were not read.
  private static func cutHoles(_ sorted: inout [Int64], _ step: Double) {
    let start = max(3, sorted.count - mostReordered)
    guard start < sorted.count,
      let hole = (start..<sorted.count).first(where: { isHole(before: $0, sorted, step) })
    else { return }
    sorted.removeSubrange(hole...)
  }

  /// Removes the frames before a hole near the beginning: some that belong between them were stored before the first
  /// one that was read.
  private static func cutFirstHoles(_ sorted: inout [Int64], _ step: Double) {
    let end = min(mostReordered, sorted.count - 3)
    guard end > 0, let hole = (1...end).last(where: { isHole(before: $0, sorted, step) }) else { return }
    sorted.removeSubrange(..<hole)
  }

  /// Whether frames that were not read may fill the time before a frame.
  private static func isHole(before place: Int, _ sorted: [Int64], _ step: Double) -> Bool {
    (1.5 * step...Double(mostReordered) * step).contains(Double(sorted[place] - sorted[place - 1]))
  }

  private static let mostReordered = 16

  /// The number of frames after which the longest pulldown pattern repeats.
  private static let longestPattern = 5

  private static func difference(_ later: Int64, _ earlier: Int64) -> Int64? {
    let (step, overflow) = later.subtractingReportingOverflow(earlier)
    return overflow || step > 1 << 52 ? nil : step
  }
}
