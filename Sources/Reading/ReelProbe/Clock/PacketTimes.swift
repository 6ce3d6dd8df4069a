import CFFmpeg

/// The times of a stream's packets, apart where the clock starts anew or jumps: what passes there is no step from one packet
/// to the next.
struct PacketTimes: Hashable {
  private(set) var stretches: [[Int64]]
  /// Times in all.
  private(set) var count: Int

  init(_ stretches: [[Int64]] = []) {
    self.stretches = stretches
    count = stretches.reduce(0) { $0 + $1.count }
  }

  /// - Parameter anew: whether another stretch begins.
  mutating func add(_ time: Int64, anew: Bool = false) {
    count += 1
    if anew || stretches.isEmpty { stretches.append([]) }
    stretches[stretches.count - 1].append(time)
  }

  /// As steps what passes between two stretches while one of the other streams goes on: there packets are missing.
  ///
  /// - Parameter others: what they cover, in seconds.
  func withoutPauses(in base: AVRational, others: () -> [ClosedRange<Double>]) -> PacketTimes {
    guard (2...Self.mostJoined).contains(stretches.count), base.num > 0, base.den > 0 else { return self }
    let (others, tick) = (others(), Double(base.num) / Double(base.den))
    var joined: [[Int64]] = []
    for stretch in stretches {
      guard let end = joined.last?.max(), let start = stretch.min(),
        StretchSum.isPause(from: Double(end) * tick, to: Double(start) * tick, others: others)
      else {
        joined.append(stretch)
        continue
      }
      joined[joined.count - 1] += stretch
    }
    return PacketTimes(joined)
  }

  /// A clock that jumps more often means nothing.
  private static let mostJoined = 256

  /// What comes after, on a clock of its own.
  mutating func append(_ other: PacketTimes) {
    stretches += other.stretches
    count += other.count
  }
}
