import Dispatch
import Glibc
import ReelCore
import ReelFeeds
import ReelIngest
import ReelPostgres
import ReelSource

/// A worker of the queue, as long as its run goes on.
struct WorkSession: Sendable {
  let feed: QueueFeed
  private let grace: Duration
  private let queue: BlockingQueue

  /// - Parameters:
  ///   - queue: where the feed was begun, and what becomes of its items is written down.
  ///   - grace: how long the run may take to end.
  init(_ feed: QueueFeed, on queue: BlockingQueue, grace: Duration) {
    (self.feed, self.queue, self.grace) = (feed, queue, grace)
  }

  /// Writes down what becomes of the items of `batch`.
  func note(_ batch: [IngestEvent]) async throws(CatalogError) {
    try await queue.run { [feed] () throws(CatalogError) in try feed.note(batch) }
  }

  /// How long it may take to give back what is held when the grace is over: the database may be away.
  private static let farewell = 3.0

  /// The run is to end: what takes longer than the grace is given back, and the process ends, whatever it waits for.
  /// - Parameter abandon: gives back what the run holds.
  func limitGrace(abandoning abandon: @escaping @Sendable () -> Void) {
    let (feed, end) = (feed, DispatchTime.now() + grace / .seconds(1))
    let exit: @Sendable () -> Void = {
      feed.problem?.tell()
      _exit((feed.problem?.code ?? .interrupted).rawValue)
    }
    DispatchQueue(label: "reel.work.grace").asyncAfter(deadline: end) {
      abandon()
      exit()
    }
    DispatchQueue(label: "reel.work.end").asyncAfter(deadline: end + Self.farewell, execute: exit)
  }

  /// Why the run took nothing more, if something was wrong. What it held was given back when the catalog was closed.
  func end() throws {
    if let problem = feed.problem { throw problem }
  }
}

extension QueueFeed {
  /// Why nothing more was taken; nil where nothing is wrong.
  var problem: CommandFailure? { fault.flatMap { CommandFailure($0) } }
}

extension Sources {
  /// What the address of an item stands for: of an object or a file on the web the state that was enqueued, and no other.
  func input(_ item: TakenItem) async throws(SourceError) -> SourceInput {
    do {
      let state = RemoteState(text: item.version)
      return try await input(item.address, listed: item.size.map { ($0, state) })
    } catch {
      throw SourceError(.unreadable, CommandFailure.reason(error))
    }
  }
}
