import FoundationEssentials
import ReelCore
import ReelPostgres
import ReelSource

/// Puts the files that a walk finds into the queue.
package struct Enqueuing {
  package struct Result {
    package var count = WorkQueue.Enqueued()
    package var putBack = 0
    package var failures: [(path: SourcePath, error: SourceError)] = []
  }

  /// Nil in a dry run if there is no queue yet.
  private let queue: WorkQueue?
  private let priority: Int
  private let wishes: ItemWishes
  /// The earliest time at which the items may be taken.
  private let time: Date?
  private let dryRun: Bool

  package init(queue: WorkQueue?, priority: Int, wishes: ItemWishes, time: Date?, dryRun: Bool) {
    (self.queue, self.priority, self.wishes, self.time) = (queue, priority, wishes, time)
    self.dryRun = dryRun
  }

  /// Enqueues the files of the walk. Blocks.
  package func run(_ walk: SourceWalk, retry: Bool) throws(CatalogError) -> Result {
    var result = Result()
    if retry {
      var failed = ItemFilter()
      failed.states = [.failed, .setAside]
      result.putBack = try (dryRun ? queue?.count(failed) : queue?.steer(.retry, failed)) ?? 0
    }
    while true {
      let items = walk.next(upTo: 1000)
      if items.isEmpty { return result }
      var new: [NewItem] = []
      for item in items {
        switch item {
        case .candidate(let file): new.append(NewItem(file))
        case .failed(let path, let error): result.failures.append((path, error))
        case .ignored, .orphanSidecar, .leftAlone: continue
        }
      }
      let count = try enqueue(new)
      result.count.new += count.new
      result.count.known += count.known
    }
  }

  private func enqueue(_ items: [NewItem]) throws(CatalogError) -> WorkQueue.Enqueued {
    if let queue {
      return try dryRun
        ? queue.wouldEnqueue(items, wishes: wishes)
        : queue.enqueue(items, priority: priority, wishes: wishes, at: time)
    }
    var count = WorkQueue.Enqueued()
    count.new = items.count
    return count
  }
}

extension NewItem {
  fileprivate init(_ file: FoundFile) {
    if let state = file.remoteState {
      let version = state.text.isEmpty ? "size \(file.identity.size)" : state.text
      self.init(address: file.path, version: version, size: file.identity.size)
      return
    }
    self.init(
      address: file.path, version: "\(file.identity.size) \(file.identity.modifiedAt)",
      size: file.identity.size)
  }
}
