import ReelCore
import ReelIngest

/// How often in a row each file of a watched folder could not be processed; decides when it is retried, and what is
/// reported.
struct Postponements: Sendable {
  private struct Tries {
    var failures = 0
    var changes = 0
    var last: Duration
  }

  private var tries: [SourcePath: Tries] = [:]
  /// At this number of entries, those whose files were not retried lately are dropped.
  private var mostTries = 1024
  /// The store errors reported since the store last accepted something.
  private var told: Set<UploadError.Code> = []

  /// How long to wait before a file is retried; the delay doubles each time.
  private static let shortestDelay = Duration.seconds(10)
  private static let longestDelay = Duration.seconds(600)
  /// How many successive changes while it is being read make a file worth reporting.
  private static let mostChanges = 5

  /// Notes that the store has accepted something.
  mutating func storeWorks() { told = [] }

  /// Notes that the file is done.
  mutating func forget(_ path: SourcePath) { tries[path] = nil }

  /// Whether the file has not failed since it was last done.
  func isNew(_ path: SourcePath) -> Bool { tries[path]?.failures ?? 0 == 0 }

  /// Notes that the file was changed while it was being processed.
  /// - Returns: the message to report, if any.
  mutating func changed(_ path: SourcePath, at now: Duration) -> String? {
    let changes = note(path, at: now) { $0.changes += 1 }.changes
    guard changes == Self.mostChanges else { return nil }
    return
      "it was written to each of the last \(changes) times that it was read; it is ingested once it stops changing: find out what keeps writing to it"
  }

  /// How often a file is tried that the machine may have been too busy to read.
  private static let mostReadings = 3

  /// Whether reading the file has failed so often that the file itself must be the cause.
  func isHopeless(_ path: SourcePath) -> Bool { tries[path]?.failures ?? 0 >= Self.mostReadings - 1 }

  /// Notes that the file could not be processed.
  /// - Parameter failure: the failure as reported; nil if it has been reported.
  /// - Returns: the delay before the next try, and the message to report, if any. A store error is reported only once,
  ///   until the store accepts something.
  mutating func failed(
    _ path: SourcePath, _ failure: FileFailure?, at now: Duration
  ) -> (delay: Duration, message: String?) {
    let times = note(path, at: now) { $0.failures += 1 }.failures
    let delay = min(Self.longestDelay, Self.shortestDelay * (1 << min(times - 1, 10)))
    guard let failure else { return (delay, nil) }
    let isNew =
      if case .upload(let code) = failure.code { told.insert(code).inserted } else { times == 1 }
    guard isNew else { return (delay, nil) }
    return (
      delay,
      "it can't be ingested now; Reel tries again in \(delay.components.seconds) s, then less often: \(failure.message)"
    )
  }

  private mutating func note(_ path: SourcePath, at now: Duration, _ change: (inout Tries) -> Void) -> Tries {
    if tries.count >= mostTries {
      tries = tries.filter { now - $0.value.last <= Self.longestDelay * 2 }
      mostTries = max(1024, 2 * tries.count)
    }
    var next = tries[path] ?? Tries(last: now)
    next.last = now
    change(&next)
    tries[path] = next
    return next
  }
}
