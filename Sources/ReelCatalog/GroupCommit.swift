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
  private struct State {
    var pending: [any PendingWrite] = []
    var isCommitting = false
    var isFlushDue = false
    var isClosed = false
  }

  /// Rows in a group; about 25 ms of work.
  static let largestGroup = 512

  private let database: DatabasePool
  private let path: String
  private let patience: DispatchTimeInterval
  private let state = Mutex(State())

  /// - Parameter patience: how long a write that nobody waits for may stay uncommitted.
  init(database: DatabasePool, path: String, patience: DispatchTimeInterval = .milliseconds(200)) {
    self.database = database
    self.path = path
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

  // MARK: The queue

  private func handIn(_ write: any PendingWrite, urgent: Bool) -> Bool {
    enum Next { case refused, wait, commit, flushLater }
    let next: Next = state.withLock { state in
      if state.isClosed { return .refused }
      state.pending.append(write)
      if state.isCommitting { return .wait }
      if urgent || state.pending.count >= Self.largestGroup {
        state.isCommitting = true
        return .commit
      }
      defer { state.isFlushDue = true }
      return state.isFlushDue ? .wait : .flushLater
    }
    switch next {
    case .refused: return false
    case .wait: break
    case .commit: commitNext()
    case .flushLater: flushLater()
    }
    return true
  }

  private func flushLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + patience) { [weak self] in
      guard let self else { return }
      let isTimely = state.withLock { state in
        state.isFlushDue = false
        if state.isCommitting || state.pending.isEmpty { return false }
        state.isCommitting = true
        return true
      }
      if isTimely { commitNext() }
    }
  }

  private func commitNext() {
    database.asyncWriteWithoutTransaction { [self] db in
      commit(takeGroup(), in: db)
      let hasMore = state.withLock { state in
        state.isCommitting = !state.pending.isEmpty
        return state.isCommitting
      }
      if hasMore { commitNext() }
    }
  }

  private func takeGroup() -> [any PendingWrite] {
    state.withLock { state in
      let group = Array(state.pending.prefix(Self.largestGroup))
      state.pending.removeFirst(group.count)
      return group
    }
  }

  // MARK: One group

  private func commit(_ group: [any PendingWrite], in db: Database) {
    var failure: CatalogError?
    do {
      try db.inTransaction(.immediate) {
        for write in group { try write.perform(in: db) }
        return .commit
      }
    } catch {
      failure = CatalogError.from(error, at: path)
    }
    for write in group { write.end(failure, at: path) }
  }
}
