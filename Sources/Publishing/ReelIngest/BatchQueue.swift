import Dispatch
import ReelCore
import ReelSource
import Synchronization

/// A bounded queue of batches between the thread that finds files and the lanes that process them. Putting and taking
/// block.
final class BatchQueue<Batch: Sendable>: Sendable {
  private struct State {
    var batches: [Batch] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  private let spaces = DispatchSemaphore(value: 0)
  private let filled = DispatchSemaphore(value: 0)

  /// - Parameter capacity: the number of batches that may wait, at least 1.
  init(capacity: Int) {
    // libdispatch traps if a semaphore is destroyed while its value is below its initial one, so start at 0.
    for _ in 0..<max(1, capacity) { spaces.signal() }
  }

  /// Waits for room, then adds the batch. Returns false if the queue is closed and the batch was not added.
  func put(_ batch: Batch) -> Bool {
    spaces.wait()
    let isTaken = state.withLock { state in
      if state.isClosed { return false }
      state.batches.append(batch)
      return true
    }
    if isTaken { filled.signal() } else { spaces.signal() }
    return isTaken
  }

  /// Waits for a batch and returns it, or nil if the queue is closed and empty.
  /// - Parameter onIdle: called before waiting longer than `patience`.
  func take(after patience: DispatchTimeInterval, _ onIdle: () -> Void) -> Batch? {
    if filled.wait(timeout: .now() + patience) == .timedOut {
      onIdle()
      filled.wait()
    }
    let batch = state.withLock { $0.batches.isEmpty ? nil : $0.batches.removeFirst() }
    // The queue is closed: wake the next waiting lane, which must see that, too.
    if batch == nil { filled.signal() } else { spaces.signal() }
    return batch
  }

  /// Refuses further batches and wakes all waiting threads. Batches already in the queue can still be taken.
  func close() {
    state.withLock { $0.isClosed = true }
    spaces.signal()
    filled.signal()
  }
}
