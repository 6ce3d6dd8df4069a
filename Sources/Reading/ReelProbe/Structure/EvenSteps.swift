/// Determines whether samples come evenly although their steps differ because times are rounded. Remuxed from a
/// container that counts in milliseconds, 60 pictures a second last 16 or 17 milliseconds each.
struct EvenSteps: Hashable {
  /// The number of steps taken.
  private var count: Int64 = 0
  /// Where the last of them ended, in ticks from the beginning.
  private var time = 0.0
  /// The last step, which is not taken until another one follows: writers may not know how long the last sample
  /// lasts.
  private var pending: Double?
  /// The least and the most that every step may be before rounding, in ticks.
  private var least = 0.0
  private var most = Double.infinity
  /// The shortest and the longest step.
  private var shortest = Double.infinity
  private var longest = 0.0
  /// By how much a time may be off, in ticks.
  private let slack: Double
  private let scale: Double
  /// The time of the first sample, in ticks; nil before there is one.
  private var origin: Int64?

  /// The fewest steps that allow a conclusion.
  private static let telling: Int64 = 8

  /// - Parameter scale: ticks per second.
  init(scale: Int64) {
    self.scale = Double(scale)
    // Two times are rounded, to a tick or to a millisecond, and some writers move the first.
    slack = 1.5 * max(1, self.scale / 1000)
  }

  /// Makes the samples that follow begin at `start`, however long the one before was said to last.
  mutating func begin(at start: Int64) {
    guard let origin else { return self.origin = start }
    if pending != nil { pending = Double(start) - Double(origin) - time }
  }

  mutating func add(_ step: Int64, _ samples: Int64) {
    guard samples > 0 else { return }
    if let pending { take(pending, 1) }
    take(Double(step), samples - 1)
    pending = Double(step)
  }

  private mutating func take(_ step: Double, _ samples: Int64) {
    guard samples > 0 else { return }
    // Of equal steps, the first and the last narrow the range most.
    narrow(step, 1)
    if samples > 1 { narrow(step, Double(samples)) }
    (shortest, longest) = (min(shortest, step), max(longest, step))
    count = count.addingClamped(samples)
    time += step * Double(samples)
  }

  private mutating func narrow(_ step: Double, _ number: Double) {
    let (place, end) = (Double(count) + number, time + step * number)
    least = max(least, (end - slack) / place)
    most = min(most, (end + slack) / place)
  }

  /// What each step is before rounding, in seconds; nil if all are equal, or come unevenly. Steps must be so long
  /// that none of them can be missing.
  var seconds: ClosedRange<Double>? {
    guard count >= Self.telling, shortest < longest, least <= most, least > 2 * slack else { return nil }
    return (least / scale)...(most / scale)
  }
}
