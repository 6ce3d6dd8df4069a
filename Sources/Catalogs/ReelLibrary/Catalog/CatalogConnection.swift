import Glibc
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
  private let isShared: Bool
  private let threads = BlockingQueue(label: "reel.catalog.read", width: CatalogDatabase.readerCount)
  private let state = Mutex(State())

  /// - Parameter isShared: whether others use the same database, and go on after the end of this.
  init(_ database: Database, path: String, isShared: Bool = false) {
    self.database = database
    self.path = path
    self.isShared = isShared
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
    return try CatalogError.mapping(at: path) { try database.read(body) }
  }

  /// On a thread of ours, where cancelling the task ends the work.
  private func using<Value: Sendable>(
    _ body: @escaping @Sendable (Database, Interruption?) throws -> Value
  ) async throws(CatalogError) -> Value {
    guard enter() else { throw CatalogError.closed(at: path) }
    defer { leave() }
    let interruption = Interruption()
    return try await rethrowing(as: { CatalogError.from($0, at: path) }) {
      try await withTaskCancellationHandler {
        try await threads.run { [database] in try body(database, interruption) }
      } onCancel: {
        interruption.request()
      }
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
    if isShared { return }
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

/// How a connection waits for another process's transaction.
///
/// SQLite's own way soon asks only every 100 ms, and hardly ever meets the moment between two commits of a
/// busy process. Asking every few milliseconds costs little and finds it.
///
/// As long as the kernel shows that a living process holds the lock, it is waited for: one that was stopped within a
/// commit, or a row of busy ones, is no reason to fail. Who waits for long says so.
struct CatalogBusyHandler: Sendable {
  /// Seconds for which nobody is seen to hold it, and it can't be had all the same.
  let longest: Double
  /// Seconds in all.
  var longestBeside: Double = 600
  /// Who holds it now.
  var holder: @Sendable () -> LockHolder? = { nil }
  /// Told once in each wait that lasts.
  var onWait: @Sendable (LockHolder) -> Void = { _ in }

  /// How many times it asks every millisecond, before it asks every four.
  private static let quickTries = 250
  /// Seconds after which a wait is told.
  private static let telling = 2.0

  /// One wait, from its first try on.
  struct Progress {
    /// Seconds after which somebody was seen to hold the lock.
    var lastSeen = 0.0
    var lastLook = 0.0
    var wasTold = false
  }

  /// Has `connection` wait so.
  func install(on connection: Connection) throws {
    var progress = Progress()
    try connection.whenBusy { tries in
      guard let pause = pause(after: tries, &progress) else { return false }
      usleep(UInt32(pause * 1_000_000))
      return true
    }
  }

  /// Seconds to wait after the try with this number, from 0; nil when it has been long enough.
  func pause(after tries: Int, _ progress: inout Progress) -> Double? {
    if tries == 0 { progress = Progress() }
    let quick = Double(min(tries, Self.quickTries))
    let slow = Double(max(0, tries - Self.quickTries))
    let waited = quick * 0.001 + slow * 0.004
    guard goesOn(after: waited, &progress, beside: holder, onWait) else { return nil }
    return tries < Self.quickTries ? 0.001 : 0.004
  }

  /// Whether a wait that has lasted `waited` seconds goes on.
  func goesOn(
    after waited: Double, _ progress: inout Progress, beside holder: () -> LockHolder?,
    _ onWait: (LockHolder) -> Void
  ) -> Bool {
    // Four times a second; a look costs some 50 µs.
    if waited - progress.lastLook >= 0.25 {
      progress.lastLook = waited
      if let holder = holder() {
        progress.lastSeen = waited
        if waited >= Self.telling, !progress.wasTold {
          progress.wasTold = true
          onWait(holder)
        }
      }
    }
    return waited - progress.lastSeen < longest && waited < max(longest, longestBeside)
  }
}
