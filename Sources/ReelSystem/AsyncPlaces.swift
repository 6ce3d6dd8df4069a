import Synchronization

/// A counted semaphore that suspends instead of blocking. First come, first served.
final class AsyncPlaces: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
    var served = 0
  }
  private let state: Mutex<State>

  init(count: Int) {
    state = Mutex(State(free: count))
  }

  func take() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.free > 0 {
          state.free -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func giveBack() {
    let next: CheckedContinuation<Void, Never>? = state.withLock { state in
      guard state.served < state.waiting.count else {
        state.free += 1
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
    next?.resume()
  }
}
