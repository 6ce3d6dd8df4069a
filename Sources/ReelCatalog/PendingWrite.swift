import ReelModel
import ReelSQLite
import Synchronization

/// A write that waits for its group.
protocol PendingWrite: Sendable {
  /// Whether somebody waits for its result.
  var isAwaited: Bool { get }

  /// Writes. Keeps to itself what is wrong with this write alone.
  /// - Throws: what ends the whole group.
  func perform(in db: Connection) throws

  /// The group has been committed, or (`failure`) has not.
  func end(_ failure: CatalogError?, at path: String)
}

/// A write whose result somebody waits for.
final class AwaitedWrite<Value: Sendable>: PendingWrite {
  private let write: @Sendable (Connection) throws -> Value
  private let answer: @Sendable (Result<Value, CatalogError>) -> Void
  let isAwaited = true
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
    } catch  where !db.endsGroup(error) {
      outcome.withLock { $0 = .failure(error) }
    }
  }

  func end(_ failure: CatalogError?, at path: String) {
    let outcome = outcome.withLock { $0 }
    switch outcome {
    case .failure(let error): answer(.failure(.from(error, at: path)))
    case .success(let value) where failure == nil: answer(.success(value))
    default: answer(.failure(failure ?? .closed(at: path)))
    }
  }
}

/// A write that nobody waits for: one statement.
struct UnawaitedWrite: PendingWrite {
  let isAwaited = false
  private let write: @Sendable (Connection) throws -> Void

  init(_ write: @escaping @Sendable (Connection) throws -> Void) {
    self.write = write
  }

  func perform(in db: Connection) throws {
    do {
      try write(db)
    } catch  where !db.endsGroup(error) {
      // One row of a cache less: it is found out anew.
    }
  }

  func end(_ failure: CatalogError?, at path: String) {}
}

extension Connection {
  /// Whether `error` of one write means that no other of its transaction can be carried out either.
  fileprivate func endsGroup(_ error: any Error) -> Bool {
    if !isInsideTransaction { return true }
    guard let error = error as? SQLiteError else { return false }
    return error.code != .constraint
  }
}
