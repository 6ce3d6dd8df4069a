import Dispatch
import Synchronization

/// An asynchronous operation that a thread which may block waits for.
package struct BlockingCall<Value: Sendable>: Sendable {
  private let task: Task<Void, Never>
  private let value = Held()
  private let isOver = DispatchSemaphore(value: 0)

  private final class Held: Sendable {
    let value = Mutex<Value?>(nil)
  }

  /// Starts the operation.
  package init(_ body: @escaping @Sendable () async -> Value) {
    task = Task.detached { [value, isOver] in
      let result = await body()
      value.value.withLock { $0 = result }
      isOver.signal()
    }
  }

  /// Cancels the operation, from any thread.
  package func cancel() { task.cancel() }

  /// Blocks until the operation ends. Nil if it was cancelled because it took longer than `patience`.
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
