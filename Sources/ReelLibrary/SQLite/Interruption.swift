import CSQLite
import Synchronization

/// Ends a piece of work on a connection from another thread, also one that has not begun.
package final class Interruption: Sendable {
  private let isRequested = Atomic(false)
  /// Where the connection is that works; pointers are not Sendable.
  private let connection = Mutex<UInt?>(nil)

  package init() {}

  /// The statement that runs fails with `interrupted`, and so does each that would begin.
  package func request() {
    isRequested.store(true, ordering: .relaxed)
    // Under the lock: the work can't end, and the connection with it, meanwhile.
    connection.withLock { connection in
      if let pointer = connection.flatMap(OpaquePointer.init(bitPattern:)) { sqlite3_interrupt(pointer) }
    }
  }

  func begin(on connection: OpaquePointer) {
    let address = UInt(bitPattern: connection)
    self.connection.withLock { $0 = address }
    // SQLite takes no notice of a request that comes right before a statement begins. It asks here every few
    // thousand steps; some checks of a whole database are one step.
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
