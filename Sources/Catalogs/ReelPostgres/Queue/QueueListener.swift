import Glibc
import ReelCore
import Synchronization

/// Waits until there may be something to take: an idle worker asks the server next to nothing.
///
/// It listens over a connection of its own, and asks over the same. Where that can't be had, or PgBouncer is in between,
/// which hands the connection that listens to somebody else, the wait is as long as it may be.
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
    /// Nobody heard what was told while there was no connection that listens.
    var mayHaveMissed = false
    /// How often in a row no connection was had, and when the next is asked for.
    var failures = 0
    var nextTry = ContinuousClock.now
  }

  /// As many tries take about a minute.
  private static let toldAfter = 7

  /// - Parameters:
  ///   - chance: from 0 to 1; decides who of many goes when there is little to take, and when.
  ///   - onPooler: called once where something stands before the server that passes no notifications on.
  ///   - onDeafness: called with the reason where the server has given no connection to listen for a minute.
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

  /// Whether it hears of what comes: then there is no need to ask often.
  package var isListening: Bool { state.withLock { $0.connection != nil } }

  /// Whether there is something that `worker` may take now. Blocks.
  package func isAnythingWaiting(for worker: QueueWorker) throws(CatalogError) -> Bool {
    func look(_ db: PostgresConnection) throws -> Bool { try worker.isAnythingWaiting(db) }
    let answer: Bool? = state.withLock { state in
      guard let connection = state.connection else { return nil }
      do {
        return try look(connection)
      } catch {
        // The pool knows how to wait for a server, and says what is wrong with it.
        state.connection = nil
        return nil
      }
    }
    if let answer { return answer }
    return try CatalogError.mapping(at: pool.address.name) { try pool.read(for: .steps, look) }
  }

  /// Waits no longer than `limit`, and ends within `slice` when `isOver` says so. Of many who wait, no more wake than there
  /// is to take, and not all at once. Blocks.
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
      // The clock goes on between the two looks at it.
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
        // The queue itself will say what is wrong with the server.
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
      // A server that has no more connections to give must not be asked for one all the time, nor by all at once.
      state.failures += 1
      state.nextTry = .now + .seconds(min(60, 1 << min(state.failures - 1, 6))) * (1 - chance() / 2)
      if state.failures == Self.toldAfter { onDeafness((error as? PostgresError)?.message ?? "\(error)") }
      throw error
    }
  }
}
