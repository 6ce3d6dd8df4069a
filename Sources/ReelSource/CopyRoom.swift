import CReel
import Glibc
import ReelCore
import Synchronization

/// Room on the disk for private copies, taken before they are made: several large ones that are made side by side do not fill
/// the disk, each with a part of what it needs. Who finds none waits for others to end.
final class CopyRoom: Sendable {
  /// The process's.
  static let shared = CopyRoom()

  /// Smaller copies take what there is: they are not worth a system call.
  private static let smallest: Int64 = 16 << 20
  /// How long others may give nothing back before a copy is given up: they may be waiting, too.
  private static let patience = Duration.seconds(60)

  private struct State {
    /// How many copies have room, by the threads that took it.
    var held: [UInt: Int] = [:]
    var returns = 0
  }
  private let state = Mutex(State())

  /// What one copy has. It is given back when nobody holds the copy any more.
  final class Place: Sendable {
    private let room: CopyRoom
    private let thread: UInt

    fileprivate init(_ room: CopyRoom, _ thread: UInt) { (self.room, self.thread) = (room, thread) }

    deinit { room.giveBack(thread) }
  }

  /// Reserves `size` bytes for `file`. Blocks while others have room and give it back.
  /// - Parameters:
  ///   - isCancelled: ends the waiting.
  ///   - reserve: the system call; returns errno, or 0.
  /// - Returns: nil where none was reserved: it is small, its file system can't say, or the waiting was ended.
  /// - Throws: ENOSPC.
  func take(
    _ size: Int64, for file: Int32, isCancelled: () -> Bool,
    reserve: (Int32, Int64) -> Int32 = { reel_reserve_room($0, off_t($1)) == 0 ? 0 : errno }
  ) throws(SystemError) -> Place? {
    guard size >= Self.smallest else { return nil }
    let thread = UInt(pthread_self())
    var (last, returns) = (ContinuousClock.now, state.withLock { $0.returns })
    while !isCancelled() {
      let error = reserve(file, size)
      if error == 0 {
        state.withLock { $0.held[thread, default: 0] += 1 }
        return Place(self, thread)
      }
      guard error == ENOSPC || error == EDQUOT else { return nil }
      let (now, others, ownCount) = state.withLock {
        ($0.returns, $0.held.contains { $0.key != thread }, $0.held[thread] ?? 0)
      }
      if now != returns { (last, returns) = (.now, now) }
      // Who has room already would keep others waiting.
      guard others, ownCount == 0, ContinuousClock.now - last < Self.patience else {
        throw SystemError(code: error, call: "fallocate")
      }
      usleep(50_000)
    }
    return nil
  }

  private func giveBack(_ thread: UInt) {
    state.withLock { state in
      state.returns += 1
      let left = (state.held[thread] ?? 1) - 1
      state.held[thread] = left == 0 ? nil : left
    }
  }
}
