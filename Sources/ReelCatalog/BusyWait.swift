import GRDB
import Glibc

/// How a connection waits for another process's transaction.
///
/// SQLite's own way soon asks only every 100 ms, and hardly ever meets the moment between two commits of a
/// busy process. Asking every few milliseconds costs little and finds it.
struct BusyWait: Sendable {
  /// Seconds.
  let longest: Double

  /// How many times it asks every millisecond, before it asks every four.
  private static let quickTries = 250

  var mode: Database.BusyMode {
    .callback { tries in
      guard let pause = pause(after: tries) else { return false }
      usleep(UInt32(pause * 1_000_000))
      return true
    }
  }

  /// Seconds to wait after the try with this number, from 0; nil when it has been long enough.
  func pause(after tries: Int) -> Double? {
    let quick = Double(min(tries, Self.quickTries))
    let slow = Double(max(0, tries - Self.quickTries))
    guard quick * 0.001 + slow * 0.004 < longest else { return nil }
    return tries < Self.quickTries ? 0.001 : 0.004
  }
}
