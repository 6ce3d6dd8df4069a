import Dispatch

/// Threads for calls that block (disk, sockets, SQLite), so that none of Swift's cooperative threads ever
/// waits for a device: those are as many as cores, and one that waits is one less for everybody.
package final class BlockingQueue: Sendable {
  /// A serial queue for each place. A concurrent one would not do: on Linux its blocked threads count against
  /// the cores, and more come only about once a second.
  let lanes: [DispatchQueue]
  private let places: AsyncSemaphore

  /// - Parameters:
  ///   - label: shown by debuggers.
  ///   - width: how many calls may block at once; at least 1.
  package init(label: String, width: Int) {
    let count = max(1, width)
    lanes = (0..<count).map { DispatchQueue(label: "\(label).\($0)") }
    places = AsyncSemaphore(count: count)
  }

  /// How many calls wait for a thread now.
  var waitingCount: Int { places.waitingCount }

  /// Runs `body` on a thread of its own, and gives its result.
  ///
  /// Cancellation does not interrupt `body`: a system call that has begun ends first.
  package func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let place = await places.take()
    defer { places.giveBack(place) }
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      lanes[place].async {
        continuation.resume(returning: Result(catching: body))
      }
    }
    return try result.get()
  }

  /// The same for a `body` that looks at the flag, which is set when the task is cancelled.
  package func runCancellable<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable (CancellationFlag) throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let flag = CancellationFlag()
    return try await flag.whileRunning { () async throws(Failure) in
      try await run { () throws(Failure) in try body(flag) }
    }
  }
}
