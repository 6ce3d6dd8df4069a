import Dispatch
import ReelCore
import Synchronization

/// The tasks of deferred files.
///
/// They are no children of the run's task: each tells its file's end, also when the run was cancelled before it began.
///
/// Files with slow readers would take processor time from all the others, so the first of them are left for the end.
final class DeferredFileTasks: Sendable {
  private struct State {
    var underWay = 0
    var waiting: [DispatchSemaphore] = []
    var slow: [DeferredFile] = []
  }
  /// Slow files that are left for the end. Each holds a source and a copy open.
  private let mostSlow: Int
  private let publisher: FilePublisher
  private let places: Int
  private let state = Mutex(State())
  private let all = DispatchGroup()

  /// - Parameters:
  ///   - places: files under way at which a lane waits.
  ///   - leavesSlowOnes: whether the first slow files are left for the end; they take no places.
  init(_ publisher: FilePublisher, places: Int, leavesSlowOnes: Bool) {
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

  /// Takes the file to its end. Never blocks, so there may be a batch of each lane more than there are places.
  func add(_ file: DeferredFile) {
    let isLeft = state.withLock { state in
      guard case .reading = file, state.slow.count < mostSlow else { return false }
      state.slow.append(file)
      return true
    }
    if !isLeft { start(file) }
  }

  private func start(_ file: DeferredFile) {
    state.withLock { $0.underWay += 1 }
    all.enter()
    let (publisher, cancellation) = (publisher, publisher.context.stop.cancellation)
    Task {
      let publishing = Task { await publisher.publish(file) }
      let registration = cancellation.onSet { publishing.cancel() }
      await publishing.value
      cancellation.clear(registration)
      for lane in ended() { lane.signal() }
      all.leave()
    }
  }

  /// Whom to wake: all of them, as there may have been more under way than there are places.
  private func ended() -> [DispatchSemaphore] {
    state.withLock { state in
      state.underWay -= 1
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
    for file in slow { start(file) }
    await DispatchQueue(label: "reel.deferred-files").run { [all] in all.wait() }
  }
}
