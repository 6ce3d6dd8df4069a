import Glibc
import ReelCore
import Synchronization

/// A database that is closed only when its last user has left, because SQLite must not be used after that.
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

  /// - Parameter isShared: whether others use the same database. Then it stays open when this connection closes.
  init(_ database: Database, path: String, isShared: Bool = false) {
    self.database = database
    self.path = path
    self.isShared = isShared
  }

  // MARK: Using it

  /// Registers a user of the database, until ``leave()``. False once it is being closed.
  func enter() -> Bool {
    state.withLock { state in
      if state.isClosing { return false }
      state.users += 1
      return true
    }
  }

  /// Ends the use that ``enter()`` began.
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

  /// Does the same as ``read(_:)`` on the current thread, which it may block.
  func readNow<Value: Sendable>(
    _ body: @Sendable (Connection) throws -> Value
  ) throws(CatalogError) -> Value {
    guard enter() else { throw CatalogError.closed(at: path) }
    defer { leave() }
    return try CatalogError.mapping(at: path) { try database.read(body) }
  }

  /// Runs `body` on a thread of `threads`; cancelling the task interrupts it.
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

  // MARK: Closing

  /// Admits no more users, waits until all have left, and closes the database. Does nothing the second time.
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
/// SQLite's own busy handler soon retries only every 100 ms, and hardly ever hits the moment between two commits of a
/// busy process. Retrying every few milliseconds costs little and does.
///
/// The wait continues as long as the kernel shows that a living process holds the lock: a process that was stopped in
/// the middle of a commit, or a series of busy ones, is no reason to fail. A long wait is reported.
struct CatalogBusyHandler: Sendable {
  /// The seconds to keep waiting while no process is seen to hold the lock.
  let longest: Double
  /// The seconds to wait in all.
  var longestBeside: Double = 600
  /// Finds the process that holds the lock now.
  var holder: @Sendable () -> LockHolder? = { nil }
  /// Called once in each long wait.
  var onWait: @Sendable (LockHolder) -> Void = { _ in }

  /// The number of retries at intervals of 1 ms, before the interval becomes 4 ms.
  private static let quickTries = 250
  /// The number of seconds after which a wait is reported.
  private static let telling = 2.0

  /// The state of one wait.
  struct Progress {
    /// When a process was last seen to hold the lock, in seconds from the start of the wait.
    var lastSeen = 0.0
    var lastLook = 0.0
    var wasTold = false
  }

  /// Makes `connection` wait in this way.
  func install(on connection: Connection) throws {
    var progress = Progress()
    try connection.whenBusy { tries in
      guard let pause = pause(after: tries, &progress) else { return false }
      usleep(UInt32(pause * 1_000_000))
      return true
    }
  }

  /// The seconds to wait after the try with this number, from 0; nil if the wait has to end.
  func pause(after tries: Int, _ progress: inout Progress) -> Double? {
    if tries == 0 { progress = Progress() }
    let quick = Double(min(tries, Self.quickTries))
    let slow = Double(max(0, tries - Self.quickTries))
    let waited = quick * 0.001 + slow * 0.004
    guard goesOn(after: waited, &progress, beside: holder, onWait) else { return nil }
    return tries < Self.quickTries ? 0.001 : 0.004
  }

  /// Whether a wait that has lasted `waited` seconds continues.
  func goesOn(
    after waited: Double, _ progress: inout Progress, beside holder: () -> LockHolder?,
    _ onWait: (LockHolder) -> Void
  ) -> Bool {
    // Four times a second; a look costs about 50 µs.
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
