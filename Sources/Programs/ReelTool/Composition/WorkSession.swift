import Dispatch
import Glibc
import ReelCore
import ReelFeeds
import ReelIngest
import ReelPostgres
import ReelSource
import ReelTerminal
import ReelValidation

/// A worker of the queue, as long as its run goes on.
struct WorkSession: Sendable {
  let feed: QueueFeed
  private let grace: Duration
  private let queue: BlockingQueue

  /// Takes a place among the workers, as long as the catalog is open.
  static func begin(
    _ catalog: PostgresCatalog, destination: String, serving: QueueWorker.Serving,
    retrying: QueueWorker.Settings, jobs: Int, walk: WalkOptions, staysForMore: Bool,
    grace: Duration, sources: Sources, allowed: AllowedSources, check: MachineCheck
  ) async throws -> WorkSession {
    let blocking = BlockingQueue(label: "reel.work", width: 1)
    let (worker, listener) = try await blocking.run { () throws(CatalogError) in
      let worker = try QueueWorker(
        catalog, host: Self.host, destination: destination, serving: serving, settings: retrying)
      try worker.freeWhatIsDue()
      let listener = QueueListener(
        try catalog.workQueue(),
        onPooler: {
          LongWait.tell(
            "a pooler (PgBouncer) stands before the server of the queue and passes no notifications on: new items are "
              + "noticed within ten seconds, not at once")
        },
        onDeafness: { reason in
          LongWait.tell(
            "the server of the queue refuses a connection for notifications (\(reason)): new items are noticed within ten "
              + "seconds, not at once")
        })
      return (worker, listener)
    }
    let policies = try await blocking.run { () throws(CatalogError) in try catalog.workQueue() }
    return WorkSession(
      feed: QueueFeed(
        worker, listener: listener, jobs: jobs, staysForMore: staysForMore, walk: walk,
        allowed: allowed, check: check, tell: { LongWait.tell($0) },
        policy: { name in
          let policy = try policies.policy(named: name)
          do {
            return PolicyIntake(try PolicyFiles.policy(policy))
          } catch {
            throw QueuePolicyProblem(message: CommandFailure.reason(error))
          }
        }
      ) { item async throws(SourceError) in try await sources.input(item) },
      grace: grace, queue: blocking)
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
  fileprivate func input(_ item: TakenItem) async throws(SourceError) -> SourceInput {
    do {
      let state = RemoteState(text: item.version)
      return try await input(item.address, listed: item.size.map { ($0, state) })
    } catch {
      throw SourceError(.unreadable, CommandFailure.reason(error))
    }
  }
}
