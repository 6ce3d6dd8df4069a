import ReelCore
import ReelSource

/// Files of watched folders that take long to read: they are read when there is time, in the order in which they were met,
/// and never all at once, so that no other file waits for them.
struct SlowFiles {
  struct File {
    let path: SourcePath
    let identity: FileIdentity
    let settled: FolderWatch.Settled
    /// The number of the watch that has found it.
    let watch: Int
  }

  private var waiting: [SourcePath: File] = [:]
  /// Those that wait, in order; in the first places, those that had their turn.
  private var order: [SourcePath] = []
  private var first = 0
  private var turns: Set<SourcePath> = []
  /// How many may be read at once: that leaves lanes for others.
  private let mostTurns: Int

  /// - Parameter jobs: how many files are read at once.
  init(jobs: Int) { mostTurns = min(2, max(1, jobs / 2)) }

  /// Sets a file aside, in the state in which it was met last.
  mutating func add(_ file: FoundFile, _ settled: FolderWatch.Settled, of watch: Int) {
    let (path, identity) = (file.path, file.identity)
    let file = File(path: path, identity: identity, settled: settled, watch: watch)
    if waiting.updateValue(file, forKey: path) == nil { order.append(path) }
  }

  /// Whether it was set aside, and has not had its turn.
  func isWaiting(_ path: SourcePath) -> Bool { waiting[path] != nil }

  /// The next file, whose turn it is from now on; nil where there is none, or as long as others have theirs.
  mutating func next() -> File? {
    guard turns.count < mostTurns, first < order.count,
      let file = waiting.removeValue(forKey: order[first])
    else { return nil }
    first += 1
    if 2 * first > order.count { (order, first) = (Array(order[first...]), 0) }
    turns.insert(file.path)
    return file
  }

  /// Its turn is over.
  mutating func end(_ path: SourcePath) { turns.remove(path) }
}
