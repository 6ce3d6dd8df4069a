import FoundationEssentials
import ReelCore

extension SQLiteCatalog: CatalogRepair {
  /// One transaction; who is alive, or may be, keeps what it has.
  public func releaseWhatTheDeadHold() async throws(CatalogError) {
    let writing = try writable()
    try await writing.writer.commit { db in try writing.steps.owners.reap(in: db) }
  }

  /// Held by this process from then on, with an attempt of its own.
  public func takeOver(_ id: PostID) async throws(CatalogError) -> Intent? {
    let writing = try writable()
    return try await writing.writer.commit { db in try writing.steps.takeOver(id, in: db) }
  }

  /// Renews this process's lease in the same transaction.
  public func holds(_ intent: Intent) async throws(CatalogError) -> Bool {
    let writing = try writable()
    return try await writing.writer.commit { db in try writing.holds(intent, in: db) }
  }

  /// The next claim for the same video draws another key.
  public func giveUp(_ intent: Intent) async throws(CatalogError) {
    try await release(intent, because: .keyUnusable)
  }
}
