import Glibc
import ReelCore
import Synchronization

/// Waits until there may be something to take, so that an idle worker asks the server next to nothing.
///
/// It listens over its own connection, and asks over the same. If none can be had, or if PgBouncer is in between, which
/// gives the listening connection to other clients, each wait lasts as long as it may.
package final class QueueListener: Sendable {
  private let pool: PostgresPool
  private let chance: @Sendable () -> Double
  private let onPooler: @Sendable () -> Void
  private let onDeafness: @Sendable (String) -> Void
  private let connect: @Sendable (PostgresPool) throws -> PostgresConnection
  private let state = Mutex(State())

  private struct State {
    var connection: PostgresConnection?
    var isPooled = false
    /// Whether notifications may have been missed while no connection was listening.
    var mayHaveMissed = false
    /// How many times in a row no connection could be had, and when to try again.
    var failures = 0
    var nextTry = ContinuousClock.now
  }

  /// The number of failures that are reported. They take about a minute.
  private static let toldAfter = 7

  /// - Parameters:
  ///   - chance: from 0 to 1; decides which of many workers go when there is little to take, and when.
  ///   - onPooler: called once if something stands before the server that does not pass notifications on.
  ///   - onDeafness: called with the reason if the server has given no connection to listen for a minute.
  ///   - connect: opens a connection to listen.
  package init(
    _ queue: WorkQueue, chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    onPooler: @escaping @Sendable () -> Void = {},
    onDeafness: @escaping @Sendable (String) -> Void = { _ in },
    connect: @escaping @Sendable (PostgresPool) throws -> PostgresConnection = { try $0.connect(for: .steps) }
  ) {
    (pool, self.chance, self.onPooler) = (queue.pool, chance, onPooler)
    (self.onDeafness, self.connect) = (onDeafness, connect)
  }

  /// Whether it receives notifications, so that there is no need to ask often.
  package var isListening: Bool { state.withLock { $0.connection != nil } }

  /// Whether there is something that `worker` may take now. Blocks.
  package func isAnythingWaiting(for worker: QueueWorker) throws(CatalogError) -> Bool {
    func look(_ db: PostgresConnection) throws -> Bool { try worker.isAnythingWaiting(db) }
    let answer: Bool? = state.withLock { state in
      guard let connection = state.connection else { return nil }
      do {
        return try look(connection)
      } catch {
        // The pool knows how to wait for a server, and reports what is wrong with it.
        state.connection = nil
        return nil
      }
    }
    if let answer { return answer }
    return try CatalogError.mapping(at: pool.address.name) { try pool.read(for: .steps, look) }
  }

  /// Waits up to `limit`, and ends within `slice` once `isOver` says so. Of many that wait, only about as many wake up
  /// as there is work for, and not all at once. Blocks.
  /// - Returns: whether it was woken.
  @discardableResult
  package func wait(
    atMost limit: Duration, slice: Duration = .milliseconds(250), until isOver: () -> Bool
  ) -> Bool {
    let end = ContinuousClock.now + limit
    while !isOver(), .now < end {
      let word = heard(within: min(slice, end - .now))
      if missedSomething() { return true }
      guard let word, chance() < word.share else { continue }
      let pause = ContinuousClock.now + word.spread * chance()
      // The pause may end between these two reads of the clock.
      while !isOver(), .now < pause {
        usleep(UInt32(max(.zero, min(slice, pause - .now)) / .microseconds(1)))
      }
      return true
    }
    return false
  }

  private func missedSomething() -> Bool {
    state.withLock { state in
      defer { state.mayHaveMissed = false }
      return state.mayHaveMissed
    }
  }

  private func heard(within time: Duration) -> QueueWord? {
    state.withLock { state in
      do {
        if !state.isPooled, state.connection == nil, state.nextTry <= .now { try listen(&state) }
        if let connection = state.connection {
          return QueueWord(try connection.notifications(waiting: time).map(\.said))
        }
      } catch {
        // A later call on the queue reports what is wrong with the server.
        state.connection = nil
      }
      usleep(UInt32(max(0, time / .microseconds(1))))
      return nil
    }
  }

  private func listen(_ state: inout State) throws {
    do {
      let connection = try connect(pool)
      guard connection.isDirect else {
        state.isPooled = true
        return onPooler()
      }
      try connection.execute("LISTEN \(WorkQueue.channel)")
      (state.connection, state.mayHaveMissed, state.failures) = (connection, true, 0)
    } catch {
      // A server that has no connection left must not be asked for one all the time, nor by all workers at once.
      state.failures += 1
      state.nextTry = .now + .seconds(min(60, 1 << min(state.failures - 1, 6))) * (1 - chance() / 2)
      if state.failures == Self.toldAfter { onDeafness((error as? PostgresError)?.message ?? "\(error)") }
      throw error
    }
  }
}
