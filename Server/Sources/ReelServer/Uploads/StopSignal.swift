/// Asks who takes bytes into an upload to stop.
struct StopSignal: Sendable {
  private let asked: AsyncStream<Void>
  private let asking: AsyncStream<Void>.Continuation

  init() { (asked, asking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  func ask() { asking.yield() }

  /// Waits until it is asked; false where its task is cancelled before. One task may wait.
  func isAsked() async -> Bool {
    for await _ in asked { return true }
    return false
  }
}
