import ReelCore
import Synchronization

/// What a catalog that may write has besides its database: the queue of writes, its place among the owners,
/// and the task that renews its lease.
///
/// Whoever lets go of it without ``retire()`` is dead to all others: the lock ends with this object.
final class CatalogWriting: Sendable {
  let writer: CatalogWriter
  let steps: PublishingSteps
  private let lock: Mutex<OwnerLock?>
  private let heartbeat: Task<Void, Never>

  init(
    writer: CatalogWriter, owners: ProcessRegistry, place: CatalogPlace, lock: OwnerLock,
    heartbeatEvery interval: Duration
  ) async throws(CatalogError) {
    let me = try await writer.commit { db in try owners.register(lock, in: db) }
    self.writer = writer
    self.lock = Mutex(lock)
    steps = PublishingSteps(owners: owners, place: place, me: me)
    let name = lock.name
    heartbeat = Task {
      while (try? await Task.sleep(for: interval, clock: .continuous)) != nil {
        // One that fails (a full disk, a locked catalog) is made good by the next.
        try? await writer.commit { db in try owners.renew(me, lock: name, in: db) }
        Failpoint.leaseCommitted.pass()
      }
    }
  }

  deinit {
    heartbeat.cancel()
  }

  /// The name of this owner's lock; nil once it was let go of.
  var lockName: String? { lock.withLock { $0?.name } }

  /// Whether `intent` is still this owner's, whose lease begins anew then.
  func holds(_ intent: Intent, in db: Connection) throws -> Bool {
    guard let name = lockName,
      try IntentTable.isHeld(intent, by: steps.me, in: db)
    else { return false }
    try steps.owners.renew(steps.me, lock: name, in: db)
    return true
  }

  /// Writes what is pending, gives up what this owner holds, and takes nothing in any more.
  func retire() async throws(CatalogError) {
    guard let lock = abandon() else { return }
    defer { writer.close() }
    // A heartbeat that came after the last word would write the owner down again.
    await heartbeat.value
    let steps = steps
    try await writer.commit { db in try steps.owners.retire(steps.me, in: db) }
    Failpoint.retireCommitted.pass()
    lock.retire()
  }

  /// Lets go of the lock, and of nothing else, as a process does that is killed. Nil when it was let go of
  /// before.
  @discardableResult
  func abandon() -> OwnerLock? {
    heartbeat.cancel()
    return lock.withLock { $0.take() }
  }

  /// Waits, after ``abandon()``, for the heartbeat that may have been handed in before: for tests.
  func heartbeatEnds() async {
    await heartbeat.value
  }
}
