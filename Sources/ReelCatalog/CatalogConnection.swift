import GRDB
import ReelModel
import ReelSystem
import Synchronization

/// A database that is closed when its last user has left it: SQLite does not bear being used after its end.
final class CatalogConnection: Sendable {
  private struct State {
    var users = 0
    var isClosing = false
    var closer: CheckedContinuation<Void, Never>?
  }

  let path: String
  private let database: any DatabaseReader
  private let state = Mutex(State())

  init(_ database: any DatabaseReader, path: String) {
    self.database = database
    self.path = path
  }

  // MARK: Using it

  /// Whether the database may be used, until ``leave()``.
  func enter() -> Bool {
    state.withLock { state in
      if state.isClosing { return false }
      state.users += 1
      return true
    }
  }

  /// The use that ``enter()`` began is over.
  func leave() {
    let closer = state.withLock { state in
      state.users -= 1
      return state.users == 0 ? state.closer.take() : nil
    }
    closer?.resume()
  }

  /// Reads with one statement.
  func look<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(CatalogError) -> Value {
    if BlockingThread.isCurrent { return try usingNow { database in try database.unsafeRead(body) } }
    return try await using { database in try await database.unsafeRead(body) }
  }

  /// Reads with several statements, all of the same moment.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws(CatalogError) -> Value {
    if BlockingThread.isCurrent { return try usingNow { database in try database.read(body) } }
    return try await using { database in try await database.read(body) }
  }

  private func using<Value: Sendable>(
    _ body: (any DatabaseReader) async throws -> Value
  ) async throws(CatalogError) -> Value {
    guard enter() else { throw CatalogError.closed(at: path) }
    defer { leave() }
    do {
      return try await body(database)
    } catch {
      throw CatalogError.from(error, at: path)
    }
  }

  /// Blocks: for a thread that may.
  private func usingNow<Value>(
    _ body: (any DatabaseReader) throws -> Value
  ) throws(CatalogError) -> Value {
    guard enter() else { throw CatalogError.closed(at: path) }
    defer { leave() }
    do {
      return try body(database)
    } catch {
      throw CatalogError.from(error, at: path)
    }
  }

  // MARK: Its end

  /// Lets nobody in any more, waits until all have left, and closes. A second time does nothing.
  func close() async throws(CatalogError) {
    let wasClosing = state.withLock { state in
      defer { state.isClosing = true }
      return state.isClosing
    }
    if wasClosing { return }
    await everybodyLeaving()
    let (database, path) = (database, path)
    try await BlockingQueue(label: "reel.catalog.close", width: 1).run { () throws(CatalogError) in
      try CatalogDatabase.close(database, path: path)
    }
  }

  private func everybodyLeaving() async {
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
        if state.users > 0 { state.closer = continuation }
        return state.users == 0
      }
      if isEmpty { continuation.resume() }
    }
  }
}
