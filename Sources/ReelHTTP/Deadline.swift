/// A limit on how long something may take in all.
enum Deadline {
  /// Runs `body`; cancels it and throws ``HTTPFailure/timedOut(_:)`` when it is not done within `limit`.
  static func run<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws(HTTPFailure) -> Value
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
        do {
          try await Task.sleep(for: limit)
          return .failure(.timedOut("it took longer than \(limit)"))
        } catch {
          return nil
        }
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
}
