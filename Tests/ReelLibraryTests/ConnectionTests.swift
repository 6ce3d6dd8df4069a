import Glibc
import Testing

@testable import ReelLibrary

@Suite struct ConnectionTests {
  @Test func onlyWhoMayMakesAFile() throws {
    let place = try TemporaryDatabase()
    for access in [Connection.Access.readOnly, .readWrite, .immutable] {
      expect(.cannotOpen) { try Connection(place.path, access) }
      #expect(!place.isThere())
    }
    try place.filled().close()
    #expect(try Connection(place.path, .readWrite).values("SELECT n FROM t") == [1, 2, 3])
  }

  @Test(arguments: [Connection.Access.readOnly, .immutable])
  func whoMayOnlyReadWritesNothing(access: Connection.Access) throws {
    let place = try TemporaryDatabase(name: "a %3f#?b.sqlite")
    try place.filled().close()
    let reader = try Connection(place.path, access)
    #expect(try reader.values("SELECT n FROM t") == [1, 2, 3])
    expect(.readOnly) { try reader.run("DELETE FROM t") }
    #expect(place.isThere("-shm") == (access == .readOnly))
  }

  @Test func theLastThatMayWriteLeavesNothingBeside() throws {
    let place = try TemporaryDatabase()
    let (first, second) = (try place.filled(), try Connection(place.path, .readWrite))
    try second.execute("PRAGMA query_only = ON")
    #expect(try second.number("SELECT count(*) FROM t") == 3)
    try first.close()
    #expect(place.isThere("-wal") && place.isThere("-shm"))
    expect(.readOnly) { try second.run("DELETE FROM t") }
    try second.close()
    #expect(!place.isThere("-wal") && !place.isThere("-shm"))
  }

  @Test func whatIsNoDatabaseIsTold() throws {
    let place = try TemporaryDatabase()
    let file = try #require(fopen(place.path, "w"))
    fputs("no database at all" + String(repeating: ".", count: 1000), file)
    fclose(file)
    let connection = try Connection(place.path)
    expect(.notADatabase) { try connection.number("SELECT count(*) FROM sqlite_schema") }
  }

  @Test func whatIsClosedIsOfNoUse() throws {
    let connection = try Connection.inMemory("CREATE TABLE t (n)")
    try connection.run("INSERT INTO t VALUES (1)")
    try connection.close()
    try connection.close()
    expect(.misuse) { try connection.run("INSERT INTO t VALUES (1)") }
    expect(.misuse) { try connection.execute("DELETE FROM t") }
    expect(.misuse) { try connection.checkpoint(.passive) }
    expect(.misuse) { try connection.backup(to: .inMemory()) }
    #expect(!connection.isInsideTransaction)
  }

  @Test func whoFindsItLockedIsAskedWhetherToTryAgain() throws {
    let place = try TemporaryDatabase()
    let (holder, other) = (try place.filled(), try Connection(place.path))
    try holder.execute("BEGIN IMMEDIATE")
    expect(.busy) { try other.run("DELETE FROM t") }
    var asked: [Int] = []
    try other.whenBusy { tries in
      asked.append(tries)
      return tries < 3
    }
    expect(.busy) { try other.run("DELETE FROM t") }
    #expect(asked == [0, 1, 2, 3])
    try other.whenBusy { _ in (try? holder.execute("COMMIT")) != nil }
    try other.run("DELETE FROM t")
  }

  // MARK: Files

  @Test func aCheckpointEmptiesTheLog() throws {
    let place = try TemporaryDatabase()
    let writer = try place.filled(checkpoints: .bySQLite(pages: nil))
    let reader = try Connection(place.path, .readOnly)
    var facts = stat()
    try reader.transaction(.deferred) {
      #expect(try reader.number("SELECT count(*) FROM t") == 3)
      try writer.run("INSERT INTO t VALUES (4)")
      try writer.checkpoint(.passive)
      expect(.busy) { try writer.checkpoint(.truncate) }
    }
    try writer.checkpoint(.truncate)
    #expect(stat(place.path + "-wal", &facts) == 0 && facts.st_size == 0)
  }

  @Test func aBackupIsWhatWasThere() throws {
    let (place, other) = (try TemporaryDatabase(), try TemporaryDatabase())
    let (source, target) = (try place.filled(), try other.filled())
    try target.run("INSERT INTO t VALUES (9)")
    try source.backup(to: target)
    #expect(try target.values("SELECT n FROM t ORDER BY n") == [1, 2, 3])
    try target.close()
    // The backup's target is locked.
    let (locked, copy) = (try Connection(other.path), try Connection(other.path))
    try locked.execute("BEGIN IMMEDIATE")
    expect(.busy) { try source.backup(to: copy) }
    try locked.execute("COMMIT")
    try source.backup(to: copy)
  }

  @Test func theLibraryTellsItsVersion() {
    #expect(SQLiteLibrary.ofThisProcess.version.split(separator: ".").count == 3)
  }
}
