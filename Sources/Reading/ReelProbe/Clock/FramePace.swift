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
  /// How many of them are half as long again as the ordinary one, or longer.
  private let longSteps: Int

  /// Frames that are looked at where there is no other need to read so far.
  static let sample = 128

  /// - Parameters:
  ///   - times: when frames are shown, in any order.
  ///   - base: the tick in which they are written.
  ///   - isCut: whether those that were read may end anywhere.
  ///
  /// Nil for fewer than two steps.
  init?(_ times: [Int64], in base: AVRational, isCut: Bool) {
    guard base.num > 0, base.den > 0, times.count > 2 else { return nil }
    var sorted = times.sorted()
    var last: Int64?
    sorted.removeAll { time in
      defer { last = time }
      return time == last
    }
    guard sorted.count > 2, let span = Self.difference(sorted[sorted.count - 1], sorted[0]), span > 0 else {
      return nil
    }
    let tick = Double(base.num) / Double(base.den)
    let step = Self.ordinaryStep(sorted)
    if isCut, zip(times, times.dropFirst()).contains(where: { $0 > $1 }) {
      Self.cutHoles(&sorted, step)
    }
    steps = sorted.count - 1
    precision = tick
    average = Double(steps) / (Double(min(span, sorted[sorted.count - 1] - sorted[0])) * tick)
    ordinary = 1 / (step * tick)
    longSteps = zip(sorted, sorted.dropFirst()).count { Double($1 - $0) > 1.5 * step }
  }

  private init(average: Double, ordinary: Double, precision: Double, steps: Int, longSteps: Int = 0) {
    (self.average, self.ordinary, self.precision, self.steps) = (average, ordinary, precision, steps)
    self.longSteps = longSteps
  }

  /// Whether all but very few frames, behind which there is a gap, come at the ordinary step.
  var isEvenButForFew: Bool { steps >= 10 && (1...max(2, steps / 100)).contains(longSteps) }

  /// As if all came at the ordinary step.
  var even: FramePace {
    FramePace(average: ordinary, ordinary: ordinary, precision: precision, steps: steps)
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
      abs(decoded.ordinary - ordinary) <= 0.02 * ordinary
    else { return self }
    return decoded
  }

  /// Whether the average is another than the ordinary step's.
  var isVariable: Bool { abs(average - ordinary) > 0.02 * ordinary }

  /// Whether `rate` says the same within the precision of the times.
  func agrees(with rate: Rational) -> Bool {
    guard rate.value > 0 else { return false }
    return abs(Double(steps) / rate.value - Double(steps) / average) <= 1.5 * precision
  }

  /// The rate as a fraction: that of `claims` which the times agree with, else the usual one with which they do, else as
  /// exact as the times are.
  func rate(among claims: [Rational]) -> FrameRate? {
    if !isVariable, let agreed = (claims + Self.usual).first(where: agrees) { return FrameRate(agreed) }
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
    (8, 1), (29, 1),
  ].compactMap { Rational($0.0, $0.1) }

  /// The step of frames that come evenly, however their times are rounded and in whatever pattern of film on
  /// television; else the median, as far as the precision of the times goes.
  private static func ordinaryStep(_ sorted: [Int64]) -> Double {
    for frames in 1...longestPattern where sorted.count > 2 * frames {
      let spans = zip(sorted, sorted.dropFirst(frames)).map { $1 - $0 }
      let middle = spans.sorted()[spans.count / 2]
      let slack = 1 + middle / 200
      let even = spans.filter { abs($0 - middle) <= slack }
      if even.count * 50 >= spans.count * 49 {
        return Double(even.reduce(0, +)) / Double(even.count) / Double(frames)
      }
    }
    let steps = zip(sorted, sorted.dropFirst()).map { $1 - $0 }
    let middle = steps.sorted()[steps.count / 2]
    let near = steps.filter { abs($0 - middle) <= 1 }
    return Double(near.reduce(0, +)) / Double(near.count)
  }

  /// Where frames are stored in another order than they are shown in, some that belong before the last ones were not read.
  private static func cutHoles(_ sorted: inout [Int64], _ step: Double) {
    let start = max(3, sorted.count - mostReordered)
    guard start < sorted.count,
      let hole = (start..<sorted.count).first(where: { Double(sorted[$0] - sorted[$0 - 1]) > 1.5 * step })
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
