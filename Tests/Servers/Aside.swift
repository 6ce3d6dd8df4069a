import Foundation
import ReelPostgres
import Synchronization

/// Work beside a test on a thread of its own: there are only as many Swift threads as cores, and other tests may keep
/// them busy for longer than a server waits for anything.
package final class Aside<Value: Sendable>: Sendable {
  private let outcome = Mutex<Result<Value, any Error>?>(nil)

  package init(_ body: @escaping @Sendable () throws -> Value) {
    Thread.detachNewThread {
      let result = Result { try body() }
      self.outcome.withLock { $0 = result }
    }
  }

  package var isOver: Bool { outcome.withLock { $0 != nil } }

  /// Blocks the thread until the work has ended, or the test is out of time.
  package func value() throws -> Value {
    while true {
      try Task.checkCancellation()
      if let result = outcome.withLock({ $0 }) { return try result.get() }
      usleep(1000)
    }
  }
}

extension PostgresConnection {
  /// An SQL expression for the number of sessions that wait in this database for an advisory lock.
  package static let waitingForAdvisory = """
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    """

  /// Blocks the thread until the condition is true for this connection, or the test is out of time.
  package func wait(until condition: String) throws {
    while try value("SELECT \(condition)", as: Bool.self) != true {
      try Task.checkCancellation()
      usleep(5000)
    }
  }
}
