import CFFmpeg

/// The times of a stream's packets, divided where the clock starts anew or jumps: the time that passes there is no step
/// from one packet to the next.
struct PacketTimes: Hashable {
  private(set) var stretches: [[Int64]]
  /// The total number of times.
  private(set) var count: Int

  init(_ stretches: [[Int64]] = []) {
    self.stretches = stretches
    count = stretches.reduce(0) { $0 + $1.count }
  }

  /// - Parameter anew: whether a new stretch begins.
  mutating func add(_ time: Int64, anew: Bool = false) {
    count += 1
    if anew || stretches.isEmpty { stretches.append([]) }
    stretches[stretches.count - 1].append(time)
  }

  /// Returns the times with stretches joined if another stream continues between them: packets are missing there, and
  /// the time between the stretches is a step.
  ///
  /// - Parameter others: the stretches of the other streams, in seconds.
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

  /// The number of stretches up to which they are joined. A clock that jumps more often means nothing.
  private static let mostJoined = 256

  /// Appends what comes after, on a clock of its own.
  mutating func append(_ other: PacketTimes) {
    stretches += other.stretches
    count += other.count
  }
}
