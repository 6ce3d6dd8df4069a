import Synchronization

/// A number of places that tasks wait for without blocking a thread. First come, first served; the place that was
/// returned last is taken first, because its thread is warm.
package final class AsyncSemaphore: Sendable {
  private struct State {
    var free: [Int]
    var waiting: [CheckedContinuation<Int, Never>] = []
    var served = 0
  }
  private let state: Mutex<State>

  /// - Parameter count: The number of places; at least 1.
  package init(count: Int) {
    let count = max(1, count)
    state = Mutex(State(free: Array((0..<count).reversed())))
  }

  /// How many tasks are waiting for a place.
  var waitingCount: Int { state.withLock { $0.waiting.count - $0.served } }

  /// Waits for a place, and returns its number: 0 ..< count.
  package func take() async -> Int {
    await withCheckedContinuation { continuation in
      let place: Int? = state.withLock { state in
        if let place = state.free.popLast() { return place }
        state.waiting.append(continuation)
        return nil
      }
      if let place { continuation.resume(returning: place) }
    }
  }

  /// Gives the place to the task that has waited longest, or frees it.
  package func giveBack(_ place: Int) {
    let next: CheckedContinuation<Int, Never>? = state.withLock { state in
      guard state.served < state.waiting.count else {
        state.free.append(place)
        return nil
      }
      let next = state.waiting[state.served]
      state.served += 1
      if state.served == state.waiting.count || state.served > 64 {
        state.waiting.removeFirst(state.served)
        state.served = 0
      }
      return next
    }
    next?.resume(returning: place)
  }
}
