/// Asks a request that is receiving bytes into an upload to stop.
struct StopSignal: Sendable {
  private let asked: AsyncStream<Void>
  private let asking: AsyncStream<Void>.Continuation

  init() { (asked, asking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  func ask() { asking.yield() }

  /// Waits until it is asked; returns false if its task is cancelled first. Only one task may wait.
  func isAsked() async -> Bool {
    for await _ in asked { return true }
    return false
  }
}
