import Glibc
import ReelCore
import Synchronization

/// Waits until there may be something to take: an idle worker asks the server nothing.
///
/// It listens over a connection of its own. One that can't be had, or hears nothing because PgBouncer is in between, only
/// makes the wait as long as it may be.
package final class QueueListener: Sendable {
  private let pool: PostgresPool
  private let connection = Mutex<PostgresConnection?>(nil)

  package init(_ queue: WorkQueue) { pool = queue.pool }

  /// Waits no longer than `limit`, and ends within `slice` when `isOver` says so. Blocks.
  package func wait(
    atMost limit: Duration, slice: Duration = .milliseconds(250), until isOver: () -> Bool
  ) {
    let end = ContinuousClock.now + limit
    while !isOver(), .now < end {
      if heard(within: min(slice, end - .now)) { return }
    }
  }

  private func heard(within time: Duration) -> Bool {
    connection.withLock { connection in
      do {
        let listening = try connection ?? listen()
        connection = listening
        return try !listening.notifications(waiting: time).isEmpty
      } catch {
        // The queue itself will say what is wrong with the server.
        connection = nil
        usleep(UInt32(max(0, time / .microseconds(1))))
        return false
      }
    }
  }

  private func listen() throws -> PostgresConnection {
    let connection = try pool.connect()
    try connection.execute("LISTEN \(WorkQueue.channel)")
    return connection
  }
}
