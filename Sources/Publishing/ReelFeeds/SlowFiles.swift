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

  /// The files of one watch that wait, in order; in the first places, those that had their turn.
  private struct Line {
    var paths: [SourcePath] = []
    var first = 0

    mutating func popFirst() -> SourcePath? {
      guard first < paths.count else { return nil }
      defer {
        first += 1
        if 2 * first > paths.count { (paths, first) = (Array(paths[first...]), 0) }
      }
      return paths[first]
    }
  }

  private var waiting: [SourcePath: File] = [:]
  private var lines: [Int: Line] = [:]
  private var turns: Set<SourcePath> = []
  /// How many may be read at once: that leaves lanes for others.
  private let mostTurns: Int

  /// - Parameter jobs: how many files are read at once.
  init(jobs: Int) { mostTurns = min(2, max(1, jobs / 2)) }

  /// Sets a file aside, in the state in which it was met last.
  mutating func add(_ file: FoundFile, _ settled: FolderWatch.Settled, of watch: Int) {
    let (path, identity) = (file.path, file.identity)
    let file = File(path: path, identity: identity, settled: settled, watch: watch)
    if waiting.updateValue(file, forKey: path) == nil { lines[watch, default: Line()].paths.append(path) }
  }

  /// Whether it was set aside, and has not had its turn.
  func isWaiting(_ path: SourcePath) -> Bool { waiting[path] != nil }

  /// The next file of a watch, whose turn it is from now on; nil where there is none, or as long as others have theirs.
  mutating func next(of watch: Int) -> File? {
    guard turns.count < mostTurns, let path = lines[watch]?.popFirst(),
      let file = waiting.removeValue(forKey: path)
    else { return nil }
    turns.insert(file.path)
    return file
  }

  /// Its turn is over.
  mutating func end(_ path: SourcePath) { turns.remove(path) }
}
