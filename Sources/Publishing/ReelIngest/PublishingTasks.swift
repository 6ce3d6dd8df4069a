import Dispatch
import ReelCore
import ReelSource
import Synchronization

/// The tasks for the work that lanes hand over.
///
/// They are not children of the run's task: each reports the ends of its files, even if the run was cancelled before
/// the task began.
///
/// Files with slow readers would take processor time from all the others, so the first of them are left for the end.
final class PublishingTasks: Sendable {
  private struct State {
    var files = 0
    var unstored = 0
    var waiting: [DispatchSemaphore] = []
    var slow: [PublishingWork] = []
  }

  /// How much may be under way before a lane waits.
  struct Limits {
    var files: Int
    /// The number of batches that are not stored yet.
    var unstored: Int
  }

  /// The number of slow files that are left for the end. Each holds a source and a copy open.
  private let mostSlow: Int
  private let publisher: BatchPublisher
  private let limits: Limits
  private let state = Mutex(State())
  private let all = DispatchGroup()

  /// - Parameter leavesSlowOnes: whether the first slow files are left for the end; they do not count toward the
  ///   limits.
  init(_ publisher: BatchPublisher, _ limits: Limits, leavesSlowOnes: Bool) {
    self.publisher = publisher
    self.limits = limits
    mostSlow = leavesSlowOnes ? 16 : 0
  }

  /// Blocks while too much is under way. Call it only while holding no intent, because a file under way may be waiting
  /// for that intent.
  func waitForRoom() {
    while let room = room() { room.wait() }
  }

  private func room() -> DispatchSemaphore? {
    state.withLock { state in
      guard state.files >= limits.files || state.unstored >= limits.unstored else { return nil }
      let room = DispatchSemaphore(value: 0)
      state.waiting.append(room)
      return room
    }
  }

  /// Takes the files to their ends. Never blocks, so each lane may exceed the limits by a batch.
  func add(_ work: PublishingWork) {
    let isLeft = state.withLock { state in
      guard case .reading(let file, _, _) = work, state.slow.count < mostSlow,
        // A larger file has room reserved for its copy, for which others may be waiting.
        file.source.size < PrivateCopy.leastReserved
      else { return false }
      state.slow.append(work)
      return true
    }
    if !isLeft { start(work) }
  }

  private func start(_ work: PublishingWork) {
    change { state in
      state.files += work.count
      if case .claimed = work { state.unstored += 1 }
    }
    all.enter()
    let (publisher, cancellation) = (publisher, publisher.context.stop.cancellation)
    Task {
      let (registered, begin) = AsyncStream.makeStream(of: Never.self)
      let publishing = Task {
        // A cancellation must not come between its beginning and its registration.
        for await _ in registered {}
        await publisher.publish(work) { [self] progress in
          change { state in
            switch progress {
            case .stored: state.unstored -= 1
            case .ended(let count): state.files -= count
            }
          }
        }
      }
      let registration = cancellation.onSet { publishing.cancel() }
      begin.finish()
      await publishing.value
      cancellation.clear(registration)
      all.leave()
    }
  }

  /// Wakes all lanes once there is room again: more may have been under way than the limits allow.
  private func change(_ body: (inout State) -> Void) {
    let lanes: [DispatchSemaphore] = state.withLock { state in
      body(&state)
      guard state.files < limits.files, state.unstored < limits.unstored else { return [] }
      defer { state.waiting = [] }
      return state.waiting
    }
    for lane in lanes { lane.signal() }
  }

  /// Begins the files that were left for the end, and waits for all work that was added.
  func end() async {
    let slow = state.withLock { state in
      defer { state.slow = [] }
      return state.slow
    }
    for work in slow { start(work) }
    await DispatchQueue(label: "reel.publishing").run { [all] in all.wait() }
  }
}
