import Dispatch
import ReelCore
import Synchronization

/// The only writer of a catalog in this process.
///
/// A durable commit takes milliseconds, whatever it contains. So writes that lanes (a whole batch each) and tasks hand
/// in during one transaction are committed together in the next. Any other blocking write has its own transaction.
final class CatalogWriter: Sendable {
  private let transactions: CatalogTransactions
  private let groups: GroupWriting<any PendingWrite>
  private let owed: OwedWrites

  /// - Parameter patience: how long a write whose result nobody awaits may stay uncommitted.
  init(
    database: Database, connection: CatalogConnection, patience: DispatchTimeInterval = .milliseconds(200)
  ) {
    let transactions = CatalogTransactions(
      database: database, connection: connection, file: CatalogFile.Identity(at: connection.path))
    var limits = GroupWriting<any PendingWrite>.Limits()
    limits.patience = patience
    let owed = OwedWrites()
    (self.transactions, self.owed) = (transactions, owed)
    groups = GroupWriting(label: "reel.catalog.write", limits: limits, isAwaited: { $0.isAwaited }) { group in
      let group = owed.takeAll() + group
      var failure: CatalogError?
      do throws(CatalogError) {
        try transactions.run { db in for write in group { try write.perform(in: db) } }
      } catch {
        failure = error
      }
      for write in group { write.end(failure, at: transactions.path) }
      return failure == nil
    }
  }

  // MARK: For threads that may block

  /// Runs `body` in its own transaction, now. Blocks.
  func write<Value: Sendable>(
    _ body: @Sendable (Connection) throws -> Value
  ) throws(CatalogError) -> Value {
    try transactions.run(body)
  }

  /// Runs `body` in the next transaction, in its own savepoint, together with all other writes that were handed in by
  /// then, so that concurrent writes cost one commit. Blocks.
  func writeTogether<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) throws(CatalogError) -> Value {
    let ended = DispatchSemaphore(value: 0)
    let result = Mutex<Result<Value, CatalogError>?>(nil)
    let pending = AwaitedWrite(body) { answer in
      result.withLock { $0 = answer }
      ended.signal()
    }
    guard groups.handIn(pending) else { throw .closed(at: transactions.path) }
    ended.wait()
    guard let result = result.withLock({ $0 }) else { throw .closed(at: transactions.path) }
    return try result.get()
  }

  // MARK: For tasks

  /// Runs `write` in the next transaction, in its own savepoint, and returns its result once that is committed.
  ///
  /// Cancelling the task has no effect: a write that was handed in is carried out, and its caller gets the result.
  /// - Throws: what `write` throws (nothing of it is written then), or the reason why nothing was committed.
  func commit<Value: Sendable>(
    _ write: @escaping @Sendable (Connection) throws -> Value
  ) async throws(CatalogError) -> Value {
    let result: Result<Value, CatalogError> = await withCheckedContinuation { continuation in
      let pending = AwaitedWrite(write) { continuation.resume(returning: $0) }
      if !groups.handIn(pending) { continuation.resume(returning: .failure(.closed(at: transactions.path))) }
    }
    return try result.get()
  }

  /// Hands in `write` without waiting. It is committed with the next transaction, or soon.
  func enqueue(_ write: @escaping @Sendable (Connection) throws -> Void) {
    _ = groups.handIn(UnawaitedWrite(write: write))
  }

  /// Does the same as ``commit(_:)``. A write that is not committed stays owed: it is repeated before whatever is handed in
  /// next.
  func commitOrOwe<Value: Sendable>(
    _ write: @escaping @Sendable (Connection) throws -> Value
  ) async throws(CatalogError) -> Value {
    do throws(CatalogError) {
      return try await commit(write)
    } catch {
      owed.add { db in _ = try write(db) }
      throw error
    }
  }

  /// Does the same as ``write(_:)``; what is not committed stays owed, as in ``commitOrOwe(_:)``. Blocks.
  func writeOrOwe(_ write: @escaping @Sendable (Connection) throws -> Void) throws(CatalogError) {
    do throws(CatalogError) {
      try self.write(write)
    } catch {
      owed.add(write)
      throw error
    }
  }

  /// Waits until everything that was handed in before is committed.
  func flush() async throws(CatalogError) {
    try await commit { _ in }
  }

  /// Runs `body` outside of any transaction.
  func alone<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) async throws(CatalogError) -> Value {
    let result: Result<Value, CatalogError> = await withCheckedContinuation { continuation in
      groups.between { [transactions] in
        continuation.resume(returning: Result { () throws(CatalogError) in try transactions.outside(body) })
      }
    }
    return try result.get()
  }

  /// What the tests wait for.
  var pendingCount: Int { groups.pendingCount }

  /// Accepts no more writes from tasks; those that were handed in before are still carried out.
  func close() { groups.close() }
}

