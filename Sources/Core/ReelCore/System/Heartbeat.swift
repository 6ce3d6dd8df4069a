/// A sign of life that is given again and again, so that others can see that this process lives: a lease of a catalog or of
/// a folder store.
package final class Heartbeat: Sendable {
  private let task: Task<Void, Never>

  /// The first comes after `interval`.
  /// - Parameter beat: gives whether the sign was given; one that wasn't is made good by the next, which comes sooner.
  package init(every interval: Duration, _ beat: @escaping @Sendable () async -> Bool) {
    task = Task {
      var isGiven = true
      while (try? await Task.sleep(for: isGiven ? interval : interval / 8, clock: .continuous)) != nil {
        isGiven = await beat()
      }
    }
  }

  deinit { task.cancel() }

  /// Begins no other; one that is under way goes on.
  package func stop() { task.cancel() }

  /// Begins no other, and waits for one that is under way.
  package func end() async {
    task.cancel()
    await task.value
  }
}
