import ReelModel
import ReelSystem
import Synchronization

/// Carries the cancellation of a task to the thread that does its blocking work.
final class CancellationFlag: Sendable {
  private let isSet = Atomic<Bool>(false)

  func set() { isSet.store(true, ordering: .relaxed) }

  /// - Throws: `cancelled` once the task has been cancelled.
  func check() throws(UploadError) {
    if isSet.load(ordering: .relaxed) {
      throw UploadError(.cancelled, "cancelled before it was stored; run the same command again to go on")
    }
  }
}

extension BlockingQueue {
  /// Runs `body` on a thread of its own; `body` looks at the flag between its steps.
  func runCancellable<Value: Sendable>(
    _ body: @escaping @Sendable (CancellationFlag) throws(UploadError) -> Value
  ) async throws(UploadError) -> Value {
    let flag = CancellationFlag()
    let result = await withTaskCancellationHandler {
      await run { () throws(Never) -> Result<Value, UploadError> in
        Result { () throws(UploadError) -> Value in
          try flag.check()
          return try body(flag)
        }
      }
    } onCancel: {
      flag.set()
    }
    return try result.get()
  }
}
