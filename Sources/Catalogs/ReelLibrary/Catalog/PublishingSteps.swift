import FoundationEssentials
import ReelCore
import Synchronization

/// The steps of publishing, in the name of one owner. Each runs inside the caller's transaction.
struct PublishingSteps: Sendable {
  let owners: ProcessRegistry
  let place: CatalogPlace
  /// The owner that takes the steps.
  let me: Int64

  /// A post that was found, and whether its event is delivered, or a living process is about to deliver it.
  struct Found: Sendable {
    let stored: PostTable.Stored
    let announced: Bool
  }

  /// The answer to a claim, whose post has not been decoded yet.
  enum Answer: Sendable {
    case granted(Intent)
    case published(Found)
    case removed(RemovalTable.Stored)
    case held
  }

  // MARK: T1: claiming

  func claim(_ request: ClaimRequest, in db: Connection) throws -> Answer {
    let publication = request.publication
    let key = IntentTable.PublicationKey(
      publication, destination: try DestinationTable.id(of: place.name(of: publication.destination), in: db))
    let decision = try ClaimDecision<Found, RemovalTable.Stored, IntentTable.Unfinished>.decide(
      request.duplicates, again: request.again,
      published: try published(request, in: db),
      removed: try removed(publication, arrived: request.arrived, in: db),
      own: try IntentTable.unfinished(key, in: db),
      related: try IntentTable.related(to: key, arrived: request.arrived, in: db),
      holding: { try owners.holding($0.owner, for: me, in: db) },
      posterNameIsTaken: try isTaken(request.poster, in: key.destination, db: db),
      nameIsTaken: false)
    switch decision {
    case .published(let found): return .published(found)
    case .removed(let removed): return .removed(removed)
    case .held: return .held
    // Thrown before anything is written, so that the other requests of the transaction are not affected.
    case .nameTaken: throw CatalogError.nameTaken(request, at: path)
    case .takeOver(let unfinished):
      if let arrived = request.arrived { try IntentTable.remember(arrived, of: unfinished.number, in: db) }
      return .granted(try takeOver(unfinished, publication, request.poster, in: db))
    case .begin: return .granted(try begin(request, key, in: db))
    }
  }

  private func isTaken(_ poster: PosterRequest?, in destination: Int64, db: Connection) throws -> Bool {
    guard let poster else { return false }
    return try PosterTable.isNamed(poster.newKey, in: destination, db: db)
  }

  /// Whether a living process is about to store something in this destination, or to remove something from it.
  func isInUse(_ destination: Int64, in db: Connection) throws -> Bool {
    let holders: [Int64] = try db.values(
      """
      SELECT owner FROM intent WHERE destination = ?1 AND owner IS NOT NULL
      UNION SELECT owner FROM poster WHERE destination = ?1 AND owner IS NOT NULL
      UNION SELECT change.owner FROM change JOIN intent ON intent.number = change.intent
        WHERE (intent.destination = ?1 OR change.destination = ?1) AND change.owner IS NOT NULL
      """, [destination])
    return try holders.contains { try owners.isAlive($0, in: db) }
  }

  private func takeOver(
    _ unfinished: IntentTable.Unfinished, _ publication: Publication, _ poster: PosterRequest?,
    in db: Connection
  ) throws -> Intent {
    try IntentTable.takeOver(unfinished.number, owner: me, at: now, in: db)
    let poster = try poster.map { try PosterTable.name($0, for: unfinished.number, at: now, in: db) }
    try Failpoint.takeOverWritten.reachInDatabase()
    return Intent(
      id: unfinished.id, key: unfinished.key, publication: publication,
      attempt: unfinished.attempt.addingClamped(1),
      poster: poster)
  }

  /// Gives up the unfinished intent for `id`, unless it is held. Returns whether it is given up, so that no process can
  /// publish under its name any more.
  func giveUp(_ id: PostID, in db: Connection) throws -> Bool {
    if let (_, unfinished) = try IntentTable.unfinished(id, at: place, in: db) {
      if try owners.holding(unfinished.owner, for: me, in: db) == .held { return false }
      try IntentTable.giveUp(unfinished.number, at: now, in: db)
      try Failpoint.releaseWritten.reachInDatabase()
    }
    return try IntentTable.isGivenUp(id, in: db)
  }

  private func begin(
    _ request: ClaimRequest, _ key: IntentTable.PublicationKey, in db: Connection
  ) throws -> Intent {
    let number: Int64
    do {
      number = try IntentTable.insert(request, key, owner: me, at: now, in: db)
    } catch let error as SQLiteError where error.isUniqueViolation {
      throw CatalogError.nameTaken(request, at: path)
    }
    if let arrived = request.arrived { try IntentTable.remember(arrived, of: number, in: db) }
    let poster = try request.poster.map { try PosterTable.name($0, for: number, at: now, in: db) }
    try Failpoint.claimWritten.reachInDatabase()
    return Intent(
      id: request.newID, key: request.newKey, publication: request.publication, attempt: 1, poster: poster)
  }

  // MARK: T2: publishing

  /// Publishes the post, and returns its place in the feed.
  func complete(
    _ intent: Intent, document: String, poster: ObjectKey?, bytes: Int64, at moment: Int64, in db: Connection
  ) throws -> Int {
    guard let finished = try IntentTable.finish(intent, showing: poster, owner: me, at: moment, in: db) else {
      throw CatalogError.leaseLost(intent, at: path)
    }
    if let poster { try PosterTable.show(poster, of: finished.number, at: moment, in: db) }
    try Failpoint.intentFinished.reachInDatabase()
    let place = try PostTable.insert(
      intent.id, document: document, intent: finished.number, at: moment, in: db)
    try Failpoint.postInserted.reachInDatabase()
    try DestinationTable.count(bytes: bytes, in: finished.destination, db: db)
    try Outbox.queue(place, owner: me, in: db)
    try Failpoint.completeWritten.reachInDatabase()
    return place
  }

