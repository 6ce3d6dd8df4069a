import ReelCore
import ReelSource

/// The token by which a feed recognizes one of its files. It travels with the file, and every event about the file
/// carries it.
package struct FeedTicket: Hashable, Sendable {
  private let number: Int

  /// - Parameter number: distinguishes the tickets of one feed.
  package init(_ number: Int) { self.number = number }
}

/// An item that a feed hands out.
package struct FeedItem: Sendable {
  let item: WalkItem
  let ticket: FeedTicket?

  /// - Parameter ticket: nil if the feed does not ask what becomes of the file.
  package init(_ item: WalkItem, ticket: FeedTicket? = nil) {
    self.item = item
    self.ticket = ticket
  }
}

/// What is requested for one file of a run. It takes precedence over the run's own options.
package struct FileWishes: Sendable {
  /// The author; nil means that of the run.
  package var author: String?
  /// Decides whether the file may be published; nil means the run's policy.
  package var policy: (any IntakePolicy)?

  package init(author: String? = nil, policy: (any IntakePolicy)? = nil) {
    (self.author, self.policy) = (author, policy)
  }
}

/// The source of a run's files: a walk, or a queue or folder that hands them out as they arrive.
package protocol FileFeed: Sendable {
  /// Returns the next files, at least one and at most `count`, or none at the end or when `isOver` says that the run
  /// ends. Blocks.
  func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem]

  /// Called before work on these of its files begins. Blocks.
  func begin(_ files: [FileReference])

  /// Whether files keep coming for as long as the process lives. Then nothing may be left for the end, and no file that
  /// takes long to read may hold up a later one.
  var isEndless: Bool { get }

  /// Whether each of its files is expected by someone, so that a missing one is remembered as a failure. Otherwise its
  /// name was mistyped, or it was removed meanwhile.
  var expectsFiles: Bool { get }

  /// Whether `file`, which ended with `failure`, will come again and is therefore not reported as failed.
  func postpones(_ file: FileReference, after failure: FileFailure) -> Bool

  /// Whether `file`, which takes long to read, will come again when there is time for it. Otherwise its reading
  /// continues.
  func setsAside(_ file: FileReference) -> Bool

  /// Whether more data may be on its way to `file`, which looks truncated. Then it will come again, whatever else is
  /// true of it.
  func awaitsMore(of file: FileReference) -> Bool

  /// What is requested for `file`.
  func wishes(for file: FileReference) -> FileWishes

  /// Ends a wait in ``next(upTo:until:)`` that `isOver` alone cannot end, such as a network request.
  func cancel()
}

extension FileFeed {
  package var isEndless: Bool { false }

  package var expectsFiles: Bool { false }

  package func postpones(_ file: FileReference, after failure: FileFailure) -> Bool { false }

  package func setsAside(_ file: FileReference) -> Bool { false }

  package func awaitsMore(of file: FileReference) -> Bool { false }

  package func wishes(for file: FileReference) -> FileWishes { FileWishes() }
}

extension SourceWalk: FileFeed {
  package func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem] {
    next(upTo: count).map { FeedItem($0) }
  }

  package func begin(_ files: [FileReference]) {}

  package func cancel() { cancellation.set() }
}
