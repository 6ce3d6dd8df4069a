import Glibc
import ReelSystem
import Synchronization
import Testing

@Suite struct BlockingThreadsTests {
  private let threads = BlockingThreads(label: "test", count: 3)

  @Test func aTaskOnThemIsNotHandedOverToBlock() async {
    let queue = BlockingQueue(label: "other", width: 1)
    let seen = await Task(executorPreference: threads) {
      let before = BlockingThread.isCurrent
      let outside = Self.thread
      let inside = await queue.run { Self.thread }
      return (before, outside == inside)
    }.value
    #expect(seen == (true, true))
    // One that is elsewhere is handed over, to a thread that is no task's.
    #expect(!BlockingThread.isCurrent)
    #expect(await queue.run { BlockingThread.isCurrent } == false)
  }

  @Test func whatIsThrownThereIsThrownHere() async {
    let queue = BlockingQueue(label: "other", width: 1)
    await #expect(throws: SystemError(code: ENOENT, call: "open")) {
      try await Task(executorPreference: threads) {
        try await queue.run { () throws(SystemError) -> Int in
          throw SystemError(code: ENOENT, call: "open")
        }
      }.value
    }
    // Its place was given back.
    #expect(await Task(executorPreference: threads) { await queue.run { true } }.value)
  }

  @Test func aQueueKeepsItsWidthOnThem() async {
    let queue = BlockingQueue(label: "narrow", width: 1)
    let visitors = Visitors()
    await withTaskGroup { group in
      for _ in 0..<200 {
        group.addTask(executorPreference: threads) {
          await queue.run {
            visitors.enter()
            visitors.leave()
          }
        }
      }
    }
    #expect(visitors.most == 1)
  }

  @Test func asManyTasksGoOnAtOnceAsThereAreThreads() async {
    let blocked = Visitors()
    // Each waits, blocking, until the two others do too: with fewer threads this never ends.
    await withTaskGroup { group in
      for _ in 0..<3 {
        group.addTask(executorPreference: threads) {
          blocked.enter()
          while blocked.most < 3 { usleep(100) }
        }
      }
    }
    #expect(blocked.most == 3)
  }

  @Test func everyTaskComesToItsEnd() async {
    let done = Visitors()
    await withTaskGroup { group in
      for _ in 0..<5000 {
        group.addTask(executorPreference: threads) {
          await Task.yield()
          done.enter()
        }
      }
    }
    #expect(done.most == 5000)
  }

  private static var thread: UInt { UInt(pthread_self()) }
}

/// Counts who is there.
private final class Visitors: Sendable {
  private let state = Mutex((now: 0, most: 0))

  /// As many as there ever were at once.
  var most: Int { state.withLock { $0.most } }

  func enter() {
    state.withLock { state in
      state.now += 1
      state.most = max(state.most, state.now)
    }
  }

  func leave() { state.withLock { $0.now -= 1 } }
}
