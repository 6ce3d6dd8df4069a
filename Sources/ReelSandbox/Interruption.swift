import Synchronization

/// A file's cancellation: whoever waits for something on its behalf says here how to end the waiting.
final class Interruption: Sendable {
  private struct State {
    var hasCome = false
    var onArrival: (@Sendable () -> Void)?
  }
  private let state = Mutex(State())

  /// Whether the file was cancelled.
  var hasCome: Bool { state.withLock { $0.hasCome } }

  /// Cancels the file.
  func come() {
    let action = state.withLock { state in
      state.hasCome = true
      return state.onArrival
    }
    action?()
  }

  /// `action` is called when the cancellation comes, at once when it has come already; it replaces the one before.
  func onArrival(_ action: @escaping @Sendable () -> Void) {
    let hasCome = state.withLock { state in
      state.onArrival = action
      return state.hasCome
    }
    if hasCome { action() }
  }

  /// Nothing is called any more.
  func settle() {
    state.withLock { $0.onArrival = nil }
  }
}
