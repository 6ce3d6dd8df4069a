import Dispatch
import ReelModel
import ReelSQLite
import ReelSystem
import Synchronization

/// The only writer of a catalog: what many tasks want to write at once is committed together.
///
/// A durable commit costs about 5 ms whatever is in it, so while one is in flight, what comes in is
/// gathered for the next. When nothing is in flight, a write is committed at once. Each write stands in a
/// savepoint of its own, so one that fails takes no other with it; each caller goes on after the commit that
/// holds its row. What was handed in first is written first.
final class GroupCommit: Sendable {
  private let database: Database
  /// Where it is written.
  private let thread = DispatchQueue(label: "reel.catalog.write")
  private let connection: CatalogConnection
  /// What was opened: nothing counts that is written into a file that the path does not lead to any more.
  private let file: CatalogFile.Identity?
  private let patience: DispatchTimeInterval
  private let queue = Mutex(WriteQueue())
  private let pace = GroupPace()

  /// - Parameter patience: how long a write that nobody waits for may stay uncommitted.
  init(
    database: Database, connection: CatalogConnection, patience: DispatchTimeInterval = .milliseconds(200)
  ) {
    self.database = database
    self.connection = connection
    file = CatalogFile.Identity(at: connection.path)
    self.patience = patience
  }

  /// Runs `write` in the next group and gives its result once the group is committed.
  ///
  /// Cancelling the task changes nothing: a write that was handed in is carried out, and its caller hears
  /// of it.
  /// - Throws: what `write` throws (nothing of it is written then), or why the group was not committed.
  func durably<Value: Sendable>(
    _ write: @escaping @Sendable (Connection) throws -> Value
  ) async throws(CatalogError) -> Value {
    let result: Result<Value, CatalogError> = await withCheckedContinuation { continuation in
      let pending = AwaitedWrite(write) { continuation.resume(returning: $0) }
      if !handIn(pending) { continuation.resume(returning: .failure(.closed(at: path))) }
    }
    return try result.get()
  }

  /// Hands `write` in without waiting: it is committed with the next group, or after ``patience``. It is one
  /// statement, which SQLite carries out whole or not at all; it has no savepoint of its own.
  func lazily(_ write: @escaping @Sendable (Connection) throws -> Void) {
    _ = handIn(UnawaitedWrite(write))
  }

  /// Whether more is pending than a few groups.
  var isCrowded: Bool { queue.withLock { $0.isCrowded } }

  /// Waits until everything that was handed in before is committed.
  func settle() async throws(CatalogError) {
    try await durably { _ in }
  }

  /// Runs `body` between two groups, outside of any transaction.
  func alone<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) async throws(CatalogError) -> Value {
    guard connection.enter() else { throw CatalogError.closed(at: path) }
    defer { connection.leave() }
    let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
      thread.async { [database] in
        continuation.resume(returning: Result { try database.write(body) })
      }
    }
    do {
      return try result.get()
    } catch {
      throw CatalogError.from(error, at: path)
    }
  }

  /// Takes nothing in any more; what was handed in before is still written.
  func close() {
    queue.withLock { $0.close() }
  }

  private var path: String { connection.path }

  // MARK: The queue

  private func handIn(_ write: any PendingWrite) -> Bool {
    let step = queue.withLock { $0.handIn(write) }
    take(step)
    return step != .refuse
  }

  private func take(_ step: WriteQueue.Step) {
    switch step {
    case .refuse, .wait: break
    case .commit: commitInTime()
    case .flushLater: flushLater()
    }
  }

  private func flushLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + patience) { [weak self] in
      guard let self else { return }
      take(queue.withLock { $0.flush() })
    }
  }

  private func commitInTime() {
    let wait = pace.wait()
    if wait == .zero { return commitNext() }
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(wait.wholeNanoseconds)) { [self] in
      commitNext()
    }
  }

  private func commitNext() {
    guard connection.enter() else {
      let refused = queue.withLock { $0.abandon() }
      for write in refused { write.end(.closed(at: path), at: path) }
      return
    }
    thread.async { [self] in
      let group = queue.withLock { $0.takeGroup() }
      pace.begins(with: group.count { $0.isAwaited })
      let failure = commit(group)
      connection.leave()
      let step = queue.withLock { $0.next(after: group, failed: failure != nil) }
      for write in group { write.end(failure, at: path) }
      take(step)
    }
  }

  private func commit(_ group: [any PendingWrite]) -> CatalogError? {
    do {
      try Failpoint.groupBegun.reachInDatabase()
      try database.write { db in
        try db.transaction(.immediate) {
          try Failpoint.groupOpened.reachInDatabase()
          for write in group { try write.perform(in: db) }
          try Failpoint.groupWritten.reachInDatabase()
          guard file == CatalogFile.Identity(at: path) else { throw CatalogError.moved(from: path) }
        }
      }
      try Failpoint.groupCommitted.reachInDatabase()
      return nil
    } catch {
      return CatalogError.from(error, at: path)
    }
  }
}

extension Duration {
  fileprivate var wholeNanoseconds: Int {
    let (seconds, attoseconds) = components
    return Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
  }
}
