import ReelCore
import ReelSource
import Synchronization

/// A file of the run that must get an end: one to process, or one that the walk could not reach.
struct NumberedItem: Sendable {
  let file: FileReference
  let size: Int64?
  private let result: Result<FoundFile, SourceError>

  fileprivate init(_ file: FileReference, size: Int64?, _ result: Result<FoundFile, SourceError>) {
    self.file = file
    self.size = size
    self.result = result
  }

  /// Returns the file to process, or throws the error of the walk.
  func candidate() throws(SourceError) -> FoundFile { try result.get() }
}

/// Numbers the files that the walk finds, and counts those that it passes over.
struct ScanCount {
  private var found = 0
  private var ignored = 0
  private var leftAlone = 0
  private var bytes: Int64 = 0
  var isComplete = false

  /// Counts the item and numbers it; nil if it is not a file of the run.
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

/// Reports how many files there are as they are counted. The walk that hands out the files has the last word, because a
/// walk that counts ahead may have seen a file before it changed.
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