/// The transactions of an open catalog.
private struct CatalogTransactions: Sendable {
  let database: Database
  let connection: CatalogConnection
  /// The file that was opened. A transaction fails if the path no longer leads to it, as nobody would find its writes.
  let file: CatalogFile.Identity?

  var path: String { connection.path }

  func run<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws(CatalogError) -> Value {
    try usingConnection { try transaction(body) }
  }

  /// Runs `body` outside of any transaction.
  func outside<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws(CatalogError) -> Value
  {
    try usingConnection { try database.write(body) }
  }

  private func usingConnection<Value>(_ body: () throws -> Value) throws(CatalogError) -> Value {
    guard connection.enter() else { throw CatalogError.closed(at: path) }
    defer { connection.leave() }
    return try CatalogError.mapping(at: path, body)
  }

  private func transaction<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws -> Value {
    try Failpoint.groupBegun.reachInDatabase()
    let value = try database.write { db in
      try db.transaction(.immediate) {
        try Failpoint.groupOpened.reachInDatabase()
        let value = try body(db)
        try Failpoint.groupWritten.reachInDatabase()
        guard file == CatalogFile.Identity(at: path) else { throw CatalogError.moved(from: path) }
        return value
      }
    }
    try Failpoint.groupCommitted.reachInDatabase()
    return value
  }
}

/// A write that was handed in to be committed with others.
private protocol PendingWrite: Sendable {
  /// Whether a caller waits for its result.
  var isAwaited: Bool { get }

  func perform(in db: Connection) throws

  /// Reports that it was committed, or that it was not (`failure`).
  func end(_ failure: CatalogError?, at path: String)
}

private final class AwaitedWrite<Value: Sendable>: PendingWrite {
  let isAwaited = true
  private let write: @Sendable (Connection) throws -> Value
  private let answer: @Sendable (Result<Value, CatalogError>) -> Void
  private let outcome = Mutex<Result<Value, any Error>?>(nil)

  init(
    _ write: @escaping @Sendable (Connection) throws -> Value,
    answer: @escaping @Sendable (Result<Value, CatalogError>) -> Void
  ) {
    self.write = write
    self.answer = answer
  }

  func perform(in db: Connection) throws {
    do {
      let value = try db.savepoint { try write(db) }
      outcome.withLock { $0 = .success(value) }
    } catch  where !db.endsTransaction(error) {
      outcome.withLock { $0 = .failure(error) }
    }
  }

  func end(_ failure: CatalogError?, at path: String) {
    switch outcome.withLock({ $0 }) {
    case .failure(let error): answer(.failure(.from(error, at: path)))
    case .success(let value) where failure == nil: answer(.success(value))
    default: answer(.failure(failure ?? .closed(at: path)))
    }
  }
}

private struct UnawaitedWrite: PendingWrite {
  let isAwaited = false
  let write: @Sendable (Connection) throws -> Void

  func perform(in db: Connection) throws {
    do {
      try write(db)
    } catch  where !db.endsTransaction(error) {
      // The cache lacks a row, which will be computed again.
    }
  }

  func end(_ failure: CatalogError?, at path: String) {}
}

/// Writes that were not committed and still have to be.
private final class OwedWrites: Sendable {
  private let writes = Mutex<[any PendingWrite]>([])

  func add(_ write: @escaping @Sendable (Connection) throws -> Void) {
    add(OwedWrite(write: UnawaitedWrite(write: write), owed: self))
  }

  fileprivate func add(_ write: OwedWrite) { writes.withLock { $0.append(write) } }

  func takeAll() -> [any PendingWrite] {
    writes.withLock { writes in
      defer { writes = [] }
      return writes
    }
  }
}

private struct OwedWrite: PendingWrite {
  let isAwaited = false
  let write: UnawaitedWrite
  let owed: OwedWrites

  /// Writes all of it or nothing.
  func perform(in db: Connection) throws {
    do {
      try db.savepoint { try write.write(db) }
    } catch  where !db.endsTransaction(error) {
    }
  }

  func end(_ failure: CatalogError?, at path: String) { if failure != nil { owed.add(self) } }
}

extension Connection {
  /// Whether `error`, thrown by one write, means that no other write of its transaction can be carried out either.
  fileprivate func endsTransaction(_ error: any Error) -> Bool {
    if !isInsideTransaction { return true }
    guard let error = error as? SQLiteError, error.isOfDatabase else { return false }
    return error.code != .constraint
  }
}
