import Dispatch
import Glibc
import ReelCore
import ReelFeeds
import ReelIngest
import ReelPostgres
import ReelSource
import Synchronization

/// A worker of the queue, as long as its run goes on.
struct WorkSession: Sendable {
  let feed: QueueFeed
  private let grace: Duration
  private let queue: BlockingQueue
  /// What is done when the grace is over. It holds the store, which is left in order once nobody does.
  private let farewell = Farewell()

  private final class Farewell: Sendable {
    let body = Mutex<(@Sendable () -> Void)?>(nil)
  }

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
  private static let mostOfFarewell = 3.0

  /// The run is to end: what takes longer than the grace is given back, and the process ends, whatever it waits for.
  /// - Parameter abandon: gives back what the run holds.
  func limitGrace(abandoning abandon: @escaping @Sendable () -> Void) {
    let end = DispatchTime.now() + grace / .seconds(1)
    let exit: @Sendable () -> Void = { [weak feed] in
      let problem = feed?.problem
      problem?.tell()
      _exit((problem?.code ?? .interrupted).rawValue)
    }
    farewell.body.withLock {
      $0 = {
        abandon()
        exit()
      }
    }
    DispatchQueue(label: "reel.work.grace").asyncAfter(deadline: end) { [farewell] in
      let body = farewell.body.withLock { $0 }
      body?()
    }
    DispatchQueue(label: "reel.work.end").asyncAfter(deadline: end + Self.mostOfFarewell, execute: exit)
  }

  /// Why the run took nothing more, if something was wrong. What it held was given back when the catalog was closed.
  func end() throws {
    farewell.body.withLock { $0 = nil }
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
