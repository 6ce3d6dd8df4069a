import ReelCore
import ReelSource

/// By what a feed knows one of its files: it travels with the file, and every event about the file has it.
package struct FeedTicket: Hashable, Sendable {
  private let number: Int

  /// Tickets of one feed are told apart by their numbers.
  package init(_ number: Int) { self.number = number }
}

/// Something that a feed hands out.
package struct FeedItem: Sendable {
  let item: WalkItem
  let ticket: FeedTicket?

  /// - Parameter ticket: nil where the feed doesn't ask what becomes of it.
  package init(_ item: WalkItem, ticket: FeedTicket? = nil) {
    self.item = item
    self.ticket = ticket
  }
}

/// What is asked for one file of a run, before all that is said of the run as a whole.
package struct FileWishes: Sendable {
  /// Whose it is; nil: as the run says.
  package var author: String?
  /// Decides whether it may be published; nil: as for the run.
  package var policy: (any IntakePolicy)?

  package init(author: String? = nil, policy: (any IntakePolicy)? = nil) {
    (self.author, self.policy) = (author, policy)
  }
}

/// Where the files of a run come from: a walk, or somebody who hands them out as they come.
package protocol FileFeed: Sendable {
  /// The next files, at least one and at most `count`; none at the end, or when `isOver` says that the run ends. Blocks.
  func next(upTo count: Int, until isOver: () -> Bool) -> [FeedItem]

  /// Said before work on these of its files begins. Blocks.
  func begin(_ files: [FileReference])

  /// Whether files come for as long as the process lives: nothing may be left for the end, and no file that takes long to
  /// read may hold up another one that comes later.
  var isEndless: Bool { get }

  /// Whether somebody waits for each of its files, so that one that is not there is remembered as a failure; else it was
  /// mistyped, or went meanwhile.
  var expectsFiles: Bool { get }

  /// Whether `file`, which ended with `failure`, comes again: then that is not told as a failure.
  func postpones(_ file: FileReference, after failure: FileFailure) -> Bool

  /// Whether `file`, which takes long to read, comes again when there is time for it; else its reading goes on.
  func setsAside(_ file: FileReference) -> Bool

  /// Whether more of `file`, which looks cut off, may be on its way: then it comes again, whatever else is true of it.
  func awaitsMore(of file: FileReference) -> Bool

  /// What is asked for `file`.
  func wishes(for file: FileReference) -> FileWishes

  /// Ends what a call of ``next(upTo:until:)`` waits for, where `isOver` alone would not: a request over a network.
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
