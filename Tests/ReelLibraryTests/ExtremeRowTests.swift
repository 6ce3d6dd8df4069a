import Foundation
import ReelCatalogCopy
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelLibrary

/// A catalog is a file: whatever its rows contain, nothing may trap.
@Suite(.shortTime) struct ExtremeRowTests {
  /// All of them in the long form, else the limits and another.
  private static func values(_ draws: inout SplitMix64) -> [Int64] {
    TestForm.isLong
      ? Extremes.integers : [.min, -1, .max] + Extremes.integers.shuffled(using: &draws).prefix(1)
  }

  @Test("extreme values in each integer column do not trap")
  func rows() async throws {
    var draws = SplitMix64(seed: TestSeed.drawn())
    let temporary = try await TemporaryLibrary()
    let library = temporary.library
    let stores = ["file:///media", "file:///elsewhere"].map { Destination($0) }
    var made = RandomCatalog(seed: 7)
    let filling = try await SQLiteCatalog.open(library: library)
    try await made.fill(filling, steps: 60, stores: stores)
    try await filling.die()
    let copy = temporary.folder.appendingPathComponent("whole").path
    try Connection(library.catalogPath).backup(to: Connection(copy))
    let whole = try Data(contentsOf: URL(fileURLWithPath: copy))

    for (table, column) in try columns(of: copy) {
      for value in Self.values(&draws) {
        for end in ["", "-wal", "-shm"] {
          try? FileManager.default.removeItem(atPath: library.catalogPath + end)
        }
        try whole.write(to: URL(fileURLWithPath: library.catalogPath))
        let damaging = try Connection(library.catalogPath)
        // Where a value must be unique, one row has it.
        try damaging.execute(
          "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; UPDATE OR IGNORE \(table) SET \(column) = \(value);"
        )
        #expect(try damaging.number("SELECT changes()") ?? 0 > 0, "there is no row in \(table)")
        try damaging.close()
        await use(library, stores, made.published.map(\.digest))
      }
    }
  }

  /// The integer columns of all tables.
  private func columns(of path: String) throws -> [(table: String, column: String)] {
    try Connection(path).rows(
      """
      SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
      WHERE t.type = 'table' AND c.type = 'INTEGER' AND t.name NOT LIKE 'sqlite%'
      """
    ) { (try $0[0], try $0[1]) }
  }

  /// Calls everything that reads rows, and ignores the results.
  private func use(_ library: LibraryFolder, _ stores: [Destination], _ digests: [ContentDigest]) async {
    _ = try? LibraryCopySource(library, host: "this machine").everything()
    guard let catalog = try? await SQLiteCatalog.open(library: library) else { return }
    _ = try? await catalog.status()
    _ = try? await catalog.cacheStatus()
    _ = try? await catalog.feedRevision()
    for filter in [PostFilter(), PostFilter(since: .distantPast, text: "beach"), PostFilter(authorID: "ada")]
    {
      for limit in [1, .max] {
        guard let page = try? await catalog.newestPosts(matching: filter, before: nil, limit: limit) else {
          continue
        }
        _ = try? await catalog.newestPosts(matching: filter, before: page.next, limit: limit)
      }
    }
    for number in [1, Int.max, Int.max - 1] { _ = try? await catalog.posts(from: number, count: .max) }
    for digest in digests {
      _ = try? await catalog.posts(of: digest)
      _ = try? catalog.removedPosts(of: digest)
    }
    _ = try? catalog.expiredPosts(at: .distantFuture, after: 0, limit: .max)
    _ = try? catalog.unfinishedChanges(after: 0, limit: .max)
    _ = try? catalog.abandonedChanges()
    for store in stores {
      _ = try? await catalog.objects(in: store, after: nil, limit: .max)
      for key in (try? await catalog.keys(in: store, after: nil, limit: .max)) ?? [] {
        _ = try? await catalog.checkpoint(of: key, in: store)
      }
    }
    _ = try? await catalog.damage()
    try? await catalog.releaseWhatTheDeadHold()
    _ = try? await catalog.owners()
    let sketch = Sketch(seed: 1)
    let known = digests.first.map { sketch.publication($0, to: stores[0].name) }
    for publication in [sketch.publication(sketch.digest(), to: stores[0].name), known].compactMap(\.self) {
      guard let intent = try? await catalog.claim(sketch.request(publication)).intent else { continue }
      _ = try? await catalog.complete(
        intent, draft: sketch.draft(),
        stored: StoredObject(
          key: intent.key, url: "file:///media/\(intent.key)", size: .max, digest: intent.publication.digest))
    }
    try? await catalog.close()
  }
}
