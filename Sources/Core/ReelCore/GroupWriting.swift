import Dispatch
import Synchronization

/// Writes in groups what tasks hand in, on a thread of its own: what comes while a group is being written is the next one, so
/// that many tasks cost one commit.
///
/// What nobody waits for is written with the next group, or soon. It is kept over a failure as long as it is little.
package final class GroupWriting<Write: Sendable>: Sendable {
  /// How much is written together, and kept.
  package struct Limits: Sendable {
    /// The most in one group.
    package var group = 512
    /// What nobody waits for is kept over failures while fewer than this are pending.
    package var kept = 10_000
    /// How long what nobody waits for may stay unwritten.
    package var patience = DispatchTimeInterval.milliseconds(200)

    package init() {}
  }

  private struct State {
    var pending: [Write] = []
    /// Whether somebody is at it, or about to be.
    var isWriting = false
    var isFlushDue = false
    /// Whether the last group was not written.
    var isFailing = false
    var isClosed = false
  }

  private enum Step { case refuse, wait, writeNow, flushLater }

  private let limits: Limits
  private let isAwaited: @Sendable (Write) -> Bool
  private let write: @Sendable ([Write]) -> Bool
  private let thread: DispatchQueue
  private let state = Mutex(State())

  /// - Parameters:
  ///   - isAwaited: whether somebody waits for it.
  ///   - write: writes a group and answers those who wait, whatever comes of it; false when it was not written. Blocks.
  package init(
    label: String, limits: Limits = Limits(), isAwaited: @escaping @Sendable (Write) -> Bool,
    write: @escaping @Sendable ([Write]) -> Bool
  ) {
    (self.limits, self.isAwaited, self.write) = (limits, isAwaited, write)
    thread = DispatchQueue(label: label)
  }

  /// False when it was not taken: this was closed.
  package func handIn(_ one: Write) -> Bool { handIn([one]) }

  /// As ``handIn(_:)-1``, of several, in their order.
  package func handIn(_ several: [Write]) -> Bool {
    let isAwaited = several.contains(where: isAwaited)
    let step = state.withLock { state -> Step in
      if state.isClosed { return .refuse }
      if several.isEmpty || !isAwaited && state.isFailing && state.pending.count >= limits.kept {
        return .wait
      }
      state.pending += several
      if state.isWriting { return .wait }
      if isAwaited || state.pending.count >= limits.group {
        state.isWriting = true
        return .writeNow
      }
      defer { state.isFlushDue = true }
      return state.isFlushDue ? .wait : .flushLater
    }
    switch step {
    case .refuse: return false
    case .wait: break
    case .writeNow: thread.async { [self] in writePending() }
    case .flushLater: flushLater()
    }
    return true
  }

  /// Takes nothing in any more; what was handed in before is still written.
  package func close() { state.withLock { $0.isClosed = true } }

  /// Whether nothing is taken in any more.
  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// How many were handed in, and are in no group yet.
  package var pendingCount: Int { state.withLock { $0.pending.count } }

  /// Runs `body` between two groups.
  package func between(_ body: @escaping @Sendable () -> Void) { thread.async(execute: body) }

  private func flushLater() {
    thread.asyncAfter(deadline: .now() + limits.patience) { [weak self] in
      guard let self else { return }
      let isDue = state.withLock { state in
        state.isFlushDue = false
        if state.isWriting || state.pending.isEmpty { return false }
        state.isWriting = true
        return true
      }
      if isDue { writePending() }
    }
  }

  /// Writes until nothing is pending.
  private func writePending() {
    while true {
      let group = state.withLock { state in
        let group = Array(state.pending.prefix(limits.group))
        state.pending.removeFirst(group.count)
        if group.isEmpty { state.isWriting = false }
        return group
      }
      if group.isEmpty { return }
      let isWritten = write(group)
      state.withLock { $0.isFailing = !isWritten }
      if !isWritten, !keep(group.filter { !isAwaited($0) }) { return }
    }
  }

  /// Tries again a little later what nobody waits for, as long as it is little. False when nobody waits for anything.
  private func keep(_ unwritten: [Write]) -> Bool {
    let goesOn = state.withLock { state in
      if !state.isClosed, state.pending.count < limits.kept {
        state.pending.insert(contentsOf: unwritten, at: 0)
      }
      let goesOn = state.pending.isEmpty || state.pending.contains(where: isAwaited)
      if !goesOn { (state.isWriting, state.isFlushDue) = (false, true) }
      return goesOn
    }
    if !goesOn { flushLater() }
    return goesOn
  }
}
