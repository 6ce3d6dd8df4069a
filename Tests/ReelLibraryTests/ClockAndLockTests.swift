import Foundation
import ReelCore
import Testing

@testable import ReelLibrary

/// Clocks that jump, and lock files that were never finished.
@Suite struct ClockAndLockTests {
  private let sketch = Sketch()

  @Test("a lock file that a dead process left unfinished is removed by the next owner")
  func unfinishedLock() async throws {
    let stage = try await SQLiteStage()
    let file =
      stage.temporary.library.temporaryPath + "/catalog-0123456789abcdef" + OwnerLock.suffix
      + OwnerLock.unfinishedSuffix
    try Data().write(to: URL(fileURLWithPath: file))
    let catalog = try await stage.openSQLite()
    #expect(!FileManager.default.fileExists(atPath: file))
    try await catalog.close()
  }

  @Test("a clock that jumps ahead costs live owners their leases, but nothing is published twice")
  func ahead() async throws {
    let stage = try await SQLiteStage()
    let (first, second) = (try await stage.openSQLite(), try await stage.openSQLite())
    let publication = sketch.publication()
    let old = try #require(try await first.claim(sketch.request(publication)).intent)
    stage.clock.advance(by: 86_400 * 365)
    let new = try #require(try await second.claim(sketch.request(publication)).intent)
    #expect(new.key == old.key && new.attempt == 2)
    _ = try await second.complete(new, draft: sketch.draft(), stored: sketch.stored(new))
    await expect(.leaseLost) {
      _ = try await first.complete(old, draft: sketch.draft(), stored: sketch.stored(old))
    }
    #expect(try await first.status().posts == 1)
  }

  @Test("a clock that jumps back takes nothing from live owners, and frees what dead ones held")
  func back() async throws {
    let stage = try await SQLiteStage()
    let (first, second) = (try await stage.openSQLite(), try await stage.openSQLite())
    let publication = sketch.publication()
    _ = try await first.claim(sketch.request(publication))
    stage.clock.advance(by: -86_400 * 365)
    #expect(try await second.claim(sketch.request(publication)).intent == nil)
    try await first.die()
    #expect(try await second.claim(sketch.request(publication)).intent != nil)
  }
}
