import ReelCore
import Testing

@testable import ReelProbe

/// Steps that differ only because timestamps were rounded, and steps that are truly uneven.
struct EvenStepsTests {
  private func even(_ times: [Int64], scale: Int64 = 1000) -> ClosedRange<Double>? {
    var steps = EvenSteps(scale: scale)
    for (time, next) in zip(times, times.dropFirst()) { steps.add(next - time, 1) }
    return steps.seconds
  }

  private func times(_ count: Int, every step: Double, scale: Int64 = 1000) -> [Int64] {
    (0..<count).map { Int64((Double($0) * step * Double(scale)).rounded()) }
  }

  @Test(arguments: [24_000 / 1001, 60_000 / 1001, 60, 120, 144, 240] as [Double], [12, 100, 5000])
  func roundedTimesAreEven(rate: Double, count: Int) throws {
    let found = try #require(even(times(count, every: 1 / rate)))
    #expect(found.contains(1 / rate))
    #expect(found.upperBound - found.lowerBound <= 0.003 / Double(count - 2) * 1.01)
    // Remuxed with a finer tick.
    let finer = times(count, every: 1 / rate).map { $0 * 16 }
    #expect(even(finer, scale: 16_000)?.contains(1 / rate) == true)
    // A writer need not know the duration of the last frame.
    #expect(even(times(count, every: 1 / rate) + [1 << 40])?.contains(1 / rate) == true)
  }

  @Test func unevenTimesAreNot() {
    let plain = times(200, every: 1 / 60.0)
    #expect(even(plain.enumerated().filter { $0.offset % 10 != 5 }.map(\.element)) == nil)
    #expect(even(plain.filter { $0 < 1000 || $0 > 1100 }) == nil)
    // Half of them slightly faster, half slightly slower, in stretches of one second.
    #expect(even(times(60, every: 1 / 62.5) + times(60, every: 1 / 58.8).map { $0 + 960 }) == nil)
    // A step may be missing, because the ticks are too coarse to tell.
    #expect(even([0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14], scale: 30) == nil)
    // Nothing is rounded; too few frames; no time at all; the longest steps.
    #expect(even(times(100, every: 0.04)) == nil)
    #expect(even(times(8, every: 1 / 60.0)) == nil)
    #expect(even([Int64](repeating: 0, count: 100)) == nil)
    #expect(even([0, .max]) == nil && even([]) == nil)
  }

  @Test func fragmentsGoOnWhereTheyBegin() {
    let times = times(120, every: 1 / 60.0)
    func fragments(late: Int64) -> ClosedRange<Double>? {
      var steps = EvenSteps(scale: 1000)
      for first in stride(from: 0, to: 120, by: 30) {
        steps.begin(at: times[first] + (first > 0 ? late : 0))
        for place in first..<(first + 29) { steps.add(times[place + 1] - times[place], 1) }
        // The last frame of each fragment has a stated duration of zero.
        steps.add(0, 1)
      }
      return steps.seconds
    }
    #expect(fragments(late: 0)?.contains(1 / 60.0) == true)
    #expect(fragments(late: 20) == nil)
  }

  @Test func numbersThatNobodyHasAreNoTrap() {
    var steps = EvenSteps(scale: .max)
    for step in [Int64.max, 0, .max, 1] { steps.add(step, .max) }
    steps.begin(at: .min)
    steps.begin(at: .max)
    steps.add(.max, .max)
    #expect(steps.seconds == nil)
  }
}
