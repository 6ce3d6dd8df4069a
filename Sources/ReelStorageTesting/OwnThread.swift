import Dispatch

/// Runs a task on a thread of its own, so that an uploader that is held up halfway holds up nobody else: an
/// uploader that reads on the cooperative pool would take one of its few threads with it.
final class OwnThread: TaskExecutor {
  private let queue = DispatchQueue(label: "reel.promise")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
