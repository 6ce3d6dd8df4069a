import Dispatch
import Synchronization

/// Something asynchronous that a thread which may block waits for.
package struct BlockingCall<Value: Sendable>: Sendable {
  private let task: Task<Void, Never>
  private let value = Held()
  private let isOver = DispatchSemaphore(value: 0)

  private final class Held: Sendable {
    let value = Mutex<Value?>(nil)
  }

  /// Begins.
  package init(_ body: @escaping @Sendable () async -> Value) {
    task = Task.detached { [value, isOver] in
      let result = await body()
      value.value.withLock { $0 = result }
      isOver.signal()
    }
  }

  /// From any thread: it ends early.
  package func cancel() { task.cancel() }

  /// Blocks until it is over; nil when it was cancelled because that took longer than `patience`.
  package func wait(for patience: Duration? = nil) -> Value? {
    if let patience {
      let milliseconds = max(1, Int(max(.zero, patience) / .milliseconds(1)))
      if isOver.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut {
        task.cancel()
        isOver.wait()
        return nil
      }
    } else {
      isOver.wait()
    }
    return value.value.withLock { $0 }
  }
}
