import ReelModel
import ReelSystem

extension CancellationFlag {
  /// - Throws: `cancelled` once it is set.
  func check() throws(UploadError) {
    if isSet {
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
    return try await flag.whileRunning { () async throws(UploadError) in
      try await run { () throws(UploadError) in
        try flag.check()
        return try body(flag)
      }
    }
  }
}
