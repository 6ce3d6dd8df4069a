import Dispatch
import Synchronization

/// Holds an upload up when it is halfway, until the check has looked around.
final class Pause: Sendable {
  private let reached = AsyncStream<Void>.makeStream()
  private let release = DispatchSemaphore(value: 0)
  private let isHeld = Atomic<Bool>(false)

  /// Whether the upload ever came to its middle.
  var wasReached: Bool { isHeld.load(ordering: .relaxed) }

  /// Each of these holds the uploader's thread, but only the first that is reached, and for a minute at most:
  /// a check must end.
  var midway: Midway { Midway { [self] in hold() } }

  private func hold() {
    if isHeld.exchange(true, ordering: .relaxed) { return }
    pass()
    _ = release.wait(timeout: .now() + .seconds(60))
  }

  /// Returns when the upload is halfway, or over.
  func isReached() async {
    for await _ in reached.stream { return }
  }

  /// Lets the upload go on.
  func end() { release.signal() }

  /// The upload is halfway, or over.
  func pass() { reached.continuation.finish() }
}
