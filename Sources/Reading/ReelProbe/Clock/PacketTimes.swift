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

  /// What comes after, on a clock of its own.
  mutating func append(_ other: PacketTimes) {
    stretches += other.stretches
    count += other.count
  }
}
