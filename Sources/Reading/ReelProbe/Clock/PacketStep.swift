/// How long a packet lasts that does not say so itself: as long as most of those before it. Pauses of a recording, in which
/// a picture stays, do not count for that.
package struct PacketStep: Hashable, Sendable {
  /// When the last packets are shown, in their order.
  private var times: [Int64] = []
  /// The step of those before the clock was interrupted.
  private var before: Double?

  /// Steps that are looked at.
  private static let most = 64

  package init() {}

  /// - Parameter isApart: whether what passes between it and the one before is no step.
  package mutating func add(_ time: Int64, isApart: Bool = false) {
    if isApart {
      before = ticks
      times = []
    }
    let place = times.lastIndex { $0 <= time }
    if let place, times[place] == time { return }
    times.insert(time, at: place.map { $0 + 1 } ?? 0)
    if times.count > 2 * Self.most { times.removeFirst(Self.most) }
  }

  /// Nil for fewer than two packets.
  package var ticks: Double? {
    let steps = zip(times, times.dropFirst()).suffix(Self.most).map { Double($1) - Double($0) }.sorted()
    guard !steps.isEmpty else { return before }
    let middle = steps[steps.count / 2]
    // However whole ticks are rounded.
    let near = steps.filter { abs($0 - middle) <= 1 }
    return near.reduce(0, +) / Double(near.count)
  }
}
