/// Whether `condition` becomes true: waits for as long as the slowest machine needs, and no longer than a test may take.
package func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
  let end = ContinuousClock.now + .seconds(600)
  while try await !condition() {
    guard ContinuousClock.now < end else { return false }
    try await rest(milliseconds: 10)
  }
  return true
}
