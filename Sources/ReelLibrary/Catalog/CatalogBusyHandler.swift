import Glibc

/// How a connection waits for another process's transaction.
///
/// SQLite's own way soon asks only every 100 ms, and hardly ever meets the moment between two commits of a
/// busy process. Asking every few milliseconds costs little and finds it.
///
/// As long as the kernel shows that a living process holds the lock, it is waited for: one that was stopped within a
/// commit, or a row of busy ones, is no reason to fail. Who waits for long says so.
struct CatalogBusyHandler: Sendable {
  /// Seconds for which nobody is seen to hold it, and it can't be had all the same.
  let longest: Double
  /// Seconds in all.
  var longestBeside: Double = 600
  /// Who holds it now.
  var holder: @Sendable () -> LockHolder? = { nil }
  /// Told once in each wait that lasts.
  var onWait: @Sendable (LockHolder) -> Void = { _ in }

  /// How many times it asks every millisecond, before it asks every four.
  private static let quickTries = 250
  /// Seconds after which a wait is told.
  private static let telling = 2.0

  /// One wait, from its first try on.
  struct Progress {
    /// Seconds after which somebody was seen to hold the lock.
    var lastSeen = 0.0
    var lastLook = 0.0
    var wasTold = false
  }

  /// Has `connection` wait so.
  func install(on connection: Connection) throws {
    var progress = Progress()
    try connection.whenBusy { tries in
      guard let pause = pause(after: tries, &progress) else { return false }
      usleep(UInt32(pause * 1_000_000))
      return true
    }
  }

  /// Seconds to wait after the try with this number, from 0; nil when it has been long enough.
  func pause(after tries: Int, _ progress: inout Progress) -> Double? {
    if tries == 0 { progress = Progress() }
    let quick = Double(min(tries, Self.quickTries))
    let slow = Double(max(0, tries - Self.quickTries))
    let waited = quick * 0.001 + slow * 0.004
    guard goesOn(after: waited, &progress, beside: holder, onWait) else { return nil }
    return tries < Self.quickTries ? 0.001 : 0.004
  }

  /// Whether a wait that has lasted `waited` seconds goes on.
  func goesOn(
    after waited: Double, _ progress: inout Progress, beside holder: () -> LockHolder?,
    _ onWait: (LockHolder) -> Void
  ) -> Bool {
    // Four times a second; a look costs some 50 µs.
    if waited - progress.lastLook >= 0.25 {
      progress.lastLook = waited
      if let holder = holder() {
        progress.lastSeen = waited
        if waited >= Self.telling, !progress.wasTold {
          progress.wasTold = true
          onWait(holder)
        }
      }
    }
    return waited - progress.lastSeen < longest && waited < max(longest, longestBeside)
  }
}
