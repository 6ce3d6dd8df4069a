import Dispatch

/// Runs a task on a thread of its own instead of the cooperative pool, which has only as many as there are cores: one
/// that blocks its thread holds up nothing else.
package final class SerialThread: TaskExecutor {
  private let queue = DispatchQueue(label: "reel.test")

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
