import CProcess
import Dispatch
import Glibc

/// SIGINT, SIGTERM and SIGHUP, which all end a run. After the first signal, what is in flight is finished or rolled
/// back; the second one ends the process at once. Signals that `nohup` has ignored stay ignored.
///
/// Signals belong to the process, so only one of these may exist at a time.
package struct RunSignals: ~Copyable {
  /// The exit code after a second signal: the one that a shell gives for SIGINT.
  package static let exitCode: Int32 = 130
  private static let numbers = [SIGINT, SIGTERM, SIGHUP]
  /// Readable after the first signal; nil where the system has no descriptor left, so that signals end the process as
  /// they do by default.
  private let told: Int32?

  /// Starts listening. From now on no signal is lost, however late it is looked at, so begin before the work that a
  /// signal may interrupt.
  package init() {
    let descriptor = reel_signals_listen(
      Self.numbers, Int32(Self.numbers.count), Self.exitCode)
    told = descriptor < 0 ? nil : descriptor
  }

  /// Waits for `task`, which the first signal cancels. Nothing else is cancelled, so observers can follow the task to
  /// its end. Returns its result, and whether there was a signal.
  package consuming func cancelling<Value: Sendable>(_ task: Task<Value, Never>) async -> (
    result: Value, wasInterrupted: Bool
  ) {
    let source = told.map { Self.source(of: $0) { task.cancel() } }
    let value = await task.value
    source?.cancel()
    // Only output is left, and that is not worth waiting for: from now on a signal ends the process.
    reel_signals_stop(Self.numbers, Int32(Self.numbers.count))
    return (value, told != nil && reel_signals_count() > 0)
  }

  /// Runs `body`, which the first signal cancels. Returns how it ended, and whether there was a signal.
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
    // A queue of its own has a thread of its own: the shared threads may all be waiting for a disk.
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
