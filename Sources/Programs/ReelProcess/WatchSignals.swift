import CProcess
import Dispatch
import Glibc
import Synchronization

/// The signals of a process that runs for months: SIGINT and SIGTERM end it, SIGHUP makes it reread its settings.
///
/// Signals belong to the process, so only one of these may exist in it.
package final class WatchSignals: Sendable {
  package enum Wish {
    case end, reload
  }
  /// The pending wish, and what to call when one arrives.
  private final class Wishes: Sendable {
    private struct State {
      var wish: Wish?
      var onWish: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())

    var wish: Wish? { state.withLock { $0.wish } }

    func note(_ wish: Wish) {
      let action = state.withLock { state in
        // A wish to end is never overwritten.
        if state.wish != .end { state.wish = wish }
        return state.onWish
      }
      action?()
    }

    func take() -> Wish? {
      state.withLock { state in
        defer { if state.wish == .reload { state.wish = nil } }
        return state.wish
      }
    }

    /// - Parameter action: called at once if a wish is pending; nil to call nothing from now on.
    func whenWished(_ action: (@Sendable () -> Void)?) {
      let isWished = state.withLock { state in
        state.onWish = action
        return state.wish != nil
      }
      if isWished { action?() }
    }
  }
  private let wishes = Wishes()

  /// Starts listening. From now on no signal is lost.
  package init() {
    let numbers = [SIGINT, SIGTERM]
    let descriptor = reel_signals_listen(numbers, Int32(numbers.count), RunSignals.exitCode)
    guard descriptor >= 0 else { return }
    reel_signals_only_tell(SIGHUP)
    // A thread of its own for the life of the process: the shared threads may all be waiting for a disk.
    DispatchQueue(label: "reel.signals").async { [wishes] in
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      while true {
        poll(&request, 1, -1)
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) == 1 { wishes.note(Int32(byte) == SIGHUP ? .reload : .end) }
      }
    }
  }

  /// Returns the pending wish: a wish to reload only once, a wish to end each time.
  package func take() -> Wish? { wishes.take() }

  /// Waits for `task`, and cancels it when a signal asks the process to end.
  /// - Parameter drain: called when the settings are to be reread; work under way is finished first.
  /// - Returns: the task's result, and whether a signal asked the process to end.
  package func ending<Value: Sendable>(
    _ task: Task<Value, Never>, drain: @escaping @Sendable () -> Void
  ) async -> (value: Value, wasInterrupted: Bool) {
    wishes.whenWished { [wishes] in
      if wishes.wish == .end { task.cancel() } else { drain() }
    }
    let value = await task.value
    wishes.whenWished(nil)
    return (value, wishes.wish == .end)
  }

  /// Waits for a signal, at most for `patience`.
  package func wait(atMost patience: Duration) async {
    let pause = Task { _ = try? await Task.sleep(for: patience) }
    wishes.whenWished { pause.cancel() }
    await pause.value
    wishes.whenWished(nil)
  }
}
