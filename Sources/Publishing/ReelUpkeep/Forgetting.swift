import ReelCore
import ReelIngest

extension PostChanges {
  /// Removes what other versions of Reel have read in files from the catalog, and returns the number of rows removed.
  ///
  /// It works in batches, so that others who write to the catalog don't have to wait for long.
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
