import ReelSource

/// Where the files of a run come from: a walk, or somebody who hands them out as they come.
package protocol FileFeed: Sendable {
  /// The next files, at least one and at most `count`; none at the end, or when `isOver` says that the run ends. Blocks.
  func next(upTo count: Int, until isOver: () -> Bool) -> [WalkItem]

  /// Said before work on these of its files begins, by the numbers that they have in the run. Blocks.
  func begin(_ files: [Int])

  /// Whether `file`, which ended with `failure`, comes again: then that is not told as a failure.
  func postpones(_ file: FileReference, after failure: FileFailure) -> Bool

  /// Ends what a call of ``next(upTo:until:)`` waits for, where `isOver` alone would not: a request over a network.
  func cancel()
}

extension FileFeed {
  package func postpones(_ file: FileReference, after failure: FileFailure) -> Bool { false }
}

extension SourceWalk: FileFeed {
  package func next(upTo count: Int, until isOver: () -> Bool) -> [WalkItem] { next(upTo: count) }

  package func begin(_ files: [Int]) {}

  package func cancel() { cancellation.set() }
}
