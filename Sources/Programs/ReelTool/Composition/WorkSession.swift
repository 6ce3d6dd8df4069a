import Dispatch
import Glibc
import ReelCore
import ReelFeeds
import ReelIngest
import ReelPostgres
import ReelSource
import Synchronization

/// A worker of the queue for the duration of its run.
struct WorkSession: Sendable {
  let feed: QueueFeed
  private let grace: Duration
  private let queue: BlockingQueue
  /// The action for the end of the grace period. It retains the store, which cleans up after itself once it is
  /// released.
  private let farewell = Farewell()

  private final class Farewell: Sendable {
    let body = Mutex<(@Sendable () -> Void)?>(nil)
  }

  /// - Parameters:
  ///   - queue: where the feed was begun, and where the outcomes of its items are recorded.
  ///   - grace: how long the run may take to end.
  init(_ feed: QueueFeed, on queue: BlockingQueue, grace: Duration) {
    (self.feed, self.queue, self.grace) = (feed, queue, grace)
  }

  /// Records the outcomes of the items of `batch`.
  func note(_ batch: [IngestEvent]) async throws(CatalogError) {
    try await queue.run { [feed] () throws(CatalogError) in try feed.note(batch) }
  }

  /// The seconds allowed for giving back what is held after the grace period: the database may be unreachable.
  private static let mostOfFarewell = 3.0

  /// Limits how long an ending run may take. When the grace period is over, what the run still holds is given back and
  /// the process ends, whatever it is waiting for.
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

  /// Throws the reason why the run took no more items, if something was wrong. What it held was given back when the
  /// catalog was closed.
  func end() throws {
    farewell.body.withLock { $0 = nil }
    if let problem = feed.problem { throw problem }
  }
}

extension QueueFeed {
  /// Why the feed took no more items; nil if nothing is wrong.
  var problem: CommandFailure? { fault.flatMap { CommandFailure($0) } }
}

extension Sources {
  /// The input that the address of an item stands for. For an object or a file on the web it is the state that was
  /// enqueued, and no other.
  func input(_ item: TakenItem) async throws(SourceError) -> SourceInput {
    do {
      let state = RemoteState(text: item.version)
      return try await input(item.address, listed: item.size.map { ($0, state) })
    } catch {
      throw SourceError(.unreadable, CommandFailure.reason(error))
    }
  }
}
