import Dispatch

/// Threads for calls that block (disk, sockets, SQLite), so that none of Swift's cooperative threads ever waits
/// for a device: those are as many as cores, and one that waits is one less for everybody.
public final class BlockingQueue: Sendable {
  private let queue: DispatchQueue
  private let places: AsyncPlaces

  /// - Parameters:
  ///   - label: shown by debuggers.
  ///   - width: how many calls may block at once; at least 1.
  public init(label: String, width: Int) {
    queue = DispatchQueue(label: label, attributes: .concurrent)
    places = AsyncPlaces(count: max(1, width))
  }

  /// Runs `body` on a thread of its own and gives its result.
  ///
  /// Cancellation does not interrupt `body`: a system call that has begun ends first.
  public func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    await places.take()
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      queue.async {
        continuation.resume(returning: Result(catching: body))
      }
    }
    places.giveBack()
    return try result.get()
  }
}
