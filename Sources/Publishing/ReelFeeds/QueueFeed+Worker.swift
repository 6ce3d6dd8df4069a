import Glibc
import ReelCore
import ReelPostgres
import ReelSource
import ReelValidation

extension QueueFeed {
  /// Returns the feed of a new worker. The worker is registered among the others for as long as the catalog is open,
  /// frees the items that are due, and reads the policies that items name from the queue. Blocks.
  ///
  /// - Parameters:
  ///   - destination: where the worker stores.
  ///   - serving: which items it takes.
  ///   - retrying: how failures that may pass are retried.
  ///   - tell: called with a sentence about what keeps the worker waiting.
  ///   - staysForMore, allowed, check, source: as in the feed's own initializer.
  package static func begin(
    _ catalog: PostgresCatalog, destination: String, serving: QueueWorker.Serving,
    retrying: QueueWorker.Settings, jobs: Int, staysForMore: Bool, walk: WalkOptions, allowed: AllowedSources,
    check: MachineCheck, tell: @escaping @Sendable (String) -> Void,
    source: @escaping @Sendable (TakenItem) async throws(SourceError) -> SourceInput
  ) throws(CatalogError) -> QueueFeed {
    let worker = try QueueWorker(
      catalog, host: host, destination: destination, serving: serving, settings: retrying)
    try worker.freeWhatIsDue()
    let queue = try catalog.workQueue()
    let listener = QueueListener(
      queue,
      onPooler: {
        tell(
          "the server of the queue is behind a pooler (PgBouncer) that forwards no notifications: new items are "
            + "noticed within ten seconds, not at once")
      },
      onDeafness: { reason in
        tell(
          "the server of the queue refuses a connection for notifications (\(reason)): new items are noticed within ten "
            + "seconds, not at once")
      })
    return QueueFeed(
      worker, listener: listener, jobs: jobs, staysForMore: staysForMore, walk: walk, allowed: allowed,
      check: check, tell: tell, policy: { PolicyIntake(try PolicyBundle.read(try queue.policy(named: $0))) },
      source: source)
  }

  /// The name of this machine, for people.
  private static var host: String {
    var names = utsname()
    guard uname(&names) == 0 else { return "?" }
    return withUnsafeBytes(of: &names.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
