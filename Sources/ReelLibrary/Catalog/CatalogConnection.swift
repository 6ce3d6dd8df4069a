import ReelCore
import Synchronization

/// A database that is closed when its last user has left it: SQLite does not bear being used after its end.
final class CatalogConnection: Sendable {
  private struct State {
    var users = 0
    var isClosing = false
    var closer: CheckedContinuation<Void, Never>?
  }

  let path: String
  private let database: Database
  private let threads = BlockingQueue(label: "reel.catalog.read", width: CatalogDatabase.readerCount)
  private let state = Mutex(State())

  init(_ database: Database, path: String) {
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
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) async throws(CatalogError) -> Value {
    try await using { database, interruption in try database.look(endedBy: interruption, body) }
  }

  /// Reads with several statements, all of the same moment.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) async throws(CatalogError) -> Value {
    try await using { database, interruption in try database.read(endedBy: interruption, body) }
  }

  /// As ``read(_:)``, on the current thread, which may block.
  func readNow<Value: Sendable>(
    _ body: @Sendable (Connection) throws -> Value
  ) throws(CatalogError) -> Value {
    guard enter() else { throw CatalogError.closed(at: path) }
    defer { leave() }
    do {
      return try database.read(body)
    } catch {
      throw CatalogError.from(error, at: path)
    }
  }

  /// On a thread of ours, where cancelling the task ends the work.
  private func using<Value: Sendable>(
    _ body: @escaping @Sendable (Database, Interruption?) throws -> Value
  ) async throws(CatalogError) -> Value {
    guard enter() else { throw CatalogError.closed(at: path) }
    defer { leave() }
    do {
      let interruption = Interruption()
      return try await withTaskCancellationHandler {
        try await threads.run { [database] in try body(database, interruption) }
      } onCancel: {
        interruption.request()
      }
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
