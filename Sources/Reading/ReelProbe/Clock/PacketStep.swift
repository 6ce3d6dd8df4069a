/// The duration of a packet that does not state its own: that of most packets before it. Pauses of a recording, in
/// which a picture stays, do not count.
package struct PacketStep: Hashable, Sendable {
  /// The presentation times of the last packets, in ascending order.
  private var times: [Int64] = []
  /// The step before the clock was interrupted.
  private var before: Double?
  /// The longest step between times that are no longer kept.
  private var longestBefore = 0.0

  /// The number of steps that are used.
  private static let most = 64

  package init() {}

  /// - Parameter isApart: whether the time since the packet before is no step.
  package mutating func add(_ time: Int64, isApart: Bool = false) {
    if isApart {
      before = ticks
      longestBefore = longest
      times = []
    }
    let place = times.lastIndex { $0 <= time }
    if let place, times[place] == time { return }
    times.insert(time, at: place.map { $0 + 1 } ?? 0)
    if times.count > 2 * Self.most {
      longestBefore = max(longestBefore, Self.longest(of: times.prefix(Self.most + 1)))
      times.removeFirst(Self.most)
    }
  }

  /// The longest step from one packet to the one that is shown next, in ticks.
  var longest: Double { max(longestBefore, Self.longest(of: times[...])) }

  private static func longest(of times: ArraySlice<Int64>) -> Double {
    zip(times, times.dropFirst()).map { Double($1) - Double($0) }.max() ?? 0
  }

  /// The duration in ticks; nil for fewer than two packets.
  package var ticks: Double? {
    let steps = zip(times, times.dropFirst()).suffix(Self.most).map { Double($1) - Double($0) }.sorted()
    guard !steps.isEmpty else { return before }
    let middle = steps[steps.count / 2]
    // Steps that differ only by rounding to whole ticks.
    let near = steps.filter { abs($0 - middle) <= 1 }
    return near.reduce(0, +) / Double(near.count)
  }
}
