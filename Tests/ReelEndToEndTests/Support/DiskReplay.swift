import Foundation
import ReelTestSupport

/// A record that is replayed on an `ImaginedDisk` up to one cut after the other.
struct DiskReplay {
  private(set) var record: DiskRecord
  /// The disk as far as it has been replayed. The next cut is usually a little later.
  private var played: (disk: ImaginedDisk, steps: Int)?

  init(_ record: DiskRecord) {
    self.record = record
  }

  /// Removes the syncs of matching paths after the first steps, as if the process had not made them.
  mutating func forgetSyncs(after first: Int = 0, _ isForgotten: (String) -> Bool) {
    played = nil
    record.forgetSyncs(after: first, isForgotten)
  }

  /// Leaves what survives a power loss after the first `cut` steps, and returns what had been told by then.
  /// - Parameter new: The disk before the first step. Its root must be empty.
  mutating func cutPower(
    after cut: Int, on new: ImaginedDisk, _ fate: ImaginedDisk.Fate, _ seed: UInt64
  ) throws -> String {
    var (disk, steps) = (new, 0)
    if let played, played.disk.rule == new.rule, played.steps <= cut { (disk, steps) = played }
    for step in record.steps[steps..<cut] { disk.play(step) }
    played = (disk, cut)
    var generator = SplitMix64(seed: seed)
    try disk.leave(fate, &generator)
    return String(decoding: disk.told, as: UTF8.self)
  }
}
