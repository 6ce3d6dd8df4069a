import Synchronization

/// Tells code that blocks on a thread of its own that its task was cancelled.
final class CancellationFlag: Sendable {
  private let flag = Atomic(false)

  var isSet: Bool { flag.load(ordering: .acquiring) }

  /// Runs `body`; the flag is set as soon as the surrounding task is cancelled.
  func whileRunning<Value: Sendable, Failure: Error>(
    _ body: @Sendable () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withTaskCancellationHandler {
      do throws(Failure) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      flag.store(true, ordering: .releasing)
    }
    return try result.get()
  }
}
