import Foundation
import Glibc
import ReelCore
import Synchronization
import Testing

@testable import ReelLibrary

@Suite struct CatalogOpeningTests {
  /// Opens a plain connection to the file, as any other program would.
  private func plain(_ library: LibraryFolder) throws -> Connection {
    try Connection(library.catalogPath)
  }

  private func refuses(
    _ temporary: TemporaryLibrary, _ code: CatalogError.Code, saying words: String...
  ) async {
    let library = temporary.library
    let before = try? Data(contentsOf: URL(fileURLWithPath: library.catalogPath))
    for open in [
      { _ = try await SQLiteCatalog.open(library: library) },
      { _ = try await SQLiteCatalog.openReadOnly(library: library) },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: CatalogError.self) { try await open() }
      #expect(error?.code == code)
      for word in words + [library.catalogPath] {
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "") lacks \(word)")
      }
    }
    let after = try? Data(contentsOf: URL(fileURLWithPath: library.catalogPath))
    #expect(after == before)
  }

  @Test("opening the catalog a second time in one process releases no lock of the first")
  func locksStay() async throws {
    let temporary = try await TemporaryLibrary()
    try await SQLiteCatalog.open(library: temporary.library).close()
    let path = temporary.library.catalogPath
    let file = open(path, O_RDWR | O_CLOEXEC)
    try #require(file >= 0)
    defer { close(file) }
    // The lock is beyond the bytes that SQLite locks. Only its survival matters.
    var lock = flock()
    (lock.l_type, lock.l_whence, lock.l_start, lock.l_len) = (Int16(F_WRLCK), Int16(SEEK_SET), 1 << 40, 1)
    try #require(fcntl(file, F_SETLK, &lock) == 0)
    // Reads the locks of this one descriptor, because the table of all locks changes while it is read.
    func isLocked() -> Bool {
      SmallFile.text(of: "/proc/self/fdinfo/\(file)").contains("POSIX  ADVISORY  WRITE")
    }
    try #require(isLocked())
    try CatalogFile.make(path)
    #expect(isLocked())
  }

  @Test func linksToNothingAreRefused() async throws {
    let temporary = try await TemporaryLibrary()
    let path = temporary.library.catalogPath
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere.sqlite")
    #expect(throws: CatalogError.self) { try CatalogFile.make(path) }
  }

  @Test(arguments: [
    (0x6969, "NFS"), (0xFF53_4D42, "CIFS"), (0xEF53, nil), (0x0102_1994, nil), (0x794C_7630, nil),
    (0x0102_1997, "9p"), (0x6573_5546, "FUSE"), (0x00C3_6400, "CephFS"), (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"), (0x7461_636F, "OCFS2"), (0x0116_1970, "GFS2"), (0x786F_4256, "vboxsf"),
    (0x6B41_4653, "AFS"), (0x5846_5342, nil), (0x9123_683E, nil), (0x2FC1_2FC1, nil), (0x7366_746E, nil),
  ])
  func sharedFileSystems(_ type: UInt32, _ name: String?) {
    #expect(SharedFileSystem.name(of: type) == name)
    #expect(name == nil || !LocalFileSystem.includes(type))
  }

  @Test("a FUSE file system on a local disk is not shared; any other may be")
  func fuseOnADisk() {
    #expect(SharedFileSystem.name(of: 0x6573_5546, isOnDisk: true) == nil)
    #expect(SharedFileSystem.name(of: 0x6969, isOnDisk: true) == "NFS")
    #expect(!LocalFileSystem.includes(0x6573_5546))
  }

  @Test func aNewCatalogIsWhatItShouldBe() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let mode = try FileManager.default.attributesOfItem(atPath: temporary.library.catalogPath)[
      .posixPermissions]
    #expect(mode as? Int == 0o600)
    let group = try catalog.writable().writer
    let pragmas = try await group.alone { db in
      #expect(try db.value("PRAGMA journal_mode") == "wal")
      return try ["synchronous", "auto_vacuum", "foreign_keys", "application_id", "user_version"]
        .map { try db.number("PRAGMA \($0)") }
    }
    #expect(pragmas == [2, 2, 1, 1_382_376_812, 9])
    let loose = try await group.alone { db in
      try db.values(
        """
        SELECT name FROM pragma_table_list
        WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'
        """, as: String.self)
    }
    #expect(loose == [])
    #expect(try await catalog.newestPosts(before: nil, limit: 1).posts.isEmpty)
    try await catalog.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.library.temporaryPath).isEmpty)
    let left = try FileManager.default.contentsOfDirectory(atPath: temporary.library.path)
    #expect(left.sorted() == ["catalog.made", "catalog.sqlite", "tmp"])
  }

  @Test func manyMayMakeItAtOnce() async throws {
    let temporary = try await TemporaryLibrary()
    let sketch = Sketch()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          // Within one process no lock holder is detected. With eight on a slow disk, the usual ten seconds may not
          // suffice.
          let catalog = try await SQLiteCatalog.open(
            library: temporary.library, heartbeat: .seconds(86_400), busyTimeout: .seconds(600))
          _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch)
          try await catalog.close()
        }
      }
      try await group.waitForAll()
    }
    let catalog = try #require(try await SQLiteCatalog.openReadOnly(library: temporary.library))
    #expect(try await catalog.posts(from: 1, count: 100).count == 8)
    try await catalog.close()
  }

  @Test func aNewerCatalogIsRefusedWithBothVersions() async throws {
    let temporary = try await TemporaryLibrary()
    try await SQLiteCatalog.open(library: temporary.library).close()
    let other = try plain(temporary.library)
    try other.execute("PRAGMA user_version = 99")
    try other.close()
    await refuses(temporary, .newerSchema, saying: "schema 99", "schema \(CatalogSchema.version)")
  }

  /// Turns a catalog of the newest version into one of the version before ``CatalogSchema/firstWithoutReset``.
  private static let madeOlder = """
    DROP TRIGGER postGone; DROP TRIGGER postBack;
    DROP TABLE removal; DROP TABLE change; DROP TABLE rewording; DROP TABLE departure;
    PRAGMA user_version = \(CatalogSchema.firstWithoutReset - 1)
    """

  /// The older Reel would make checkpoints in its own way (``CheckpointRule``).
  @Test("an older Reel's catalog is migrated only when nobody else has it open")
  func olderReelIsStillThere() async throws {
    let temporary = try await TemporaryLibrary()
    try await SQLiteCatalog.open(library: temporary.library).close()
    let older = try plain(temporary.library)
    // The tables of that version.
    try older.execute(Self.madeOlder)
    for open in [
      { _ = try await SQLiteCatalog.open(library: temporary.library, busyTimeout: .milliseconds(100)) },
      {
        _ = try await SQLiteCatalog.openReadOnly(library: temporary.library, busyTimeout: .milliseconds(100))
      },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: CatalogError.self) { try await open() }
      #expect(error?.code == .locked && error?.message.contains("older reel") == true)
      #expect(try older.number("PRAGMA user_version") == 6)
      #expect(try older.value("PRAGMA journal_mode") == "wal")
    }
    try older.execute("INSERT INTO destination (name, madeBy) VALUES ('file:///old', 6)")
    try older.close()
    let reading = try #require(try await SQLiteCatalog.openReadOnly(library: temporary.library))
    #expect(try await reading.destinations() == [Destination("file:///old")])
    #expect(try await reading.status().schemaVersion == CatalogSchema.version)
    try await reading.close()
    let newer = try plain(temporary.library)
    #expect(try newer.value("PRAGMA journal_mode") == "wal")
    try newer.close()
  }

  @Test("an older Reel that is about to close the catalog is waited for")
  func olderReelEnds() async throws {
    let temporary = try await TemporaryLibrary()
    try await SQLiteCatalog.open(library: temporary.library).close()
    let older = Mutex(try plain(temporary.library))
    try older.withLock { try $0.execute(Self.madeOlder) }
    async let opened = SQLiteCatalog.open(library: temporary.library, busyTimeout: .seconds(600))
    try await Task.sleep(for: .milliseconds(100))
    try older.withLock { try $0.close() }
    try await opened.close()
  }

  @Test func anotherProgramsDatabaseIsLeftAlone() async throws {
    let temporary = try await TemporaryLibrary()
    let other = try plain(temporary.library)
    try other.execute("CREATE TABLE theirs (a)")
    try other.close()
    await refuses(temporary, .corrupt, saying: "not one of Reel's")
  }

  @Test(arguments: ["this is not a database at all, it is a text of some length", "SQLite format 3\0 or so"])
  func whatIsNoDatabaseIsRefused(content: String) async throws {
    let temporary = try await TemporaryLibrary()
    let padded = Data((content + String(repeating: ".", count: 5000)).utf8)
    try padded.write(to: URL(fileURLWithPath: temporary.library.catalogPath))
    await refuses(temporary, .corrupt, saying: "damaged")
  }

  @Test func aDamagedCatalogSaysSo() async throws {
    let temporary = try await TemporaryLibrary()
    let sketch = Sketch()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    for _ in 0..<50 { _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch) }
    try await catalog.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: temporary.library.catalogPath))
    let size = try file.seekToEnd()
    for page in stride(from: UInt64(4096), to: size, by: 4096) {
      try file.seek(toOffset: page)
      try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
    }
    try file.close()
    await expect(.corrupt) {
      let damaged = try await SQLiteCatalog.open(library: temporary.library)
      _ = try await damaged.posts(from: 1, count: 100)
    }
  }

  @Test func aFolderInItsPlaceIsNamed() async throws {
    let temporary = try await TemporaryLibrary()
    try FileManager.default.createDirectory(
      atPath: temporary.library.catalogPath, withIntermediateDirectories: false)
    await refuses(temporary, .unusable, saying: "not a file")
  }

  @Test(arguments: [0o620, 0o602, 0o666])
  func aFileThatOthersMayWriteIsRefused(mode: Int) async throws {
    let temporary = try await TemporaryLibrary()
    try await SQLiteCatalog.open(library: temporary.library).close()
    chmod(temporary.library.catalogPath, mode_t(mode))
    await refuses(temporary, .notOurs, saying: "others")
    chmod(temporary.library.catalogPath, 0o644)
    try await SQLiteCatalog.open(library: temporary.library).close()
  }

  @Test func aFileOfAnotherUserIsRefused() throws {
    var facts = stat()
    facts.st_mode = S_IFREG | 0o600
    facts.st_uid = 1234
    try CatalogFile.check(facts, of: "/c", user: 1234)
    let error = #expect(throws: CatalogError.self) { try CatalogFile.check(facts, of: "/c", user: 77) }
    #expect(error?.code == .notOurs)
  }

  @Test func theLibrarySaysItsVersion() {
    #expect(SQLiteCatalog.sqliteVersion().split(separator: ".").count == 3)
  }

  @Test func anEmptyFileIsNoCatalogYet() async throws {
    let temporary = try await TemporaryLibrary()
    try Data().write(to: URL(fileURLWithPath: temporary.library.catalogPath))
    #expect(try await SQLiteCatalog.openReadOnly(library: temporary.library) == nil)
    try await SQLiteCatalog.open(library: temporary.library).close()
    let catalog = try #require(try await SQLiteCatalog.openReadOnly(library: temporary.library))
    try await catalog.close()
  }

  @Test("a lost catalog is not taken for a new library, however little is left of it")
  func lost() async throws {
    let temporary = try await TemporaryLibrary()
    let library = temporary.library
    try await SQLiteCatalog.open(library: library).close()
    let trace = URL(fileURLWithPath: library.path + "/" + CatalogTrace.fileName)
    for isEmpty in [true, false] {
      try FileManager.default.removeItem(atPath: library.catalogPath)
      if isEmpty { try Data().write(to: URL(fileURLWithPath: library.catalogPath)) }
      await refuses(temporary, .lost, saying: "reel doctor --rebuild", "backup")
      await expect(.lost) { _ = try await SQLiteCatalog.openReadOnly(library: library) }
      if !isEmpty { try Data().write(to: URL(fileURLWithPath: library.catalogPath)) }
    }
    // Without the trace file, the objects reveal the loss.
    try FileManager.default.removeItem(at: trace)
    try FileManager.default.createDirectory(atPath: library.mediaPath, withIntermediateDirectories: false)
    let object = URL(fileURLWithPath: library.mediaPath + "/0123456789abcdefghijkl.mp4")
    try Data().write(to: object)
    await refuses(temporary, .lost, saying: "reel doctor --rebuild")
    try FileManager.default.moveItem(
      at: object, to: object.deletingLastPathComponent().appending(path: "holiday.mp4"))
    #expect(try await SQLiteCatalog.openReadOnly(library: library) == nil)
    try await SQLiteCatalog.open(library: library).close()
    #expect(FileManager.default.fileExists(atPath: trace.path))
  }

  @Test func whoReadsWritesNothing() async throws {
    let temporary = try await TemporaryLibrary()
    let sketch = Sketch()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let request = sketch.request(sketch.publication())
    let post = try await catalog.publish(request, with: sketch)
    let reader = try #require(try await SQLiteCatalog.openReadOnly(library: temporary.library))
    #expect(try reader.published(request.publication)?.post == post)
    #expect(try await reader.status().posts == 1)
    await expect(.unusable) { _ = try await reader.claim(request) }
    await expect(.unusable) { _ = try await reader.clearCache() }
    await reader.remember(nil, at: SourcePath("/f"))
    try await reader.close()
    catalog.abandon()
    let later = try #require(try await SQLiteCatalog.openReadOnly(library: temporary.library))
    #expect(try later.published(request.publication)?.announced == true)
    try await later.close()
    await expect(.unusable) { _ = try await later.status() }
  }

  @Test func aLockedCatalogSaysSo() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library, busyTimeout: .milliseconds(50))
    let other = try plain(temporary.library)
    let sketch = Sketch()
    let request = sketch.request(sketch.publication())
    try other.execute("BEGIN IMMEDIATE")
    await expect(.locked) { _ = try await catalog.claim(request) }
    try other.execute("COMMIT")
    #expect(try await catalog.claim(request).intent != nil)
  }

  @Test func theOpeningOfAnotherIsWaitedFor() async throws {
    let temporary = try await TemporaryLibrary()
    let other = try FolderLock(temporary.library.path, waitingUpTo: 0)
    await expect(.locked) {
      _ = try await SQLiteCatalog.open(library: temporary.library, busyTimeout: .milliseconds(30))
    }
    other.end()
    try await SQLiteCatalog.open(library: temporary.library, busyTimeout: .zero).close()
  }
}
