import ReelCore
import Testing

@testable import ReelLibrary

/// Waits until `condition` comes true; the limit only catches what hangs.
func comesTrue(_ condition: () async throws -> Bool) async throws -> Bool {
  let deadline = ContinuousClock.now + .seconds(600)
  while try await !condition() {
    if ContinuousClock.now >= deadline { return false }
    try await Task.sleep(for: .milliseconds(5))
  }
  return true
}

/// Waits until the lock of the owner `name`, who has let go of it, is free. A child of another test holds every
/// descriptor between its fork and its exec, and with it the lock.
func waitForDeath(of name: String, _ locks: any OwnerLocks) async throws {
  try #require(try await comesTrue { !locks.isHeld(name) }, "somebody still holds the lock \(name)")
}

extension SQLiteCatalog {
  /// Ends as a process does that is killed, and comes back once it is as dead as one: its lock is free, and no
  /// heartbeat that was on its way renews its lease.
  func die() async throws {
    let writing = try writable()
    let name = try #require(writing.lockName, "it has died before")
    abandon()
    await writing.heartbeatEnds()
    try await waitForDeath(of: name, registry.locks)
  }
}
