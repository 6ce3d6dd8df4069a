import CFFmpeg
import ReelCore

/// How fast frames follow one another, by the times at which they are shown.
struct FramePace: Hashable {
  /// Frames a second on average.
  let average: Double
  /// Frames a second if all came at the ordinary step.
  let ordinary: Double
  /// Seconds by which the span of all frames may be wrong, because times are written in whole ticks.
  let precision: Double
  /// Steps that were looked at.
  let steps: Int

  /// By which share the average of frames that come evenly may differ from their step.
  static let tolerance = 0.02
  /// Frames that are looked at where there is no other need to read so far.
  static let sample = 128

  /// - Parameters:
  ///   - times: when frames are shown, in any order.
  ///   - base: the tick in which they are written.
  ///   - isCut: whether those that were read may end anywhere.
  ///
  /// Nil for fewer than two steps.
  init?(_ times: PacketTimes, in base: AVRational, isCut: Bool) {
    guard base.num > 0, base.den > 0 else { return nil }
    var stretches = times.stretches.map(Self.ordered).filter { $0.count > 1 }
    guard stretches.reduce(0, { $0 + $1.count - 1 }) > 1 else { return nil }
    // Where one is so long that it is no time, none is.
    let spans = stretches.compactMap { Self.difference($0[$0.count - 1], $0[0]) }
    guard spans.count == stretches.count else { return nil }
    let grain = Self.grain(of: stretches, in: base)
    if grain > 1 { stretches = stretches.map { times in times.map { ($0 - times[0]) / grain } } }
    let tick = Double(grain) * Double(base.num) / Double(base.den)
    let step = Self.ordinaryStep(stretches)
    if isCut, let last = times.stretches.last, zip(last, last.dropFirst()).contains(where: { $0 > $1 }) {
      Self.cutHoles(&stretches[stretches.count - 1], step)
    }
    let span = stretches.reduce(0.0) { $0 + Double($1[$1.count - 1] - $1[0]) }
    guard span > 0 else { return nil }
    steps = stretches.reduce(0) { $0 + $1.count - 1 }
    precision = tick * Double(stretches.count)
    average = Double(steps) / (span * tick)
    ordinary = 1 / (step * tick)
  }

  /// Ticks between which times lie that are all whole milliseconds apart, on a clock that could tell finer ones: whoever
  /// wrote them had them in milliseconds. 1 for others.
  private static func grain(of stretches: [[Int64]], in base: AVRational) -> Int64 {
    let millisecond = ticksOfMillisecond(in: base)
    let isCoarse = stretches.allSatisfy { times in times.allSatisfy { ($0 - times[0]) % millisecond == 0 } }
    return isCoarse ? millisecond : 1
  }

  /// 1 where a millisecond is no whole number of them.
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

  /// Of frames of which each field was counted.
  var halved: FramePace {
    FramePace(average: average / 2, ordinary: ordinary / 2, precision: precision, steps: max(1, steps / 2))
  }

  /// On a clock that runs so much slower.
  func multiplied(by speed: Double) -> FramePace {
    FramePace(
      average: average * speed, ordinary: ordinary * speed, precision: precision / speed, steps: steps)
  }

  /// The pace of when they are decoded, where that is even and else the same: then the time of showing of some is wrong.
  func unless(_ decoded: FramePace?) -> FramePace {
    guard isVariable, let decoded, !decoded.isVariable,
      abs(decoded.ordinary - ordinary) <= Self.tolerance * ordinary
    else { return self }
    return decoded
  }

  /// Whether the average is another than the ordinary step's.
  var isVariable: Bool { abs(average - ordinary) > Self.tolerance * ordinary }

  /// Whether `rate` says the same within the precision of the times.
  func agrees(with rate: Rational) -> Bool { agrees(rate, with: average) }

  private func agrees(_ rate: Rational, with found: Double) -> Bool {
    guard rate.value > 0 else { return false }
    return abs(Double(steps) / rate.value - Double(steps) / found) <= 1.5 * precision
  }

  /// The rate as a fraction: that of `claims` which the times agree with, else the usual one with which they do, else as
  /// exact as the times are.
  func rate(among claims: [Rational]) -> FrameRate? {
    if !isVariable,
      let agreed = (claims + Self.usual).first(where: agrees)
        // One that is missing, as where a stream was cut, changes the average and no step.
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
  /// Rates that cameras, film and television have; the whole ones first, as most times are in milliseconds.
  private static let usual: [Rational] = [
    (25, 1), (30, 1), (24, 1), (50, 1), (60, 1), (30_000, 1001), (24_000, 1001), (60_000, 1001), (15, 1),
    (12, 1),
    (10, 1), (20, 1), (120, 1), (100, 1), (90, 1), (48, 1), (240, 1), (120_000, 1001), (15_000, 1001), (5, 1),
    (8, 1), (29, 1), (48_000, 1001), (240_000, 1001), (12_000, 1001),
  ].compactMap { Rational($0.0, $0.1) }

  /// The usual rate that is meant where the step of `rate` is rounded, to within so many seconds; nil where there is none.
  static func usualRate(of rate: Rational, within slack: Double) -> Rational? {
    usual.first { abs(1 / $0.value - 1 / rate.value) < slack }
  }

  /// The step of frames that come evenly, however their times are rounded and in whatever pattern of film on
  /// television; else the median, as far as the precision of the times goes.
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

  /// Of some numbers; their sum may be larger than a number can be.
  private static func mean(_ numbers: [Int64]) -> Double {
    numbers.reduce(0.0) { $0 + Double($1) } / Double(numbers.count)
  }

  /// Where frames are stored in another order than they are shown in, some that belong before the last ones were not read.
  private static func cutHoles(_ sorted: inout [Int64], _ step: Double) {
    let start = max(3, sorted.count - mostReordered)
    // So many could not fill a longer one.
    let holes = 1.5 * step...Double(mostReordered) * step
    guard start < sorted.count,
      let hole = (start..<sorted.count).first(where: { holes.contains(Double(sorted[$0] - sorted[$0 - 1])) })
    else { return }
    sorted.removeSubrange(hole...)
  }

  private static let mostReordered = 16

  /// Frames after which a pattern of pulldown begins again.
  private static let longestPattern = 5

  private static func difference(_ later: Int64, _ earlier: Int64) -> Int64? {
    let (step, overflow) = later.subtractingReportingOverflow(earlier)
    return overflow || step > 1 << 52 ? nil : step
  }
}
