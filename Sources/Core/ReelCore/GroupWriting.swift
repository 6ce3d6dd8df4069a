import Dispatch
import Synchronization

/// Writes what tasks hand in, in groups, on a thread of its own. What arrives while one group is being written
/// forms the next, so that many tasks share one commit.
///
/// A write that nobody waits for joins the next group, or is written soon after. If a group fails, such writes are
/// kept for another attempt as long as there are few of them.
package final class GroupWriting<Write: Sendable>: Sendable {
  /// How much is written together, and how much is kept.
  package struct Limits: Sendable {
    /// The maximum number of writes in a group.
    package var group = 512
    /// Writes that nobody waits for are kept after a failure while fewer than this are pending.
    package var kept = 10_000
    /// How long a write that nobody waits for may stay unwritten.
    package var patience = DispatchTimeInterval.milliseconds(200)

    package init() {}
  }

  private struct State {
    var pending: [Write] = []
    /// Whether a group is being written, or is about to be.
    var isWriting = false
    var isFlushDue = false
    /// Whether the last group could not be written.
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
  ///   - isAwaited: Whether somebody waits for the write.
  ///   - write: Writes a group, and answers those who wait, whatever the outcome. Returns false if the group was
  ///     not written. Blocks.
  package init(
    label: String, limits: Limits = Limits(), isAwaited: @escaping @Sendable (Write) -> Bool,
    write: @escaping @Sendable ([Write]) -> Bool
  ) {
    (self.limits, self.isAwaited, self.write) = (limits, isAwaited, write)
    thread = DispatchQueue(label: label)
  }

  /// Hands in a write. False if it was refused because this is closed.
  package func handIn(_ one: Write) -> Bool { handIn([one]) }

  /// Hands in several writes, in their order, as ``handIn(_:)-1`` does.
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

  /// Accepts no more writes; those handed in before are still written.
  package func close() { state.withLock { $0.isClosed = true } }

  /// Whether writes are no longer accepted.
  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// The number of writes that were handed in but are not part of a group yet.
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

  /// Keeps unawaited writes for another attempt a little later, as long as they are few. Returns false if no
  /// pending write is awaited.
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
