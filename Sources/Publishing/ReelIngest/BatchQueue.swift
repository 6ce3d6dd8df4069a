import Dispatch
import ReelCore
import ReelSource
import Synchronization

/// A bounded queue of batches between a thread that finds files and the lanes that take them in. Putting and taking
/// block.
final class BatchQueue<Batch: Sendable>: Sendable {
  private struct State {
    var batches: [Batch] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  private let spaces = DispatchSemaphore(value: 0)
  private let filled = DispatchSemaphore(value: 0)

  /// - Parameter capacity: batches that may wait, at least 1.
  init(capacity: Int) {
    // A semaphore that is let go of below its first value is a fault to libdispatch.
    for _ in 0..<max(1, capacity) { spaces.signal() }
  }

  /// Waits for room. False when the queue is closed: the batch was not taken.
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

  /// Waits for a batch; nil when the queue is closed and empty.
  /// - Parameter onIdle: called before it waits for longer than `patience`.
  func take(after patience: DispatchTimeInterval, _ onIdle: () -> Void) -> Batch? {
    if filled.wait(timeout: .now() + patience) == .timedOut {
      onIdle()
      filled.wait()
    }
    let batch = state.withLock { $0.batches.isEmpty ? nil : $0.batches.removeFirst() }
    // Closed: the next one who waits is to see that, too.
    if batch == nil { filled.signal() } else { spaces.signal() }
    return batch
  }

  /// Takes nothing in any more, and wakes everybody who waits. What is in it can still be taken.
  func close() {
    state.withLock { $0.isClosed = true }
    spaces.signal()
    filled.signal()
  }
}
