import CReel
import Glibc
import ReelCore
import Synchronization

/// Room on the disk for private copies, taken before they are made: several large ones that are made side by side do not fill
/// the disk, each with a part of what it needs. Who finds none waits for others to end.
final class CopyRoom: Sendable {
  /// The process's.
  static let shared = CopyRoom()

  private struct State {
    /// Copies that have room.
    var held = 0
    /// When one gave it back last.
    var lastReturn: ContinuousClock.Instant?
  }
  private let state = Mutex(State())
  private let calls = Mutex(())

  /// A file system may have room again some time after the file has gone.
  private static let delay = Duration.seconds(5)

  /// What one copy has. It is given back when nobody holds the copy any more.
  final class Place: Sendable {
    private let room: CopyRoom

    fileprivate init(_ room: CopyRoom) { self.room = room }

    deinit { room.giveBack() }
  }

  /// Reserves `size` bytes for `file`. Blocks as long as others have room. So whoever holds a place must not need the calling
  /// thread to end: no batch has two copies that take one.
  /// - Parameters:
  ///   - isCancelled: ends the waiting.
  ///   - reserve: the system call; returns errno, or 0.
  /// - Returns: nil where none was reserved: it is small, its file system can't say, or the waiting was ended.
  /// - Throws: ENOSPC, where nobody else has any.
  func take(
    _ size: Int64, for file: Int32, isCancelled: () -> Bool,
    reserve: (Int32, Int64) -> Int32 = { reel_reserve_room($0, off_t($1)) == 0 ? 0 : errno }
  ) throws(SystemError) -> Place? {
    guard size >= PrivateCopy.leastReserved else { return nil }
    while !isCancelled() {
      // One at a time: while a call takes its time, the room that it may not get in the end is gone for others.
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
