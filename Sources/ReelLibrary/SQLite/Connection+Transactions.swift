import CSQLite

extension Connection {
  package enum TransactionKind: String {
    /// Locks nothing until something is read or written: for reading.
    case deferred = "BEGIN DEFERRED"
    /// Waits for its turn to write before anything is read.
    case immediate = "BEGIN IMMEDIATE"
  }

  /// Runs `body` in a transaction, of which nothing stays when it throws.
  package func transaction<Value>(_ kind: TransactionKind, _ body: () throws -> Value) throws -> Value {
    try run(kind.rawValue)
    do {
      let value = try body()
      try run("COMMIT")
      return value
    } catch {
      // After some errors, such as that of a full disk, SQLite has done it itself.
      if isInsideTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  /// Runs `body` within a transaction so that nothing of it, and no more, is undone when it throws. They don't nest.
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
    /// As much as can be had without waiting for anybody.
    case passive
    /// All of it, once nobody reads from the log any more, which is empty then.
    case truncate
  }

  /// Brings what is in the write-ahead log into the database.
  package func checkpoint(_ kind: CheckpointKind) throws(SQLiteError) {
    let mode = kind == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
    let result = sqlite3_wal_checkpoint_v2(try handle, nil, mode, nil, nil)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: try handle) }
  }

  /// Copies the database as it is at one moment into that of `target`, in place of what is there.
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
