import FoundationEssentials
import Glibc
import ReelCore

/// A stored object that becomes a post of a rebuilt catalog.
public struct RebuiltObject: Sendable {
  let publication: Publication
  let stored: StoredObject
  let draft: PostDraft
  let id: PostID
  let createdAt: Date

  /// - Parameters:
  ///   - publication: its digest, and where it is stored.
  ///   - draft: what its bytes say. What people said about it is lost.
  ///   - id: a new one.
  ///   - createdAt: when it was stored.
  public init(
    _ stored: StoredObject, of publication: Publication, draft: PostDraft, id: PostID, createdAt: Date
  ) {
    self.stored = stored
    self.publication = publication
    self.draft = draft
    self.id = id
    self.createdAt = createdAt
  }
}

/// Builds a catalog from the stored objects, in place of one that was lost.
///
/// It is built under a temporary name and renamed in one step when it is complete. If the process dies halfway, the
/// library's catalog is still lost. No other process can open the library meanwhile.
public final class CatalogRebuild: Sendable {
  private let alone: FolderLock
  private let unfinished: UnfinishedCatalog
  private let queue: BlockingQueue
  /// Where the unfinished catalog is.
  private var place: CatalogPlace { unfinished.place }

  private init(
    alone: FolderLock, _ unfinished: UnfinishedCatalog, _ queue: BlockingQueue
  ) {
    self.alone = alone
    self.unfinished = unfinished
    self.queue = queue
  }

  /// Begins a catalog without posts.
  ///
  /// - Parameter onWait: told which process is opening the library if a wait for it takes more than 2 s.
  /// - Throws: ``CatalogError``: `unusable` if the library has a catalog, `locked` if another process is at work on it,
  ///   `corrupt` if what is in the catalog's place is damaged, `diskFull`.
  public static func begin(
    for library: LibraryFolder, busyTimeout: Duration = .seconds(10),
    onWait: @escaping @Sendable (LockHolder) -> Void = { _ in }
  ) async throws(CatalogError) -> CatalogRebuild {
    let queue = BlockingQueue(label: "reel.catalog.rebuild", width: 1)
    return try await queue.run { () throws(CatalogError) in
      let timeout = busyTimeout / .seconds(1)
      let alone = try FolderLock(library.path, waitingUpTo: timeout, onWait: onWait)
      if try CatalogDatabase.isThere(at: CatalogPlace(library), busyTimeout: timeout) {
        throw CatalogError(
          .unusable,
          "there is already a catalog in \(library.path), so none was rebuilt: check it with reel doctor; to rebuild it "
            + "anyway, first move away \(library.catalogPath) and the files beside it whose names begin the same"
        )
      }
      if UnfinishedCatalog.isInUse(library) {
        throw CatalogError(
          .locked,
          "another process is at work on the library \(library.path), with the catalog that is gone: wait until it is "
            + "done, or end it, and try again")
      }
      let unfinished = try reporting(UnfinishedCatalog.place(in: library).path) {
        try UnfinishedCatalog(in: library)
      }
      return CatalogRebuild(alone: alone, unfinished, queue)
    }
  }

  /// Adds a post for each object, in this order.
  public func add(_ objects: [RebuiltObject]) async throws(CatalogError) {
    try await queue.run { [self] () throws(CatalogError) in
      try Self.reporting(place.path) {
        try unfinished.database.write { db in
          try db.transaction(.immediate) {
            for object in objects { try add(object, in: db) }
          }
        }
      }
    }
  }

  private func add(_ object: RebuiltObject, in db: Connection) throws {
    let intent = Intent(id: object.id, key: object.stored.key, publication: object.publication, attempt: 1)
    let post = Post(
      draft: object.draft, intent: intent, stored: object.stored, pageNumber: 0, createdAt: object.createdAt)
    try PostTable.add(
      post, of: intent, size: object.stored.size, at: place, object.createdAt.milliseconds, in: db)
  }

  /// Puts the catalog in its place. What was left of the lost one is kept beside it, as `catalog.lost-….sqlite`.
  /// - Throws: ``CatalogError``: `corrupt` if the written catalog turns out to be damaged, `diskFull`, `unusable`.
  public func finish() async throws(CatalogError) {
    try await queue.run { [self] () throws(CatalogError) in
      defer { alone.end() }
      try Self.reporting(place.path) {
        let damage = try unfinished.database.read { db in try DamageQuery.damage(in: db) }
        if let first = damage.first { throw SQLiteError(.corrupt, first) }
        try unfinished.finish()
      }
    }
  }

  private static func reporting<Value>(
    _ path: String, _ body: () throws -> Value
  ) throws(CatalogError) -> Value {
    do {
      return try body()
    } catch let error as SystemError {
      let isFull = error.code == ENOSPC || error.code == EDQUOT
      throw CatalogError(
        isFull ? .diskFull : .unusable,
        "the catalog could not be rebuilt (\(path): \(error.reason)): "
          + (isFull ? "free some space" : CatalogError.advice(error.code))
          + ", and try again")
    } catch {
      throw CatalogError.from(error, at: path)
    }
  }
}
