import CReel
import Glibc
import ReelCore
import Synchronization

/// Disk space for private copies, reserved before they are made, so that several large copies at once do not fill the
/// disk, each with only a part of its bytes. A copy that finds no space waits for others to end.
final class CopyRoom: Sendable {
  /// The one of this process.
  static let shared = CopyRoom()

  private struct State {
    /// The number of copies that hold reserved space.
    var held = 0
    /// When a copy last gave its space back.
    var lastReturn: ContinuousClock.Instant?
  }
  private let state = Mutex(State())
  private let calls = Mutex(())

  /// How long a file system may take to free the space of a deleted file.
  private static let delay = Duration.seconds(5)

  /// The space that one copy holds. It is given back when the copy is deallocated.
  final class Place: Sendable {
    private let room: CopyRoom

    fileprivate init(_ room: CopyRoom) { self.room = room }

    deinit { room.giveBack() }
  }

  /// Reserves `size` bytes for `file`. If there is no space, blocks as long as other copies hold some. So the holder of
  /// a place must not depend on the calling thread to finish: no batch has two copies that take a place.
  /// - Parameters:
  ///   - isCancelled: ends the waiting.
  ///   - reserve: the system call; returns errno, or 0.
  /// - Returns: nil if nothing was reserved: the copy is small, its file system can't do it, or the waiting was
  ///   cancelled.
  /// - Throws: ENOSPC or EDQUOT if no other copy holds any space.
  func take(
    _ size: Int64, for file: Int32, isCancelled: () -> Bool,
    reserve: (Int32, Int64) -> Int32 = { reel_reserve_room($0, off_t($1)) == 0 ? 0 : errno }
  ) throws(SystemError) -> Place? {
    guard size >= PrivateCopy.leastReserved else { return nil }
    while !isCancelled() {
      // One call at a time: while one runs, the space that it may fail to get in the end is missing for others.
      let (error, mayComeBack) = calls.withLock { _ in
        let error = reserve(file, size)
        return state.withLock { state in
          if error == 0 { state.held += 1 }
          let isRecent = state.lastReturn.map { ContinuousClock.now - $0 < Self.delay } ?? false
          return (error, state.held > 0 || isRecent)
        }
      }
      if error == 0 { return Place(self) }
      guard error == ENOSPC || error == EDQUOT else { return nil }
      guard mayComeBack else { throw SystemError(code: error, call: "fallocate") }
      usleep(50_000)
    }
    return nil
  }

  private func giveBack() { state.withLock { ($0.held, $0.lastReturn) = ($0.held - 1, .now) } }
}
