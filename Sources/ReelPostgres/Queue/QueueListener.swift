import Glibc
import ReelCore
import Synchronization

/// Waits until there may be something to take: an idle worker asks the server nothing.
///
/// It listens over a connection of its own. One that can't be had, or hears nothing because PgBouncer is in between, only
/// makes the wait as long as it may be.
package final class QueueListener: Sendable {
  private let pool: PostgresPool
  private let chance: @Sendable () -> Double
  private let connection = Mutex<PostgresConnection?>(nil)

  /// - Parameter chance: from 0 to 1; decides who of many goes when there is little to take, and when.
  package init(
    _ queue: WorkQueue, chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) { (pool, self.chance) = (queue.pool, chance) }

  /// Waits no longer than `limit`, and ends within `slice` when `isOver` says so. Of many who wait, no more wake than there
  /// is to take, and not all at once. Blocks.
  /// - Returns: whether it was woken.
  @discardableResult
  package func wait(
    atMost limit: Duration, slice: Duration = .milliseconds(250), until isOver: () -> Bool
  ) -> Bool {
    let end = ContinuousClock.now + limit
    while !isOver(), .now < end {
      guard let word = heard(within: min(slice, end - .now)), chance() < word.share else { continue }
      let pause = ContinuousClock.now + word.spread * chance()
      // The clock goes on between the two looks at it.
      while !isOver(), .now < pause {
        usleep(UInt32(max(.zero, min(slice, pause - .now)) / .microseconds(1)))
      }
      return true
    }
    return false
  }

  private func heard(within time: Duration) -> QueueWord? {
    connection.withLock { connection in
      do {
        let listening = try connection ?? listen()
        connection = listening
        return QueueWord(try listening.notifications(waiting: time).map(\.said))
      } catch {
        // The queue itself will say what is wrong with the server.
        connection = nil
        usleep(UInt32(max(0, time / .microseconds(1))))
        return nil
      }
    }
  }

  private func listen() throws -> PostgresConnection {
    let connection = try pool.connect()
    try connection.execute("LISTEN \(WorkQueue.channel)")
    return connection
  }
}
