import Foundation
import ReelPostgres
import Synchronization

/// What goes on beside a test on a thread of its own: Swift's threads are as few as there are cores, and others may be busy on
/// them for longer than a server waits for anything.
package final class Aside<Value: Sendable>: Sendable {
  private let outcome = Mutex<Result<Value, any Error>?>(nil)

  package init(_ body: @escaping @Sendable () throws -> Value) {
    Thread.detachNewThread {
      let result = Result { try body() }
      self.outcome.withLock { $0 = result }
    }
  }

  package var isOver: Bool { outcome.withLock { $0 != nil } }

  /// Waits for its end, as a thread does, and until the test is out of time.
  package func value() throws -> Value {
    while true {
      try Task.checkCancellation()
      if let result = outcome.withLock({ $0 }) { return try result.get() }
      usleep(1000)
    }
  }
}

extension PostgresConnection {
  /// Of those who wait in this database for locks that are no row's, as many as they are.
  package static let waitingForAdvisory = """
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    """

  /// Waits, as a thread does, until that is true for this connection, or the test is out of time.
  package func wait(until condition: String) throws {
    while try value("SELECT \(condition)", as: Bool.self) != true {
      try Task.checkCancellation()
      usleep(5000)
    }
  }
}
