import CSQLite

#if DEBUG
  import Glibc
#endif

/// How a connection makes checkpoints: copies the write-ahead log into the database.
package enum CheckpointRule: Hashable, Sendable {
  /// As SQLite does: after each commit that leaves at least this many pages in the log (nil: SQLite's default; 0:
  /// never), even if other connections write meanwhile.
  case bySQLite(pages: Int?)
  /// After the same commits, but while no other connection can write; for an SQLite with the WAL-reset bug.
  case alone(pages: Int)

  /// Chooses the rule for that library. SQLite's default is 1,000 pages (SQLITE_DEFAULT_WAL_AUTOCHECKPOINT).
  package init(for library: SQLiteLibrary) {
    switch library.walResetBug {
    case .affected: self = .alone(pages: 1000)
    case .fixed: self = .bySQLite(pages: nil)
    }
  }

  /// In a debug build, `REEL_CHECKPOINTS=alone:50` or `sqlite:50` sets another rule, for tests.
  package static let ofThisProcess = chosen ?? CheckpointRule(for: .ofThisProcess)

  private static var chosen: CheckpointRule? {
    #if DEBUG
      guard let text = getenv("REEL_CHECKPOINTS").map({ String(cString: $0) }) else { return nil }
      let parts = text.split(separator: ":")
      guard parts.count == 2, let pages = Int(parts[1]) else { return nil }
      return parts[0] == "alone" ? .alone(pages: pages) : .bySQLite(pages: pages)
    #else
      nil
    #endif
  }
}

/// Checkpoints of one connection, made while no other connection, of any process, can commit.
///
/// The WAL-reset bug needs a commit that restarts the log, and like every commit, that one holds the writer's lock. So
/// a second connection takes this lock, the checkpoint is made while it is held, and the second connection releases it
/// without having written anything. The checkpoint's own connection can't take it: SQLite makes no checkpoint within a
/// transaction, and a checkpoint that asks for the lock itself (`TRUNCATE`) proceeds without it if it is taken.
///
/// If the process is killed meanwhile, the kernel releases the lock, and the checkpoint is simply made again.
final class CheckpointsAlone {
  private let path: String
  private let connection: OpaquePointer
  /// The number of pages in the log from which a commit is followed by a checkpoint.
  private let limit: Int
  /// Opened when it is first needed.
  private var second: Connection?
  /// Whether the second connection keeps waiting for the lock, given the number of tries.
  var goesOn: (Int) -> Bool = { _ in false }
  private var isWaiting = false
  /// The log's length in pages when the lock could not be had at once; nil if it was had the last time.
  private var missed: Int?

  /// The number of bytes that a longer log's file keeps when the log is restarted.
  /// `TRUNCATE`, which would shrink it, is not used.
  private static let keptBytes = 16 << 20

  /// Replaces the automatic checkpoints of `connection`. Keep this object until the connection is closed.
  init(of connection: OpaquePointer, at path: String, limit: Int) {
    (self.connection, self.path, self.limit) = (connection, path, limit)
    // SQLite's own checkpoints are made in this hook, so setting another one ends them.
    sqlite3_wal_hook(
      connection,
      { context, _, _, pages in
        if let context {
          Unmanaged<CheckpointsAlone>.fromOpaque(context).takeUnretainedValue().committed(leaving: Int(pages))
        }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
    sqlite3_exec(connection, "PRAGMA journal_size_limit = \(Self.keptBytes)", nil, nil, nil)
  }

  /// Closes the second connection, so that the other can be the last to close.
  func rest() { second = nil }

  /// Makes a checkpoint if a commit of this connection has left enough `pages` in the log.
  ///
  /// Right after the commit, the lock is usually free. If others keep taking it first, this connection
  /// waits for it as for a transaction, so that the log does not grow forever. A checkpoint that can't
  /// be made now does not fail the commit.
  private func committed(leaving pages: Int) {
    guard pages >= limit else { return missed = nil }
    let isLong = missed.map { pages - $0 >= limit } ?? false
    do {
      try run(waiting: isLong)
      missed = nil
    } catch {
      missed = missed.map { min($0, pages) } ?? pages
    }
  }

  /// Copies as much of the log into the database as its readers allow.
  /// - Parameter waiting: whether to wait for another's transaction; otherwise that is an error, `busy`.
  func run(waiting: Bool) throws(SQLiteError) {
    let second = try opened()
    isWaiting = waiting
    try second.execute("BEGIN IMMEDIATE")
    defer {
      // A connection that fails to release the lock must not keep it.
      do { try second.execute("ROLLBACK") } catch { self.second = nil }
    }
    // If somebody has replaced the database's file, the lock is on another file.
    if try hasMoved(connection) { return }
    if try hasMoved(second.handle) { return }
    let result = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: connection) }
  }

  private func opened() throws(SQLiteError) -> Connection {
    if let second { return second }
    let second = try Connection(path, .readWrite, checkpoints: .bySQLite(pages: 0))
    try second.whenBusy { [unowned self] tries in isWaiting && goesOn(tries) }
    self.second = second
    return second
  }

  private func hasMoved(_ connection: OpaquePointer) throws(SQLiteError) -> Bool {
    var hasMoved: Int32 = 0
    let result = sqlite3_file_control(connection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    guard result == SQLITE_OK else { throw SQLiteError(result, of: connection) }
    return hasMoved != 0
  }
}
