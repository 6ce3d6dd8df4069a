/// A periodic sign of life that shows others that this process lives: it renews the lease of a catalog or of a
/// folder store.
package final class Heartbeat: Sendable {
  private let task: Task<Void, Never>

  /// Starts the heartbeat; the first beat comes after `interval`.
  /// - Parameter beat: Returns whether the sign was given. After a failure, the next attempt comes sooner.
  package init(every interval: Duration, _ beat: @escaping @Sendable () async -> Bool) {
    task = Task {
      var isGiven = true
      while (try? await Task.sleep(for: isGiven ? interval : interval / 8, clock: .continuous)) != nil {
        isGiven = await beat()
      }
    }
  }

  deinit { task.cancel() }

  /// Starts no further beat; one that is under way continues.
  package func stop() { task.cancel() }

  /// Starts no further beat, and waits for one that is under way.
  package func end() async {
    task.cancel()
    await task.value
  }
}
