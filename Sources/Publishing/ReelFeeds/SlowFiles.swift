import ReelCore
import ReelSource

/// Files of watched folders that take long to read. They are read when there is time, in the order in which they were
/// found, and never all at once, so that no other file waits for them.
struct SlowFiles {
  struct File {
    let path: SourcePath
    let identity: FileIdentity
    let settled: FolderWatch.Settled
    /// The number of the watch that found it.
    let watch: Int
  }

  /// The waiting files of one watch, in order, preceded by those that have had their turn.
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
  /// How many of them may be read at once, leaving lanes for other files.
  private let mostTurns: Int

  /// - Parameter jobs: the number of files that are read at once.
  init(jobs: Int) { mostTurns = min(2, max(1, jobs / 2)) }

  /// Sets a file aside, in the state in which it was last found.
  mutating func add(_ file: FoundFile, _ settled: FolderWatch.Settled, of watch: Int) {
    let (path, identity) = (file.path, file.identity)
    let file = File(path: path, identity: identity, settled: settled, watch: watch)
    if waiting.updateValue(file, forKey: path) == nil { lines[watch, default: Line()].paths.append(path) }
  }

  /// Whether the file was set aside and has not had its turn.
  func isWaiting(_ path: SourcePath) -> Bool { waiting[path] != nil }

  /// Begins the turn of the watch's next file and returns it; nil if there is none, or while too many others have their
  /// turn.
  mutating func next(of watch: Int) -> File? {
    guard turns.count < mostTurns, let path = lines[watch]?.popFirst(),
      let file = waiting.removeValue(forKey: path)
    else { return nil }
    turns.insert(file.path)
    return file
  }

  /// Ends the file's turn.
  mutating func end(_ path: SourcePath) { turns.remove(path) }
}