  func release(_ intent: Intent, because reason: ReleaseReason, in db: Connection) throws {
    try IntentTable.release(intent, because: reason, owner: me, at: now, in: db)
    try Failpoint.releaseWritten.reachInDatabase()
  }

  // MARK: Existing posts

  /// Finds the post of the requested video, by the digest of what would be stored or of what came in. If it is found by
  /// the former, the latter is remembered for it.
  private func published(_ request: ClaimRequest, in db: Connection) throws -> Found? {
    if let found = try published(request.publication, again: request.again, in: db) {
      if let arrived = request.arrived {
        try IntentTable.remember(arrived, of: found.stored.intent(in: db), in: db)
      }
      return found
    }
    guard let arrived = request.arrived else { return nil }
    let publication = request.publication
    return try published(
      Publication(digest: arrived, destination: publication.destination, authorID: publication.authorID),
      again: request.again, in: db)
  }

  /// Finds the newest removal of that video and author, by the digest of what would be stored or of what came in,
  /// unless the video has become a post since.
  func removed(
    _ publication: Publication, arrived: ContentDigest? = nil, in db: Connection
  ) throws -> RemovalTable.Stored? {
    let author = IntentTable.author(of: publication)
    for digest in [publication.digest, arrived].compactMap(\.self) {
      if let removed = try RemovalTable.newest(of: digest, author: author, in: db) { return removed }
    }
    return nil
  }

  /// Finds the post of `publication`. If a dead process left its event undelivered, this owner takes that over.
  func published(_ publication: Publication, again: Bool, in db: Connection) throws -> Found? {
    let found = try look(for: publication, again: again, in: db)
    if let found, !found.announced {
      try Outbox.hand(found.stored.pageNumber, to: me, in: db)
    }
    return found
  }

  /// Finds the post of `publication`, and whether its event is delivered, or a living
  /// process is about to deliver it. Only reads.
  /// - Parameter again: whether to ignore a post that has moved out of that store.
  func look(for publication: Publication, again: Bool, in db: Connection) throws -> Found? {
    let store = place.name(of: publication.destination)
    let found = try PostTable.find(publication, in: store, orMoved: !again, db: db)
    guard let (stored, teller) = found else { return nil }
    guard let teller else { return Found(stored: stored, announced: true) }
    return Found(stored: stored, announced: try owners.holding(teller, for: me, in: db) == .held)
  }

  private var path: String { place.path }

  private var now: Int64 { owners.clock.now().milliseconds }
}

/// What a catalog needs for writing besides its database: the queue of writes, its place among the owners, and the task
/// that renews its lease.
///
/// If this object goes without ``retire()``, its owner is dead to all others, because the lock ends with it.
final class CatalogWriting: Sendable {
  let writer: CatalogWriter
  let steps: PublishingSteps
  let changes: ChangeSteps
  private let lock: Mutex<(any HeldLock)?>
  private let heartbeat: Heartbeat?

  /// Registers an owner. Blocks.
  /// - Parameter interval: how often to renew the lease; nil if it need not be renewed.
  init(
    writer: CatalogWriter, owners: ProcessRegistry, place: CatalogPlace, lock: any HeldLock,
    heartbeatEvery interval: Duration?
  ) throws(CatalogError) {
    let me = try writer.write { db in try owners.register(lock, in: db) }
    self.writer = writer
    self.lock = Mutex(lock)
    steps = PublishingSteps(owners: owners, place: place, me: me)
    changes = ChangeSteps(owners: owners, place: place, me: me)
    let name = lock.name
    heartbeat = interval.map { interval in
      Heartbeat(every: interval) {
        do throws(CatalogError) {
          try await writer.commit { db in try owners.renew(me, lock: name, in: db) }
        } catch {
          // For example, a full disk or a locked catalog.
          return false
        }
        Failpoint.leaseCommitted.pass()
        return true
      }
    }
  }

  /// The name of this owner's lock; nil once that is released.
  var lockName: String? { lock.withLock { $0?.name } }

  /// Writes what is pending, releases what this owner holds, and accepts no more writes.
  func retire() async throws(CatalogError) {
    guard let lock = abandon() else { return }
    defer { writer.close() }
    // A heartbeat after the owner's row is deleted would insert that again.
    await heartbeat?.end()
    let steps = steps
    try await writer.commit { db in try steps.owners.retire(steps.me, in: db) }
    Failpoint.retireCommitted.pass()
    lock.retire()
  }

  /// Releases the lock and nothing else, as when the process is killed. Returns nil if it was released before.
  @discardableResult
  func abandon() -> (any HeldLock)? {
    heartbeat?.stop()
    return lock.withLock { $0.take() }
  }

  /// Waits, after ``abandon()``, for a heartbeat that may have been handed in before; for tests.
  func heartbeatEnds() async {
    await heartbeat?.end()
  }
}

extension Failpoint {
  /// Reaches this failpoint during work on the database. An error that is armed there is thrown as an error of SQLite.
  func reachInDatabase() throws {
    try rethrowing(as: { SQLiteError(.inputOutput, $0.description) }, reach)
  }
}
