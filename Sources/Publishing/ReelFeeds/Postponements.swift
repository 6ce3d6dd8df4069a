import ReelCore
import ReelIngest

/// How often files of a watched folder could not be taken in, one time after the other: when each is tried again, and
/// what is told of that.
struct Postponements: Sendable {
  private struct Tries {
    var failures = 0
    var changes = 0
    var last: Duration
  }

  private var tries: [SourcePath: Tries] = [:]
  /// At so many, those are let go of that nobody has come back for.
  private var mostTries = 1024
  /// What was told of the store since it took something last.
  private var told: Set<UploadError.Code> = []

  /// How long to wait before a file is tried again: longer each time.
  private static let shortestDelay = Duration.seconds(10)
  private static let longestDelay = Duration.seconds(600)
  /// A file that has changed so often while it was read is told.
  private static let mostChanges = 5

  /// The store has taken something.
  mutating func storeWorks() { told = [] }

  /// The file was dealt with.
  mutating func forget(_ path: SourcePath) { tries[path] = nil }

  /// Whether it has not failed since it was dealt with last.
  func isNew(_ path: SourcePath) -> Bool { tries[path]?.failures ?? 0 == 0 }

  /// It was written to while it was dealt with.
  /// - Returns: what is to be told.
  mutating func changed(_ path: SourcePath, at now: Duration) -> String? {
    let changes = note(path, at: now) { $0.changes += 1 }.changes
    guard changes == Self.mostChanges else { return nil }
    return
      "it was written to each of the last \(changes) times that it was read; it is ingested once it stops changing: find out what keeps writing to it"
  }

  /// A file that a machine may have been too busy to read is tried so often.
  private static let mostReadings = 3

  /// Whether reading it has failed so often that it is the file's own doing.
  func isHopeless(_ path: SourcePath) -> Bool { tries[path]?.failures ?? 0 >= Self.mostReadings - 1 }

  /// It could not be dealt with.
  /// - Parameter failure: as it is told; nil where it was.
  /// - Returns: when it is tried again, and what is to be told: of a store only once, until it takes something.
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
