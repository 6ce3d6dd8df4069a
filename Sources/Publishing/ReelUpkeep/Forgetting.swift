import ReelCore
import ReelIngest

extension PostChanges {
  /// Takes what other versions of Reel have read in files out of the catalog, and gives how many rows that were.
  ///
  /// Some at a time, so that nobody waits for long who writes to the catalog, too.
  package static func forgetReadings(in catalog: any PostChanging) async throws -> Int {
    let threads = BlockingQueue(label: "reel.prune", width: 1)
    var (forgotten, last) = (0, 1)
    while last > 0, !Task.isCancelled {
      last = try await threads.run { () throws(CatalogError) in
        try catalog.forgetReadings(besides: ReelVersion.current, atMost: 10_000)
      }
      forgotten += last
    }
    return forgotten
  }
}
