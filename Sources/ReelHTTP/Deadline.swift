/// A limit on how long something may take in all, and on how long nothing may move.
struct Deadline: Sendable {
  /// In all.
  let limit: Duration
  /// Of silence, as `watch` tells it.
  let idle: Duration
  let watch: BodyWatch

  /// Runs `body`; cancels it and throws ``HTTPFailure/timedOut(_:)`` when it is not done within the limit,
  /// ``HTTPFailure/silent(_:)`` when its bytes are not taken.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(HTTPFailure) -> Value
  ) async throws(HTTPFailure) -> Value {
    let first = await withTaskGroup(of: Result<Value, HTTPFailure>?.self) { group in
      group.addTask {
        do throws(HTTPFailure) {
          return .success(try await body())
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        // Nil when it was cancelled: the body has ended, or is told to.
        await expiry().map { .failure($0) }
      }
      var first: Result<Value, HTTPFailure>?
      while let next = await group.next() {
        if first == nil, let next {
          first = next
          group.cancelAll()
        }
      }
      return first
    }
    guard let first else { throw .cancelled }
    return try first.get()
  }

  /// Waits until there is nothing more to wait for, and tells why; nil when it was cancelled.
  private func expiry() async -> HTTPFailure? {
    let start = ContinuousClock.now
    while true {
      let left = limit - start.duration(to: .now)
      if left <= .zero { return .timedOut("it took longer than \(limit)") }
      let silence = watch.silence
      if silence >= idle { return .silent(idle) }
      do {
        // What moves meanwhile begins anew, so it is looked at a little late: by a tenth at most.
        try await Task.sleep(for: min(left, max(idle - silence, idle / 10)))
      } catch {
        return nil
      }
    }
  }
}
