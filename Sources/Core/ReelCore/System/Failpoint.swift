/// A point between two changes to a disk, just after the change that it is named for. `REEL_FAILPOINT` can make a
/// debug build fail there (docs/publish.md); a release build ignores it.
package enum Failpoint: Sendable, CaseIterable {
  // The file that shows which process is alive.
  case lockFileCreated
  case lockFileLocked
  case lockFileNamed
  case lockFileRemoved
  case deadLockRemoved

  // The folder store.
  case storeFolderMade
  case storeFolderSettled
  case leftoverRemoved
  case uploadBegun
  case temporaryCreated
  /// A part of the bytes, or all of them, was written.
  case bytesWritten
  case bytesCopied
  case temporarySynced
  case objectNamed
  case objectReplaced
  case temporaryRemoved
  case folderSynced
  case objectRemoved

  // Opening and closing the catalog.
  case libraryFolderMade
  case libraryFolderSettled
  case catalogFolderLocked
  case catalogFileMade
  case catalogOpened
  case catalogSchemaWritten
  case catalogMigrated
  case catalogTraceWritten
  case catalogCheckpointed
  case catalogClosed

  // Any commit: before the transaction begins, within it, before its end, after its end.
  case groupBegun
  case groupOpened
  case groupWritten
  case groupCommitted

  // Changes written within a commit, and (`…Committed`) after the commit that contains them.
  case ownerEnlisted
  case leaseRenewed
  case leaseCommitted
  case claimWritten
  case takeOverWritten
  case claimCommitted
  case intentFinished
  case postInserted
  case completeWritten
  case completeCommitted
  case releaseWritten
  /// A name was given up for good, and the object under it is about to be removed.
  case giveUpCommitted
  case changeWritten
  case changeCommitted
  /// What a move may store was recorded.
  case changeNoted
  /// A store holds the result of the change to its objects.
  case changeCarriedOut
  case changeFinished
  case changeFinishedCommitted
  /// The objects that a moved post left behind were removed.
  case changeCleared
  case changeTold
  case changeStruckOut
  /// The doctor has found an object of a removed post.
  case changeRemovedFound
  case toldWritten
  case ownerRetired
  case retireCommitted

  /// Marks that execution has reached this point, and triggers what is armed for it.
  /// - Throws: The armed error, as if the preceding change had failed; nothing in a release build.
  @inline(__always)
  package func reach() throws(SystemError) {
    #if DEBUG
      try ArmedFailpoint.ofThisProcess.reach("\(self)")
    #endif
  }

  /// Marks a point where nothing can fail: an armed error has no effect.
  @inline(__always)
  package func pass() {
    #if DEBUG
      try? ArmedFailpoint.ofThisProcess.reach("\(self)")
    #endif
  }
}

#if DEBUG
  import Glibc
  import Synchronization

  /// The effect that `REEL_FAILPOINT=NAME[:N]=EFFECT` requests, once, when the process reaches that point for the
  /// Nth time: `crash` (at once, as `kill -9`), `stop` (until SIGCONT), `interrupt` (a Ctrl-C, until it has cancelled
  /// the task that is at the point), `delay:MS`, or `error:ERRNO` (EIO without a number).
  ///
  /// `REEL_DIE_AT=NAME[:N]` is short for `NAME[:N]=crash`. Every point that is reached is appended, one per line,
  /// to the file that `REEL_FAILPOINTS_SEEN` names.
  package final class ArmedFailpoint: Sendable {
    private enum Effect {
      case crash, stop, interrupt
      case delay(milliseconds: UInt32)
      case error(Int32)

      init?(_ text: Substring) {
        let parts = text.split(separator: ":")
        let number = parts.count > 1 ? Int32(parts[1]) : nil
        switch parts.first {
        case "crash": self = .crash
        case "stop": self = .stop
        case "interrupt": self = .interrupt
        case "delay": self = .delay(milliseconds: UInt32(clamping: number ?? 100))
        case "error": self = .error(number ?? EIO)
        default: return nil
        }
      }
    }

    /// The failpoint of this process, read once from the environment and never changed.
    package static let ofThisProcess = ArmedFailpoint(
      variable("REEL_FAILPOINT") ?? variable("REEL_DIE_AT").map { $0 + "=crash" },
      seen: variable("REEL_FAILPOINTS_SEEN"))

    private let name: String
    private let effect: Effect?
    private let count: Atomic<Int>
    private let seen: Int32

    private init(_ text: String?, seen: String?) {
      let halves = (text ?? "").split(separator: "=", maxSplits: 1)
      let parts = halves.first?.split(separator: ":") ?? []
      name = parts.first.map(String.init) ?? ""
      effect = halves.count == 2 ? Effect(halves[1]) : nil
      count = Atomic(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
      self.seen = seen.map { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) } ?? -1
    }

    /// Called when the process reaches the point with this name.
    package func reach(_ place: String) throws(SystemError) {
      if seen >= 0 {
        let line = Array((place + "\n").utf8)
        _ = write(seen, line, line.count)
      }
      guard let effect, place == name else { return }
      guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
      switch effect {
      case .crash: kill(getpid(), SIGKILL)
      // Sent to this thread: a signal to the process might be handled by another thread while this one continues
      // for a while.
      case .stop: raise(SIGSTOP)
      case .interrupt:
        kill(getpid(), SIGINT)
        while !Task.isCancelled { usleep(1000) }
      case .delay(let milliseconds):
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        // Sleeps the whole time, even if this thread is interrupted by a signal.
        while ContinuousClock.now < end { usleep(min(milliseconds, 10) * 1000) }
      case .error(let code): throw SystemError(code: code, call: place)
      }
    }

    private static func variable(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }
    }
  }
#endif
