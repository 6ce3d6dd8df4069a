import ReelCore
import Testing

@testable import ReelLibrary

/// Waits until `condition` is true. The time limit only catches hangs.
func comesTrue(_ condition: () async throws -> Bool) async throws -> Bool {
  let deadline = ContinuousClock.now + .seconds(600)
  while try await !condition() {
    if ContinuousClock.now >= deadline { return false }
    try await Task.sleep(for: .milliseconds(5))
  }
  return true
}

/// Waits until the lock of the owner `name`, which has released it, is free. A child process of another test inherits
/// every descriptor, and with it the lock, between its fork and its exec.
func waitForDeath(of name: String, _ locks: any OwnerLocks) async throws {
  try #require(try await comesTrue { !locks.isHeld(name) }, "somebody still holds the lock \(name)")
}

extension SQLiteCatalog {
  /// Ends this catalog as if its process had been killed. Returns once its lock is free and no pending heartbeat can
  /// renew its lease.
  func die() async throws {
    let writing = try writable()
    let name = try #require(writing.lockName, "it has died before")
    abandon()
    await writing.heartbeatEnds()
    try await waitForDeath(of: name, registry.locks)
  }
}
