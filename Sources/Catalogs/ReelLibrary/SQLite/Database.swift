import CSQLite
import Dispatch
import Synchronization

/// A database for several threads. Each piece of work has a connection to itself, and blocks until one is available.
/// Work on such a connection must not call anything here.
package final class Database: Sendable {
  private let main: OwnConnection
  /// Nil if all threads take turns with `main`.
  private let readers: Readers?

  /// Uses one connection, for one thread at a time.
  package init(_ connection: sending Connection) {
    main = OwnConnection(connection)
    readers = nil
  }

  /// Uses one connection for writing, and up to `limit` for reading beside it, which are opened when needed.
  package init(
    writer: sending Connection, readers limit: Int,
    opening open: @escaping @Sendable () throws -> sending Connection
  ) {
    main = OwnConnection(writer)
    readers = Readers(limit, open)
  }

  /// Whether reads can run beside writes.
  package var hasReaders: Bool { readers != nil }

  /// Reads with one statement.
  /// - Parameter interruption: can end it.
  package func look<Value: Sendable>(
    endedBy interruption: Interruption? = nil, _ body: @Sendable (Connection) throws -> Value
  ) throws -> Value {
    let work: @Sendable (Connection) throws -> Value = { connection in
      try connection.interruptible(by: interruption) { try body(connection) }
    }
    guard let readers else { return try main.use(work) }
    return try readers.use(work)
  }

  /// Reads with several statements, all of the same moment.
  /// - Parameter interruption: can end it.
  package func read<Value: Sendable>(
    endedBy interruption: Interruption? = nil, _ body: @Sendable (Connection) throws -> Value
  ) throws -> Value {
    try look { connection in
      try connection.transaction(.deferred) {
        try connection.interruptible(by: interruption) { try body(connection) }
      }
    }
  }

  /// Writes, in the transactions that `body` makes.
  package func write<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws -> Value {
    try main.use(body)
  }

  /// Waits until the database is no longer in use, and closes it. Does nothing the second time.
  package func close() throws {
    // Connections that only read may not remove the files beside the database, so they must not be the last to close.
    try readers?.close()
    try main.use { connection in try connection.close() }
  }

  deinit { try? readers?.close() }
}

/// A connection that threads use in turn.
private final class OwnConnection: Sendable {
  private let connection: Mutex<Connection>

  init(_ connection: sending Connection) {
    self.connection = Mutex(connection)
  }

  func use<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws -> Value {
    try connection.withLock { connection in try body(connection) }
  }
}

/// A pool of connections; each piece of work takes one.
private final class Readers: Sendable {
  private let limit: Int
  private let open: @Sendable () throws -> sending Connection
  private let places: DispatchSemaphore
  /// Nil once the pool is closed.
  private let idle = Mutex<[OwnConnection]?>([])

  init(_ limit: Int, _ open: @escaping @Sendable () throws -> sending Connection) {
    self.limit = limit
    self.open = open
    places = DispatchSemaphore(value: limit)
  }

  func use<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws -> Value {
    places.wait()
    defer { places.signal() }
    let connection = try take()
    defer { idle.withLock { $0?.append(connection) } }
    return try connection.use(body)
  }

  /// Takes the connection that was used last, whose pages are in memory, or opens a new one.
  private func take() throws -> OwnConnection {
    let found = try idle.withLock { idle in
      if idle == nil { throw SQLiteError(.misuse, "the connection is closed") }
      return idle?.popLast()
    }
    return try found ?? OwnConnection(open())
  }

  func close() throws {
    for _ in 0..<limit { places.wait() }
    defer { for _ in 0..<limit { places.signal() } }
    for connection in idle.withLock({ $0.take() }) ?? [] {
      try connection.use { connection in try connection.close() }
    }
  }
}

/// Ends a piece of work on a connection from another thread, even before it has begun.
package final class Interruption: Sendable {
  private let isRequested = Atomic(false)
  /// The address of the connection at work; pointers are not Sendable.
  private let connection = Mutex<UInt?>(nil)

  package init() {}

  /// Makes the running statement, and each later one of this work, fail with `interrupted`.
  package func request() {
    isRequested.store(true, ordering: .relaxed)
    // The lock prevents the work, and the connection with it, from ending meanwhile.
    connection.withLock { connection in
      if let pointer = connection.flatMap(OpaquePointer.init(bitPattern:)) { sqlite3_interrupt(pointer) }
    }
  }

  func begin(on connection: OpaquePointer) {
    let address = UInt(bitPattern: connection)
    self.connection.withLock { $0 = address }
    // SQLite ignores a request that comes right before a statement begins. It calls this handler every few thousand
    // steps, though some checks of a whole database are a single step.
    sqlite3_progress_handler(
      connection, 4096,
      { context in
        guard let context else { return 0 }
        return Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func end(on connection: OpaquePointer) {
    self.connection.withLock { $0 = nil }
    sqlite3_progress_handler(connection, 0, nil, nil)
  }

  func check() throws(SQLiteError) {
    if isOver { throw SQLiteError(.interrupted) }
  }

  private var isOver: Bool { isRequested.load(ordering: .relaxed) }
}
