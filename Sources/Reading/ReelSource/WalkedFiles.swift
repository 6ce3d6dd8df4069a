import ReelCore

/// A file that a walk has found, or why it could not be reached.
package struct WalkedFile: Sendable {
  package let path: SourcePath
  package let found: Result<FoundFile, SourceError>
}

/// The files of a walk, one at a time, without those that it passes by.
package struct WalkedFiles: IteratorProtocol, Sendable {
  private let walk: SourceWalk
  private var batch: ArraySlice<WalkItem> = []

  package init(_ walk: SourceWalk) { self.walk = walk }

  /// Returns the next file, or nil at the end. Blocks.
  package mutating func next() -> WalkedFile? {
    while true {
      while let item = batch.popFirst() {
        switch item {
        case .ignored, .orphanSidecar, .leftAlone: continue
        case .candidate(let found): return WalkedFile(path: found.path, found: .success(found))
        case .failed(let path, let error): return WalkedFile(path: path, found: .failure(error))
        }
      }
      batch = walk.next(upTo: 64)[...]
      if batch.isEmpty { return nil }
    }
  }
}
