import CSQLite

#if DEBUG
  import Glibc
#endif

/// How a connection brings what is in the write-ahead log into the database.
package enum CheckpointRule: Hashable, Sendable {
  /// As SQLite does it: after each commit that leaves so many pages in the log or more (nil: as many as it takes itself; 0:
  /// never), whoever writes meanwhile.
  case bySQLite(pages: Int?)
  /// After the same commits, while no other connection can write: for an SQLite with the WAL-reset bug.
  case alone(pages: Int)

  /// The rule for that library. 1,000 pages are what SQLite takes (SQLITE_DEFAULT_WAL_AUTOCHECKPOINT).
  package init(for library: SQLiteLibrary) {
    switch library.walResetBug {
    case .affected: self = .alone(pages: 1000)
    case .fixed: self = .bySQLite(pages: nil)
    }
  }

  /// In a debug build, `REEL_CHECKPOINTS=alone:50` or `sqlite:50` names another for the tests.
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

/// Checkpoints of one connection, beside which no other connection, of any process, commits.
///
/// The WAL-reset bug needs a commit that begins the log anew, and every such commit, like any other, has the writer's lock.
/// So a second connection takes that lock, and the checkpoint is made while it is held; then the second connection gives it
/// back and has written nothing. Within the checkpoint's own connection that can't be had: SQLite makes none in a
/// transaction, and one that asks for the lock itself (`TRUNCATE`) goes on without it when it is taken.
///
/// A process that is killed meanwhile leaves no lock, as the kernel takes them back, and a checkpoint that is made anew.
final class CheckpointsAlone {
  private let path: String
  private let connection: OpaquePointer
  /// Pages in the log from which a commit is followed by a checkpoint.
  private let limit: Int
  /// Opened when it is first needed.
  private var second: Connection?
  /// What a second connection does when the lock is another's.
  var goesOn: (Int) -> Bool = { _ in false }
  private var isWaiting = false
  /// How long the log was when the lock was not to be had at once; nil when it was had the last time.
  private var missed: Int?

  /// What of the file of a log that was longer stays when it is begun anew: `TRUNCATE`, which gave it back, is not used.
  private static let keptBytes = 16 << 20

  /// For `connection`, in the place of its own automatic checkpoints; to be kept until it is closed.
  init(of connection: OpaquePointer, at path: String, limit: Int) {
    (self.connection, self.path, self.limit) = (connection, path, limit)
    // SQLite's own checkpoints are made in this hook, so they end with it.
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

  /// Closes the second connection, so that the other one can be the last.
  func rest() { second = nil }

  /// There are `pages` in the log after a commit of this connection.
  ///
  /// Right after it the lock is nobody's, as a rule. Where others are faster time and again, this one queues up for it
  /// as for a transaction, so that the log does not grow for good. That it can't be made now is no failure of the commit.
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

  /// Brings into the database what no reader needs in the log any more.
  /// - Parameter waiting: whether another's transaction is waited for; else it is an error, `busy`.
  func run(waiting: Bool) throws(SQLiteError) {
    let second = try opened()
    isWaiting = waiting
    try second.execute("BEGIN IMMEDIATE")
    defer {
      // One that does not give the lock back must not keep it.
      do { try second.execute("ROLLBACK") } catch { self.second = nil }
    }
    // The lock that it has is of another file when somebody has put one in the place of the database.
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
