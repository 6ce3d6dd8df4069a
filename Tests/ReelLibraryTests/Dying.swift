import ReelCore
import ReelTestSupport
import Testing

@testable import ReelLibrary

/// Waits until the lock of the owner `name`, which has released it, is free. A child process of another test inherits
/// every descriptor, and with it the lock, between its fork and its exec.
func waitForDeath(of name: String, _ locks: any OwnerLocks) async throws {
  try #require(try await eventually { !locks.isHeld(name) }, "somebody still holds the lock \(name)")
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
