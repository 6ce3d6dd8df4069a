import ReelCore
import Synchronization

/// Does something once, when an upload is halfway: seen by what it reads, or by what it reports.
final class Midway: Sendable {
  private let action: Mutex<(@Sendable () -> Void)?>

  /// - Parameter action: called on the uploader's own thread, which it may hold up.
  init(_ action: @escaping @Sendable () -> Void) {
    self.action = Mutex(action)
  }

  func reach() {
    let action = action.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }

  func see(_ progress: TransferProgress) {
    if progress.sent > 0 && progress.sent < progress.total { reach() }
  }
}
