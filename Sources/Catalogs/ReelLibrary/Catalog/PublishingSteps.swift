import FoundationEssentials
import ReelCore
import Synchronization

/// The steps of publishing, each inside a transaction of somebody else's, in the name of one owner.
struct PublishingSteps: Sendable {
  let owners: ProcessRegistry
  let place: CatalogPlace
  /// The owner in whose name.
  let me: Int64

  /// A post that was found, and whether its event has been told.
  struct Found: Sendable {
    let stored: PostTable.Stored
    let announced: Bool
  }

  /// The answer to a claim, its post not yet read.
  enum Answer: Sendable {
    case granted(Intent)
    case published(Found)
    case removed(RemovalTable.Stored)
    case held
  }

  // MARK: T1

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
    // Before anything is written: the other requests of the transaction stay.
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

  /// Whether somebody alive is about to store in this destination, or to take something away.
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

  /// Gives the unfinished intent for `id` up unless somebody alive holds it. Whether nobody publishes under its name any
  /// more.
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

  // MARK: T2

  /// Gives the post's place in the feed.
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

  // MARK: What is published already

  /// The post of what is asked for, by what would be stored or by what came in. That both are the same is remembered.
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

  /// The newest removal of that video and author, by what would be stored or by what came in, unless they have become a
  /// post since.
  func removed(
    _ publication: Publication, arrived: ContentDigest? = nil, in db: Connection
  ) throws -> RemovalTable.Stored? {
    let author = IntentTable.author(of: publication)
    for digest in [publication.digest, arrived].compactMap(\.self) {
      if let removed = try RemovalTable.newest(of: digest, author: author, in: db) { return removed }
    }
    return nil
  }

  /// The post of `publication`. An event that a dead process did not tell becomes ours to tell.
  func published(_ publication: Publication, again: Bool, in db: Connection) throws -> Found? {
    let found = try look(for: publication, again: again, in: db)
    if let found, !found.announced {
      try Outbox.hand(found.stored.pageNumber, to: me, in: db)
    }
    return found
  }

  /// The post of `publication`, and whether its event is told or somebody alive is about to. Only reads.
  /// - Parameter again: whether one that has moved from there is none.
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

/// What a catalog that may write has besides its database: the queue of writes, its place among the owners,
/// and the task that renews its lease.
///
/// Whoever lets go of it without ``retire()`` is dead to all others: the lock ends with this object.
final class CatalogWriting: Sendable {
  let writer: CatalogWriter
  let steps: PublishingSteps
  let changes: ChangeSteps
  private let lock: Mutex<(any HeldLock)?>
  private let heartbeat: Heartbeat?

  /// Takes a place among the owners. Blocks.
  /// - Parameter interval: nil where no lease has to be renewed.
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
          // A full disk, a locked catalog.
          return false
        }
        Failpoint.leaseCommitted.pass()
        return true
      }
    }
  }

  /// The name of this owner's lock; nil once it was let go of.
  var lockName: String? { lock.withLock { $0?.name } }

  /// Writes what is pending, gives up what this owner holds, and takes nothing in any more.
  func retire() async throws(CatalogError) {
    guard let lock = abandon() else { return }
    defer { writer.close() }
    // A heartbeat that came after the last word would write the owner down again.
    await heartbeat?.end()
    let steps = steps
    try await writer.commit { db in try steps.owners.retire(steps.me, in: db) }
    Failpoint.retireCommitted.pass()
    lock.retire()
  }

  /// Lets go of the lock, and of nothing else, as a process does that is killed. Nil when it was let go of
  /// before.
  @discardableResult
  func abandon() -> (any HeldLock)? {
    heartbeat?.stop()
    return lock.withLock { $0.take() }
  }

  /// Waits, after ``abandon()``, for the heartbeat that may have been handed in before: for tests.
  func heartbeatEnds() async {
    await heartbeat?.end()
  }
}

extension Failpoint {
  /// The process has come here, in the middle of work on the database: an error that is armed is one of SQLite's.
  func reachInDatabase() throws {
    try rethrowing(as: { SQLiteError(.inputOutput, $0.description) }, reach)
  }
}
