import Dispatch
import ReelStorageTesting
import Testing

/// Runs each test on a thread of its own instead of Swift's pool, which has only as many threads as there are cores: a
/// test that computes for long keeps none of them from the others, and one that looks at a program again and again gets
/// its turn.
package struct OwnThread: TestTrait, SuiteTrait, TestScoping {
  package let isRecursive = true

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(SerialThread()) { try await body() }
  }
}

extension Trait where Self == OwnThread {
  /// For a test that computes for long, or must act within a time that the program sets.
  package static var ownThread: OwnThread { OwnThread() }
}

/// Waits, like `Task.sleep`, but needs none of the pool's threads to wake up.
/// - Throws: `CancellationError`.
package func rest(milliseconds: Int) async throws {
  await withCheckedContinuation { continuation in
    clock.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.resume() }
  }
  try Task.checkCancellation()
}

private let clock = DispatchQueue(label: "reel.test.clock")
