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
  private let worker: QueueWorker
  private let pool: PostgresPool
  private let heartbeat: Task<Void, Never>
  private let grace: Duration
  private let queue: BlockingQueue

  /// Takes a place among the workers, and gives signs of life from now on.
  static func begin(
    _ pool: PostgresPool, destination: String, jobs: Int, walk: WalkOptions, staysForMore: Bool,
    grace: Duration, sources: Sources, allowed: AllowedSources, check: MachineCheck
  ) async throws -> WorkSession {
    var settings = QueueWorker.Settings()
    if let lease = DebugSteps.lease { settings.lease = lease }
    let beat = settings.lease / 3
    let blocking = BlockingQueue(label: "reel.work", width: 1)
    let (worker, listener) = try await blocking.run { [settings] () throws(CatalogError) in
      let queue = try WorkQueue(pool)
      let worker = try QueueWorker(
        queue, host: Self.host, destination: destination, settings: settings)
      try worker.freeWhatIsDue()
      let listener = QueueListener(
        queue,
        onPooler: {
          LongWait.tell(
            "a pooler (PgBouncer) stands before the server of the queue and passes no notifications on: new items are "
              + "noticed within ten seconds, not at once")
        })
      return (worker, listener)
    }
    // A thread of its own: it must not wait for those that publish.
    let beating = BlockingQueue(label: "reel.work.heartbeat", width: 1)
    let heartbeat = Task {
      var isLate = false
      // One that fails is made good by the next, which comes sooner.
      while (try? await Task.sleep(for: isLate ? beat / 8 : beat, clock: .continuous)) != nil {
        isLate = await beating.run {
          let isAlive = (try? worker.renew()) != nil
          _ = try? worker.freeWhatIsDue()
          return !isAlive
        }
      }
    }
    return WorkSession(
      feed: QueueFeed(
        worker, listener: listener, jobs: jobs, staysForMore: staysForMore, walk: walk,
        allowed: allowed, check: check
      ) { item async throws(SourceError) in try await sources.input(item) },
      worker: worker, pool: pool, heartbeat: heartbeat, grace: grace, queue: blocking)
  }

  /// This machine, for people.
  private static var host: String {
    var names = utsname()
    guard uname(&names) == 0 else { return "?" }
    return withUnsafeBytes(of: &names.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// Writes down what becomes of the items of `batch`.
  func note(_ batch: [IngestEvent]) async throws(CatalogError) {
    try await queue.run { [feed] () throws(CatalogError) in try feed.note(batch) }
  }

  /// How long it may take to give back what is held when the grace is over: the database may be away.
  private static let farewell = 3.0

  /// The run is to end: what takes longer than the grace is given back, and the process ends, whatever it waits for.
  /// - Parameter abandon: frees in the catalog what the run holds; else who takes such an item would wait for the lease's end.
  func limitGrace(abandoning abandon: @escaping @Sendable () -> Void) {
    pool.makeHaste()
    let (worker, feed, end) = (worker, feed, DispatchTime.now() + grace / .seconds(1))
    let exit: @Sendable () -> Void = {
      feed.problem?.tell()
      _exit((feed.problem?.code ?? .interrupted).rawValue)
    }
    DispatchQueue(label: "reel.work.grace").asyncAfter(deadline: end) {
      abandon()
      try? worker.retire()
      exit()
    }
    DispatchQueue(label: "reel.work.end").asyncAfter(deadline: end + Self.farewell, execute: exit)
  }

  /// Gives back what is held.
  func end() async throws {
    heartbeat.cancel()
    await heartbeat.value
    defer { pool.close() }
    do throws(CatalogError) {
      try await queue.run { [worker] () throws(CatalogError) in try worker.retire() }
    } catch {
      // What came first is told.
      throw feed.problem ?? error
    }
    if let problem = feed.problem { throw problem }
  }
}

extension QueueFeed {
  /// Why nothing more was taken; nil where nothing is wrong.
  var problem: CommandFailure? { fault.flatMap { CommandFailure($0) } }
}

extension Sources {
  /// What the address of an item stands for: of an object or a file on the web the state that was enqueued, and no other.
  fileprivate func input(_ item: TakenItem) async throws(SourceError) -> SourceInput {
    do {
      let state = RemoteState(text: item.version)
      return try await input(item.address, listed: item.size.map { ($0, state) })
    } catch {
      throw SourceError(.unreadable, CommandFailure.reason(error))
    }
  }
}
