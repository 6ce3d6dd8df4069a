import ReelCore
import ReelTestSupport
import Testing

@testable import ReelLibrary

@Suite struct ReadingTests {
  @Test("a value of the wrong type is reported as damage, not a crash", arguments: ["NULL", "'text'", "7"])
  func damagedRow(value: String) async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    try await catalog.writable().writer.alone { db in
      try db.execute(
        """
        DROP TABLE knownFile;
        CREATE TABLE knownFile (device, inode, size, modifiedAt, changedAt, digest);
        INSERT INTO knownFile VALUES (1, 2, 3, 4, 5, \(value));
        """)
    }
    await expect(.corrupt) {
      _ = try catalog.knownFile(
        FileIdentity(device: 1, inode: 2, size: 3, modifiedAt: 4, changedAt: 5))
    }
    try await catalog.close()
  }

  @Test("cancelling the task interrupts SQLite", .shortTime)
  func cancelled() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let connection = catalog.connection
    let reading = Task {
      try await connection.look { db in
        try db.number(
          "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c")
      }
    }
    try await Task.sleep(for: .milliseconds(20))
    reading.cancel()
    await expect(.cancelled) { _ = try await reading.value }
    #expect(try await catalog.status().posts == 0)
    try await catalog.close()
  }
}
