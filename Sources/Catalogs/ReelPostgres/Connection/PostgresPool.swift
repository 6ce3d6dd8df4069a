import Dispatch
import Glibc
import Synchronization

/// A few connections to one server, one for each thread at work, with retries when a connection is lost.
package final class PostgresPool: Sendable {
  /// How the pool works.
  package struct Settings: Sendable {
    /// The most connections at once. A thread that needs one more waits.
    package var connections = 4
    /// How long one statement may take, on either side.
    package var statementTimeout = Duration.seconds(60)
    /// How long to wait for a lock of another transaction.
    package var lockTimeout = Duration.seconds(30)
    /// How long a server that was there before may be gone (a restart, a failover)
    /// before all work that waits for it fails.
    package var patience = Duration.seconds(60)
    /// How long an outage goes unreported, and what then reports it, once for each outage, with a sentence.
    package var silence = Duration.seconds(1)
    package var onWait: @Sendable (String) -> Void = { _ in }
    /// How long to wait for a server that does not answer a request to connect.
    package var connectTimeout = Duration.seconds(15)
    /// The longest that any of these may still last after ``PostgresPool/makeHaste()``.
    package var haste = Duration.seconds(5)

    package init() {}
  }

  /// The server.
  package let address: PostgresAddress
  package let settings: Settings
  private let library: PostgresLibrary
  private let places: DispatchSemaphore
  private let haste: Haste
  private let outage: Outage
  private let state = Mutex(State())

  /// The message of a pool that was closed.
  static let closed = "it has been closed"

  private struct State {
    /// The one that was used last comes last.
    var idle: [(connection: PostgresConnection, since: ContinuousClock.Instant)] = []
    var isClosed = false
  }

  package convenience init(
    _ address: PostgresAddress, library: PostgresLibrary, settings: Settings = Settings()
  ) {
    let (name, seconds) = (address.name, Int(settings.patience / .seconds(1)))
    let haste = Haste()
    let outage = Outage(patience: settings.patience, silence: settings.silence, haste) { error in
      settings.onWait(
        "the catalog \(name) can't be reached (\(error.message)): waiting up to \(seconds) s for it"
      )
    }
    self.init(address, library, settings, haste, outage)
  }

  private init(
    _ address: PostgresAddress, _ library: PostgresLibrary, _ settings: Settings, _ haste: Haste,
    _ outage: Outage
  ) {
    (self.address, self.library, self.settings, self.haste, self.outage) = (
      address, library, settings, haste, outage
    )
    places = DispatchSemaphore(value: max(1, settings.connections))
  }

  /// Returns a pool of separate connections to the same server, for work that must not wait for other work. In an
  /// outage, both wait for the server together, and are in haste together.
  package func beside(connections: Int) -> PostgresPool {
    var settings = settings
    settings.connections = connections
    return PostgresPool(address, library, settings, haste, outage)
  }

  /// Closes idle connections; those in use are closed when they come back. No more work is begun.
  package func close() {
    state.withLock { $0.isClosed = true }
    forgetIdle()
  }

  /// Closes connections that have been unused for this long, so that a process without work leaves them to others.
  package func closeIdle(unusedFor time: Duration) {
    let now = ContinuousClock.now
    let old = state.withLock { state in
      let old = state.idle.filter { now - $0.since >= time }
      state.idle.removeAll { now - $0.since >= time }
      return old
    }
    _ = old
  }

  /// Prepares for the end of the program: work under way is finished if the server is
  /// there, and otherwise soon abandoned.
  package func makeHaste() { haste.begin(patience: settings.haste) }

  /// When the last outage ended, as far as this process has seen.
  package var lastOutage: ContinuousClock.Instant? { outage.lastEnd }

  // MARK: Work

  /// Reads. Each statement sees what was committed when it began. After an outage, `body`
  /// runs again from its beginning. Blocks.
  /// - Parameter purpose: the kind of read.
  package func read<Value>(
    for purpose: ConnectionSettings.Purpose = .reports, _ body: (PostgresConnection) throws -> Value
  ) throws -> Value {
    try repeating(isWriting: false) {
      try withConnection(for: purpose) { connection in
        // The server begins and ends a transaction for each statement by itself.
        if connection.isDirect { return try body(connection) }
        try connection.execute(
          "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; \(sessions.local(purpose))")
        return try ending(connection, by: "END") { try body(connection) }
      }
    }
  }

  /// Ends a transaction by `statement` after `body`, or rolls it back if `body` throws.
  private func ending<Value>(
    _ connection: PostgresConnection, by statement: String, _ body: () throws -> Value
  ) throws -> Value {
    let value: Value
    do {
      value = try body()
    } catch {
      if connection.isUsable { try? connection.execute("ROLLBACK") }
      throw error
    }
    try connection.execute(statement)
    return value
  }

  /// Runs `body` in a transaction, at `READ COMMITTED`, and commits it. Blocks.
  ///
  /// After a conflict with another transaction, or an outage, `body` runs again from its beginning. If the
  /// connection is lost during COMMIT, it is unknown whether that succeeded: then
  /// ``PostgresTransaction/mayBeDone`` is true, and `body` has to find out. It can trust what it sees once it
  /// holds a lock on a row that the earlier attempt has written, or was kept from writing a key that the earlier
  /// attempt has written, because either waits until that attempt has ended.
  /// - Parameter isOne: whether `body` carries out one statement, unless ``PostgresTransaction/mayBeDone``. On a direct
  ///   connection, that takes one message instead of three.
  @discardableResult
  package func transaction<Value>(
    ofOneStatement isOne: Bool = false, _ body: (PostgresTransaction) throws -> Value
  ) throws -> Value {
    var mayBeDone = false
    return try repeating(isWriting: true) {
      try withConnection(for: .steps) { connection in
        guard isOne, connection.isDirect, !mayBeDone else {
          return try transaction(over: connection, mayBeDone: &mayBeDone, body)
        }
        do {
          return try connection.carryingOutOne {
            try body(PostgresTransaction(connection: connection, mayBeDone: false))
          }
        } catch let error as PostgresError {
          if !connection.isUsable { mayBeDone = true }
          throw error
        }
      }
    }
  }

  private func transaction<Value>(
    over connection: PostgresConnection, mayBeDone: inout Bool,
    _ body: (PostgresTransaction) throws -> Value
  ) throws -> Value {
    try connection.begin(
      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
        + (connection.isDirect ? "" : "; \(sessions.local(.steps))"))
    var isCommitting = false
    do {
      return try ending(connection, by: "COMMIT") {
        let value = try body(PostgresTransaction(connection: connection, mayBeDone: mayBeDone))
        isCommitting = true
        return value
      }
    } catch let error as PostgresError {
      if isCommitting, !connection.isUsable { mayBeDone = true }
      throw error
    }
  }

  /// Runs `body` with a connection that it has to itself.
  /// - Parameter purpose: what it is for. A direct connection is set up for that.
  package func withConnection<Value>(
    for purpose: ConnectionSettings.Purpose = .reports, _ body: (PostgresConnection) throws -> Value
  ) throws -> Value {
    places.wait()
    defer { places.signal() }
    let connection = try take(for: purpose)
    defer { giveBack(connection) }
    if connection.isDirect, connection.purpose != purpose {
      try connection.execute(sessions.change(to: purpose))
      connection.purpose = purpose
    }
    return try body(connection)
  }

  /// Makes a connection beside those of the pool, such as for `LISTEN`, which the caller keeps.
  package func connect(for purpose: ConnectionSettings.Purpose = .reports) throws -> PostgresConnection {
    let connection = try PostgresConnection(
      address, library: library, connectTimeout: settings.connectTimeout, timeout: settings.statementTimeout,
      haste: haste)
    outage.connected()
    try sessions.setUp(connection, for: purpose)
    return connection
  }

  private var sessions: ConnectionSettings { ConnectionSettings(settings) }

  // MARK: Retrying

  private func repeating<Value>(isWriting: Bool, _ body: () throws -> Value) throws -> Value {
    var (conflicts, outages) = (0, 0)
    var failingSince: ContinuousClock.Instant?
    while true {
      let start = ContinuousClock.now
      do {
        let value = try body()
        outage.end(byWriting: isWriting)
        return value
      } catch let error as PostgresError {
        if error.isConflict, conflicts < 20 {
          conflicts += 1
          pause(.milliseconds(min(5 << min(conflicts, 6), 250)))
        } else if error.isOutage, state.withLock({ !$0.isClosed }) {
          let since = failingSince ?? .now
          failingSince = since
          if !error.isOutOfConnections { forgetIdle() }
          try outage.wait(for: error, begunAt: start, failingSince: since)
          outages += 1
          if outages > 1 { pause(.milliseconds(min(25 << min(outages, 6), 1000))) }
        } else {
          if !error.isOutage { outage.end(byWriting: false) }
          throw error
        }
      }
    }
  }

  /// Pauses for between half of `limit` and all of it, so that many who were turned away at once don't return at once.
  private func pause(_ limit: Duration) {
    let microseconds = limit / .microseconds(1)
    usleep(UInt32(microseconds * Double.random(in: 0.5...1)))
  }

  // MARK: Connections

  private func take(for purpose: ConnectionSettings.Purpose) throws -> PostgresConnection {
    let idle: PostgresConnection? = try state.withLock { state in
      if state.isClosed { throw PostgresError(.unexpected, Self.closed) }
      let place =
        state.idle.lastIndex { $0.connection.purpose == purpose } ?? state.idle.indices.last
      return place.map { state.idle.remove(at: $0).connection }
    }
    if let idle { return idle }
    try outage.check()
    return try connect(for: purpose)
  }

  private func giveBack(_ connection: PostgresConnection) {
    guard connection.isUsable, connection.isOutsideTransaction else { return }
    state.withLock { state in
      if !state.isClosed { state.idle.append((connection, .now)) }
    }
  }

  /// Drops all idle connections. When one connection is lost, those that were idle usually are, too.
  func forgetIdle() {
    let idle = state.withLock { state in
      defer { state.idle = [] }
      return state.idle
    }
    _ = idle
  }
}

