import Dispatch
import Glibc
import Synchronization

/// SIGINT, SIGTERM and SIGHUP end a run alike: once, and what is in flight is finished or rolled back; twice, at
/// once.
enum Interruption {
  /// Waits for `task`, which the first signal cancels; nothing else is cancelled, so that who watches the task sees
  /// it to its end. Gives its result, and whether there was a signal.
  static func cancelling<Value: Sendable>(_ task: Task<Value, Never>) async -> (
    value: Value, wasInterrupted: Bool
  ) {
    let count = Mutex(0)
    // A queue of its own has a thread of its own: the shared ones may all be waiting for a disk.
    let queue = DispatchQueue(label: "reel.signals")
    let numbers = listened()
    let sources = numbers.map { number in
      source(for: number, on: queue) {
        let isFirst = count.withLock { count in
          count += 1
          return count == 1
        }
        if isFirst { task.cancel() } else { _exit(ReelExit.interrupted.rawValue) }
      }
    }
    defer {
      for source in sources { source.cancel() }
      // What is left to print is not worth waiting for: a signal ends it.
      for number in numbers { signal(number, SIG_DFL) }
    }
    let value = await task.value
    return (value, count.withLock { $0 > 0 })
  }

  /// What `nohup` told us to ignore stays ignored.
  private static func listened() -> [Int32] {
    [SIGINT, SIGTERM, SIGHUP].filter { number in
      var current = sigaction()
      sigaction(number, nil, &current)
      return !isIgnored(current)
    }
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  private static func source(
    for number: Int32, on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void
  ) -> any DispatchSourceSignal {
    // Dispatch sees the signal only when nobody else handles it.
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler(handler: handler)
    source.resume()
    return source
  }
}
