import Dispatch
import ReelCore
import Synchronization

/// The tasks of what lanes have handed over.
///
/// They are no children of the run's task: each tells its files' ends, also when the run was cancelled before it began.
///
/// Files with slow readers would take processor time from all the others, so the first of them are left for the end.
final class DeferredTasks: Sendable {
  private struct State {
    var underWay = 0
    var waiting: [DispatchSemaphore] = []
    var slow: [DeferredFiles] = []
  }
  /// Slow files that are left for the end. Each holds a source and a copy open.
  private let mostSlow: Int
  private let publisher: BatchPublisher
  private let places: Int
  private let state = Mutex(State())
  private let all = DispatchGroup()

  /// - Parameters:
  ///   - places: files under way at which a lane waits.
  ///   - leavesSlowOnes: whether the first slow files are left for the end; they take no places.
  init(_ publisher: BatchPublisher, places: Int, leavesSlowOnes: Bool) {
    self.publisher = publisher
    self.places = places
    mostSlow = leavesSlowOnes ? 16 : 0
  }

  /// Blocks while too many are under way. For who holds no intent: one of them may be waiting for that.
  func waitForRoom() {
    while let room = room() { room.wait() }
  }

  private func room() -> DispatchSemaphore? {
    state.withLock { state in
      guard state.underWay >= places else { return nil }
      let room = DispatchSemaphore(value: 0)
      state.waiting.append(room)
      return room
    }
  }

  /// Takes the files to their ends. Never blocks, so there may be a batch of each lane more than there are places.
  func add(_ files: DeferredFiles) {
    let isLeft = state.withLock { state in
      guard case .reading = files, state.slow.count < mostSlow else { return false }
      state.slow.append(files)
      return true
    }
    if !isLeft { start(files) }
  }

  private func start(_ files: DeferredFiles) {
    state.withLock { $0.underWay += files.count }
    all.enter()
    let (publisher, cancellation) = (publisher, publisher.context.stop.cancellation)
    Task {
      let publishing = Task { await publisher.publish(files) }
      let registration = cancellation.onSet { publishing.cancel() }
      await publishing.value
      cancellation.clear(registration)
      for lane in ended(files.count) { lane.signal() }
      all.leave()
    }
  }

  /// Whom to wake: all of them, as there may have been more under way than there are places.
  private func ended(_ count: Int) -> [DispatchSemaphore] {
    state.withLock { state in
      state.underWay -= count
      guard state.underWay < places else { return [] }
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Begins those that were left for the end, and waits for all that were added.
  func end() async {
    let slow = state.withLock { state in
      defer { state.slow = [] }
      return state.slow
    }
    for files in slow { start(files) }
    await DispatchQueue(label: "reel.deferred").run { [all] in all.wait() }
  }
}
