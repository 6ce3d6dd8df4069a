import CSQLite

/// A connection to a database, for one thread at a time; ``Database`` ensures that for several threads.
package final class Connection {
  package enum Access {
    case readOnly
    case readWrite
    /// Creates the file if there is none.
    case create
    /// A file that no process changes, on a read-only disk. SQLite locks nothing, and ignores the files beside it.
    case immutable
    /// A file on a full disk. The shared memory is only read, not written to. If no process has the file open, SQLite
    /// reads the log through its own index.
    case withoutRoom
  }

  private var opened: OpaquePointer?
  private var statements: [String: Statement] = [:]
  private var busyHandler: BusyHandler?
  /// Nil if SQLite makes the checkpoints itself, or if none are made.
  private var checkpointsAlone: CheckpointsAlone?
  /// What may end the current work.
  private var interruption: Interruption?

  /// Opens the database at `path` (`:memory:` for one that ends with the connection). Foreign keys are enforced, and
  /// double quotes are for names alone.
  /// - Parameter checkpoints: how the write-ahead log is copied into the database.
  package init(
    _ path: String, _ access: Access = .create, checkpoints: CheckpointRule = .ofThisProcess
  ) throws(SQLiteError) {
    let (name, mode) =
      switch access {
      case .readOnly: (path, SQLITE_OPEN_READONLY)
      case .readWrite: (path, SQLITE_OPEN_READWRITE)
      case .create: (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      case .immutable:
        ("file:" + Self.escaped(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
      case .withoutRoom:
        ("file:" + Self.escaped(path) + "?readonly_shm=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
      }
    let result = sqlite3_open_v2(name, &opened, mode | SQLITE_OPEN_NOMUTEX, reel_sqlite_vfs())
    guard result == SQLITE_OK else {
      let error = SQLiteError(result, of: opened)
      // There is a connection object even if opening failed.
      sqlite3_close(opened)
      opened = nil
      throw error
    }
    sqlite3_extended_result_codes(opened, 1)
    for (option, on) in [
      (SQLITE_DBCONFIG_ENABLE_FKEY, Int32(1)), (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
    ] {
      _ = reel_sqlite_switch(opened, option, on)
    }
    if mode & SQLITE_OPEN_READWRITE != 0, path != ":memory:" { keep(checkpoints, at: path) }
  }

  private func keep(_ rule: CheckpointRule, at path: String) {
    switch rule {
    case .bySQLite(let pages): if let pages { sqlite3_wal_autocheckpoint(opened, Int32(clamping: pages)) }
    case .alone(let pages):
      checkpointsAlone = opened.map { CheckpointsAlone(of: $0, at: path, limit: pages) }
    }
  }

  deinit { try? close() }

  /// Closes the connection. The last of all connections checkpoints the write-ahead log. Does nothing the second time.
  ///
  /// With any version of SQLite, that is safe while others open the database: it happens under the exclusive lock
  /// (`sqlite3WalClose`), which can be had only if no other connection has the database open.
  package func close() throws(SQLiteError) {
    statements = [:]
    checkpointsAlone?.rest()
    let result = sqlite3_close(opened)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: opened) }
    opened = nil
    checkpointsAlone = nil
  }

  private static func escaped(_ path: String) -> String {
    var escaped = ""
    for scalar in path.unicodeScalars {
      switch scalar {
      case "%", "?", "#": escaped += "%" + String(scalar.value, radix: 16, uppercase: true)
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  var handle: OpaquePointer {
    get throws(SQLiteError) {
      guard let opened else { throw SQLiteError(.misuse, "the connection is closed") }
      return opened
    }
  }

  // MARK: Facts

  /// The id of the last row that this connection inserted.
  package var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(opened) }

  /// The number of rows that the last statement changed.
  package var changeCount: Int { Int(sqlite3_changes(opened)) }

  package var isInsideTransaction: Bool { opened != nil && sqlite3_get_autocommit(opened) == 0 }

  // MARK: Waiting

  /// Keeps a closure alive for SQLite to call.
  private final class BusyHandler {
    let goesOn: (Int) -> Bool
    init(_ goesOn: @escaping (Int) -> Bool) { self.goesOn = goesOn }
  }

  /// Makes SQLite call `goesOn` while another connection keeps the database locked. It gets the number of tries so far,
  /// from 0, waits, and returns whether to try again. Without a handler, a lock is an error at once.
  package func whenBusy(_ goesOn: @escaping (_ tries: Int) -> Bool) throws(SQLiteError) {
    let handler = BusyHandler(goesOn)
    sqlite3_busy_handler(
      try handle,
      { context, tries in
        guard let context else { return 0 }
        return Unmanaged<BusyHandler>.fromOpaque(context).takeUnretainedValue().goesOn(Int(tries)) ? 1 : 0
      }, Unmanaged.passUnretained(handler).toOpaque())
    busyHandler = handler
    checkpointsAlone?.goesOn = goesOn
  }

  // MARK: Statements

  /// Runs `body` with the statement, which is prepared once per connection.
  func withStatement<Value>(_ sql: String, _ body: (Statement) throws -> Value) throws -> Value {
    try interruption?.check()
    let statement = try prepared(sql)
    statement.isInUse = true
    defer {
      statement.reset()
      statement.isInUse = false
    }
    return try body(statement)
  }

  private func prepared(_ sql: String) throws(SQLiteError) -> Statement {
    if let statement = statements[sql], !statement.isInUse { return statement }
    let statement = try Statement(sql, in: handle)
    statements[sql] = statement
    return statement
  }

  /// Runs `body`, which `interruption` may end.
  func interruptible<Value>(by interruption: Interruption?, _ body: () throws -> Value) throws -> Value {
    guard let interruption else { return try body() }
    let handle = try handle
    interruption.begin(on: handle)
    self.interruption = interruption
    defer {
      interruption.end(on: handle)
      self.interruption = nil
    }
    return try body()
  }
}

extension Connection {
  package enum TransactionKind: String {
    /// Takes no lock until something is read or written; for reading.
    case deferred = "BEGIN DEFERRED"
    /// Waits for its turn to write before anything is read.
    case immediate = "BEGIN IMMEDIATE"
  }

  /// Runs `body` in a transaction, which is rolled back if it throws.
  package func transaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
    try run(kind.rawValue)
    do {
      let value = try body()
      try run("COMMIT")
      return value
    } catch {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if isInsideTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  /// Runs `body` within a transaction. If it throws, its own changes are undone, and no others. Savepoints don't nest.
  package func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
    try run("SAVEPOINT one")
    do {
      let value = try body()
      try run("RELEASE SAVEPOINT one")
      return value
    } catch {
      if isInsideTransaction {
        try run("ROLLBACK TO SAVEPOINT one")
        try run("RELEASE SAVEPOINT one")
      }
      throw error
    }
  }

  // MARK: Files

  package enum CheckpointKind {
    /// As much as is possible without waiting for anybody.
    case passive
    /// All of the log, once no connection reads it any more; it is then emptied. With `CheckpointsAlone`, as much as
    /// the readers allow, and the log is not emptied.
    case truncate
  }

  /// Copies the write-ahead log into the database.
  package func checkpoint(_ kind: CheckpointKind) throws(SQLiteError) {
    if let checkpointsAlone { return try checkpointsAlone.run(waiting: kind == .truncate) }
    let mode = kind == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
    let result = sqlite3_wal_checkpoint_v2(try handle, nil, mode, nil, nil)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: try handle) }
  }

  /// Copies the database, as it is at one moment, over that of `target`.
  package func backup(to target: Connection) throws(SQLiteError) {
    guard let backup = sqlite3_backup_init(try target.handle, "main", try handle, "main") else {
      throw SQLiteError(sqlite3_errcode(try target.handle), of: try target.handle)
    }
    let copied = sqlite3_backup_step(backup, -1)
    let finished = sqlite3_backup_finish(backup)
    let result = copied == SQLITE_DONE ? finished : copied
    guard result == SQLITE_OK else { throw SQLiteError(result, of: try target.handle) }
  }
}
