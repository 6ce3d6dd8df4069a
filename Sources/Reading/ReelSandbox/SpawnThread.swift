import Dispatch
import Glibc
import Synchronization

/// The thread that starts a pool's workers, and lives as long as the pool.
///
/// A worker asks the kernel to kill it when its parent dies, and the kernel regards the *thread* that started it as
/// its parent. A dispatch queue's thread, which ends after being idle for a while, would take its workers with it.
final class SpawnThread: Sendable {
  private let jobs = JobList()
  private let isRunning: Bool

  init() {
    let jobs = Unmanaged.passRetained(jobs)
    var thread = pthread_t()
    let error = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<JobList>.fromOpaque(context).takeRetainedValue().work()
        return nil
      }, jobs.toOpaque())
    isRunning = error == 0
    if isRunning { pthread_detach(thread) } else { jobs.release() }
  }

  deinit {
    jobs.close()
  }

  /// Runs `body` on the thread and waits for it. If the thread could not be created, runs it on the current thread.
  func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
    guard isRunning else { return body() }
    let done = DispatchSemaphore(value: 0)
    let result = ResultBox<Value>()
    jobs.add {
      result.set(body())
      done.signal()
    }
    while true {
      done.wait()
      if let value = result.get() { return value }
    }
  }
}

/// The jobs for the thread.
private final class JobList: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  private let signal = DispatchSemaphore(value: 0)

  func add(_ job: @escaping @Sendable () -> Void) {
    state.withLock { $0.waiting.append(job) }
    signal.signal()
  }

  func close() {
    state.withLock { $0.isClosed = true }
    signal.signal()
  }

  func work() {
    while true {
      signal.wait()
      let (jobs, isClosed) = state.withLock { state in
        defer { state.waiting = [] }
        return (state.waiting, state.isClosed)
      }
      for job in jobs { job() }
      if isClosed { return }
    }
  }
}

private final class ResultBox<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  func set(_ new: Value) { value.withLock { $0 = new } }
  func get() -> Value? { value.withLock { $0 } }
}
