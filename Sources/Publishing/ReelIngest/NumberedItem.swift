import ReelCore
import ReelSource
import Synchronization

/// A file of the run that is to have an end: one to take in, or one that the walk could not reach.
struct NumberedItem: Sendable {
  let file: FileReference
  let size: Int64?
  private let result: Result<FoundFile, SourceError>

  fileprivate init(_ file: FileReference, size: Int64?, _ result: Result<FoundFile, SourceError>) {
    self.file = file
    self.size = size
    self.result = result
  }

  /// The file to take in.
  func candidate() throws(SourceError) -> FoundFile { try result.get() }
}

/// Numbers what the walk finds, and counts what it passes by.
struct ScanCount {
  private var found = 0
  private var ignored = 0
  private var leftAlone = 0
  private var bytes: Int64 = 0
  var isComplete = false

  /// The item's place in the run; nil when it is none of the run's.
  mutating func count(_ item: WalkItem, _ ticket: FeedTicket? = nil) -> NumberedItem? {
    switch item {
    case .ignored, .orphanSidecar:
      ignored += 1
      return nil
    case .leftAlone:
      leftAlone += 1
      return nil
    case .candidate(let file):
      found += 1
      bytes = bytes.addingClamped(file.identity.size)
      return NumberedItem(
        FileReference(number: found, path: file.path, ticket: ticket), size: file.identity.size,
        .success(file))
    case .failed(let path, let error):
      found += 1
      return NumberedItem(
        FileReference(number: found, path: path, ticket: ticket), size: nil, .failure(error))
    }
  }

  var facts: RunScanned {
    RunScanned(
      found: found, ignored: ignored, bytes: bytes, complete: isComplete, leftAlone: leftAlone)
  }
}

/// Tells how much there is to take in, as it is counted. What the walk says that hands the files out is the last word: one that
/// counts ahead may have seen a file before it changed.
final class ScanReport: Sendable {
  private let hub: EventHub
  private let isOver = Mutex(false)

  init(_ hub: EventHub) { self.hub = hub }

  func tell(_ facts: RunScanned, isLast: Bool = false) {
    isOver.withLock { isOver in
      guard !isOver else { return }
      isOver = isLast
      hub.emit(.runScanned(facts))
    }
  }
}