/// The work of one transaction.
package struct PostgresTransaction {
  package let connection: PostgresConnection
  /// Whether an earlier attempt at the same may have been committed, or may be in a moment.
  package let mayBeDone: Bool

  /// Does the same as ``PostgresConnection/run(_:_:)``.
  @discardableResult
  package func run(_ statement: String, _ values: [PostgresValue] = []) throws -> Int {
    try connection.run(statement, values)
  }

  /// Does the same as ``PostgresConnection/rows(_:_:_:)``.
  package func rows<Value>(
    _ statement: String, _ values: [PostgresValue] = [], _ read: (PostgresRow) throws -> Value
  ) throws -> [Value] {
    try connection.rows(statement, values, read)
  }

  /// Does the same as ``PostgresConnection/row(_:_:_:)``.
  package func row<Value>(
    _ statement: String, _ values: [PostgresValue] = [], _ read: (PostgresRow) throws -> Value
  ) throws -> Value? {
    try connection.row(statement, values, read)
  }

  /// Does the same as ``PostgresConnection/value(_:_:as:)``.
  package func value<Value: PostgresReadable>(
    _ statement: String, _ values: [PostgresValue] = [], as type: Value.Type = Value.self
  ) throws -> Value? {
    try connection.value(statement, values, as: type)
  }
}
