/// A place between two effects on a disk, right after the one that it is named for. A debug build can be told to
/// fail there, by `REEL_FAILPOINT` (docs/publish.md); a release build passes by.
package enum Failpoint: Sendable, CaseIterable {
  // The file that says who is alive.
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
  /// A part of the bytes, or all of them.
  case bytesWritten
  case bytesCopied
  case temporarySynced
  case objectNamed
  case objectReplaced
  case temporaryRemoved
  case folderSynced
  case objectRemoved

  // The catalog: its making and its end.
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

  // What is written within a commit, and (`…Committed`) after the commit that holds it.
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
  /// A name is given up for good, and what it names is about to be removed.
  case giveUpCommitted
  case changeWritten
  case changeCommitted
  /// What a move may store is written down.
  case changeNoted
  /// A store has what the change makes of its objects.
  case changeCarriedOut
  case changeFinished
  case changeFinishedCommitted
  /// What a moved post has left has gone.
  case changeCleared
  case changeTold
  case changeStruckOut
  /// The doctor has come upon an object of a removed post.
  case changeRemovedFound
  case toldWritten
  case ownerRetired
  case retireCommitted

  /// The process has come here. What is armed for this place happens now.
  /// - Throws: what is armed, as if the effect before had failed; nothing in a release build.
  @inline(__always)
  package func reach() throws(SystemError) {
    #if DEBUG
      try ArmedFailpoint.ofThisProcess.reach("\(self)")
    #endif
  }

  /// The same where nothing can fail: an armed error has no effect.
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

  /// What `REEL_FAILPOINT=NAME[:N]=EFFECT` asks for, at the Nth time that the process comes to that place, once:
  /// `crash` (at once, as `kill -9`), `stop` (until SIGCONT), `delay:MS`, or `error:ERRNO` (EIO without a number).
  ///
  /// `REEL_DIE_AT=NAME[:N]` is the same as `NAME[:N]=crash`. To the file that `REEL_FAILPOINTS_SEEN` names, every
  /// place that is reached is added, a line each.
  package final class ArmedFailpoint: Sendable {
    private enum Effect {
      case crash, stop
      case delay(milliseconds: UInt32)
      case error(Int32)

      init?(_ text: Substring) {
        let parts = text.split(separator: ":")
        let number = parts.count > 1 ? Int32(parts[1]) : nil
        switch parts.first {
        case "crash": self = .crash
        case "stop": self = .stop
        case "delay": self = .delay(milliseconds: UInt32(clamping: number ?? 100))
        case "error": self = .error(number ?? EIO)
        default: return nil
        }
      }
    }

    /// One for the process, as its environment is; read once and never changed.
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

    /// The process has come to the place of that name.
    package func reach(_ place: String) throws(SystemError) {
      if seen >= 0 {
        let line = Array((place + "\n").utf8)
        _ = write(seen, line, line.count)
      }
      guard let effect, place == name else { return }
      guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
      switch effect {
      case .crash: kill(getpid(), SIGKILL)
      // To this thread: one to the process may be taken by another, and this one goes on for a while.
      case .stop: raise(SIGSTOP)
      case .delay(let milliseconds):
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        // To its end: this thread may be the one that a signal is given to.
        while ContinuousClock.now < end { usleep(min(milliseconds, 10) * 1000) }
      case .error(let code): throw SystemError(code: code, call: place)
      }
    }

    private static func variable(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }
    }
  }
#endif
