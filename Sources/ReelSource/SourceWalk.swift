import ReelCore
import Synchronization

/// Finds the files to take in, beneath what the user named, a few at a time.
///
/// Inputs come in the order given; a folder's files depth first, in byte order within each folder, so that
/// two runs over the same tree are alike. Its memory does not grow with the number of files, but with the
/// names in the folders on the way down, and (for several inputs, or with links) with the number of folders
/// and of inputs.
///
/// Everything is found and opened by descriptor beneath the folder that the user named. No FIFO or device is
/// opened.
public final class SourceWalk: Sendable {
  /// A file found holds its folder open. So a batch ends early after this many folders.
  private static let foldersInABatch = 32

  private let state: Mutex<WalkState>

  /// Does nothing yet: the first call of ``next(upTo:)`` begins.
  public init(inputs: [SourceInput], options: WalkOptions = WalkOptions()) {
    state = Mutex(WalkState(inputs: inputs, options: options))
  }

  /// The next items, at least one and at most `count`; none at the end. Blocks, for as long as it takes to
  /// find them.
  public func next(upTo count: Int) -> [WalkItem] {
    state.withLock { state in
      var items: [WalkItem] = []
      var folders: Set<DirectoryIdentity> = []
      while items.count < count, folders.count < Self.foldersInABatch, let item = state.next() {
        items.append(item)
        if case .candidate(let file) = item { folders.insert(file.directory.identity) }
      }
      return items
    }
  }
}
