import CProcess
import Dispatch
import Glibc

/// SIGINT, SIGTERM and SIGHUP end a run alike: once, and what is in flight is finished or rolled back; twice, at
/// once. What `nohup` told us to ignore stays ignored.
///
/// One at a time in a process, as signals are the process's.
package struct RunSignals: ~Copyable {
  /// With which a process ends that a second signal ends at once: as a shell has it of SIGINT.
  package static let exitCode: Int32 = 130
  private static let numbers = [SIGINT, SIGTERM, SIGHUP]
  /// Readable after the first signal; nil where the system has no descriptor left, and signals end the process as
  /// they do others.
  private let told: Int32?

  /// From now on no signal is lost, however late it is looked at: begin before what is to be interrupted.
  package init() {
    let descriptor = reel_signals_listen(
      Self.numbers, Int32(Self.numbers.count), Self.exitCode)
    told = descriptor < 0 ? nil : descriptor
  }

  /// Waits for `task`, which the first signal cancels; nothing else is cancelled, so that who watches the task sees
  /// it to its end. Gives its result, and whether there was a signal.
  package consuming func cancelling<Value: Sendable>(_ task: Task<Value, Never>) async -> (
    result: Value, wasInterrupted: Bool
  ) {
    let source = told.map { Self.source(of: $0) { task.cancel() } }
    let value = await task.value
    source?.cancel()
    // What is left to print is not worth waiting for: a signal ends it.
    reel_signals_stop(Self.numbers, Int32(Self.numbers.count))
    return (value, told != nil && reel_signals_count() > 0)
  }

  /// Runs `body`, which the first signal cancels. Gives how it ended, and whether there was a signal.
  package static func cancelling<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async -> (result: Result<Value, any Error>, wasInterrupted: Bool) {
    let interruption = RunSignals()
    let task = Task { () -> Result<Value, any Error> in
      do { return .success(try await body()) } catch { return .failure(error) }
    }
    return await interruption.cancelling(task)
  }

  private static func source(
    of descriptor: Int32, _ handler: @escaping @Sendable () -> Void
  ) -> any DispatchSourceRead {
    // A queue of its own has a thread of its own: the shared ones may all be waiting for a disk.
    let queue = DispatchQueue(label: "reel.signals")
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      var byte: UInt8 = 0
      _ = read(descriptor, &byte, 1)
      handler()
    }
    source.resume()
    return source
  }
}
