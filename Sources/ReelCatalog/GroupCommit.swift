import Dispatch
import GRDB
import ReelModel
import Synchronization

/// The only writer of a catalog: what many tasks want to write at once is committed together.
///
/// A durable commit costs about 5 ms whatever is in it, so while one is in flight, what comes in is
/// gathered for the next. When nothing is in flight, a write is committed at once. Each write stands in a
/// savepoint of its own, so one that fails takes no other with it; each caller goes on after the commit that
/// holds its row. What was handed in first is written first.
final class GroupCommit: Sendable {
  fileprivate struct State {
    var pending: [any PendingWrite] = []
    var isCommitting = false
    var isFlushDue = false
    var isClosed = false
  }

  /// Rows in a group; about 25 ms of work.
  static let largestGroup = 512
  /// Writes that nobody waits for are kept over a failure while fewer than this are pending.
  static let mostKept = 10_000

  private let database: DatabasePool
  private let connection: CatalogConnection
  private let patience: DispatchTimeInterval
  private let state = Mutex(State())

  /// - Parameter patience: how long a write that nobody waits for may stay uncommitted.
  init(
    database: DatabasePool, connection: CatalogConnection, patience: DispatchTimeInterval = .milliseconds(200)
  ) {
    self.database = database
    self.connection = connection
    self.patience = patience
  }

  /// Runs `write` in the next group and gives its result once the group is committed.
  ///
  /// Cancelling the task changes nothing: a write that was handed in is carried out, and its caller hears
  /// of it.
  /// - Throws: what `write` throws (nothing of it is written then), or why the group was not committed.
  func durably<Value: Sendable>(
    _ write: @escaping @Sendable (Database) throws -> Value
  ) async throws(CatalogError) -> Value {
    let result: Result<Value, CatalogError> = await withCheckedContinuation { continuation in
      let pending = AwaitedWrite(write) { continuation.resume(returning: $0) }
      if !handIn(pending, urgent: true) {
        continuation.resume(returning: .failure(.closed(at: path)))
      }
    }
    return try result.get()
  }

  /// Hands `write` in without waiting: it is committed with the next group, or after ``patience``.
  func lazily(_ write: @escaping @Sendable (Database) throws -> Void) {
    _ = handIn(UnawaitedWrite(write), urgent: false)
  }

  /// Waits until everything that was handed in before is committed.
  func settle() async throws(CatalogError) {
    try await durably { _ in }
  }

  /// Runs `body` between two groups, outside of any transaction.
  func alone<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(CatalogError) -> Value {
    guard connection.enter() else { throw CatalogError.closed(at: path) }
    defer { connection.leave() }
    let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
      database.asyncWriteWithoutTransaction { db in
        continuation.resume(returning: Result { try body(db) })
      }
    }
    do {
      return try result.get()
    } catch {
      throw CatalogError.from(error, at: path)
    }
  }

  /// Takes nothing in any more.
  func close() {
    state.withLock { $0.isClosed = true }
  }

  private var path: String { connection.path }

  // MARK: The queue

  fileprivate enum Step { case refuse, wait, commit, flushLater }

  private func handIn(_ write: any PendingWrite, urgent: Bool) -> Bool {
    let step: Step = state.withLock { state in
      if state.isClosed { return .refuse }
      state.pending.append(write)
      if state.isCommitting { return .wait }
      if urgent || state.pending.count >= Self.largestGroup {
        state.isCommitting = true
        return .commit
      }
      return state.flushDue()
    }
    take(step)
    return step != .refuse
  }

  private func take(_ step: Step) {
    switch step {
    case .refuse, .wait: break
    case .commit: commitNext()
    case .flushLater: flushLater()
    }
  }

  private func flushLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + patience) { [weak self] in
      guard let self else { return }
      let step: Step = state.withLock { state in
        state.isFlushDue = false
        if state.isCommitting || state.isClosed || state.pending.isEmpty { return .wait }
        state.isCommitting = true
        return .commit
      }
      take(step)
    }
  }

  private func commitNext() {
    guard connection.enter() else {
      let refused = state.withLock { state in
        state.isClosed = true
        defer { state.pending = [] }
        return state.pending
      }
      for write in refused { write.end(.closed(at: path), at: path) }
      return
    }
    database.asyncWriteWithoutTransaction { [self] db in
      let group = state.withLock { $0.takeGroup() }
      let failure = commit(group, in: db)
      connection.leave()
      let step = state.withLock { $0.next(after: group, failed: failure != nil) }
      for write in group { write.end(failure, at: path) }
      take(step)
    }
  }

  private func commit(_ group: [any PendingWrite], in db: Database) -> CatalogError? {
    do {
      try db.inTransaction(.immediate) {
        for write in group { try write.perform(in: db) }
        return .commit
      }
      return nil
    } catch {
      return CatalogError.from(error, at: path)
    }
  }
}

extension GroupCommit.State {
  mutating func takeGroup() -> [any PendingWrite] {
    let group = Array(pending.prefix(GroupCommit.largestGroup))
    pending.removeFirst(group.count)
    return group
  }

  /// What to do after a group. Writes of a failed one that nobody waits for are tried again a little later,
  /// as long as they are few.
  mutating func next(after group: [any PendingWrite], failed: Bool) -> GroupCommit.Step {
    if failed, pending.count < GroupCommit.mostKept {
      pending.insert(contentsOf: group.filter { !$0.isAwaited }, at: 0)
    }
    isCommitting = failed ? pending.contains { $0.isAwaited } : !pending.isEmpty
    if isCommitting { return .commit }
    return pending.isEmpty ? .wait : flushDue()
  }

  mutating func flushDue() -> GroupCommit.Step {
    defer { isFlushDue = true }
    return isFlushDue ? .wait : .flushLater
  }
}
