import Dispatch
import Synchronization

/// Threads for tasks that block again and again (read, hash, look something up, copy): a task that prefers them stays
/// where it is for such a call, where one on Swift's cooperative threads would be handed over to another thread and
/// back. On two cores, most of what taking a small file in costs beyond the work itself is such handing over.
///
/// ``BlockingQueue/run(_:)`` knows these threads, and keeps its width on them too.
public final class BlockingThreads: TaskExecutor {
  fileprivate struct State {
    var jobs: [UnownedJob] = []
    /// Where the next one stands in `jobs`.
    var next = 0
    var idle: [Int]
  }

  private let lanes: [DispatchQueue]
  private let state: Mutex<State>

  /// - Parameters:
  ///   - label: shown by debuggers.
  ///   - count: how many tasks may go on at once, those that block among them; at least 1.
  public init(label: String, count: Int) {
    let count = max(1, count)
    lanes = (0..<count).map { DispatchQueue(label: "\(label).\($0)") }
    state = Mutex(State(idle: Array((0..<count).reversed())))
    for lane in lanes { BlockingThread.mark(lane) }
  }

  /// Called by Swift's runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let idle = state.withLock { state in
      state.jobs.append(job)
      return state.idle.popLast()
    }
    guard let idle else { return }
    lanes[idle].async { [self] in runAll(on: idle) }
  }

  private func runAll(on lane: Int) {
    while let job = state.withLock({ $0.take(for: lane) }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

extension BlockingThreads.State {
  /// The job that has waited longest; without one, `lane` is idle from now on.
  fileprivate mutating func take(for lane: Int) -> UnownedJob? {
    guard next < jobs.count else {
      jobs.removeAll(keepingCapacity: true)
      next = 0
      idle.append(lane)
      return nil
    }
    defer {
      next += 1
      if next > 1024 {
        jobs.removeFirst(next)
        next = 0
      }
    }
    return jobs[next]
  }
}

/// Whether a thread may block.
public enum BlockingThread {
  /// Only tells marked queues from others; nothing is ever changed in it.
  private static let key = DispatchSpecificKey<Bool>()

  static func mark(_ queue: DispatchQueue) {
    queue.setSpecific(key: key, value: true)
  }

  /// Whether the current thread may block: it belongs to a marked queue.
  public static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}
