import Foundation
import ReelCore
import Testing

@testable import ReelLibrary

@Suite struct CatalogSchemaTests {
  private let here = CatalogPlace(path: "here", media: CanonicalPath(resolving: "/nowhere/library/media"))
  private let second = "CREATE TABLE second (id INTEGER PRIMARY KEY) STRICT; INSERT INTO second VALUES (7);"

  @Test func anOlderCatalogIsBroughtUpToDateWithWhatIsInIt() throws {
    let db = try Connection(":memory:")
    try CatalogSchema.migrate(db, at: here)
    try db.run("INSERT INTO destination (name, madeBy) VALUES ('file:///old', 3)")
    try CatalogSchema.migrate(db, at: here, through: CatalogSchema.migrations + [second])
    #expect(try db.value("PRAGMA user_version") == CatalogSchema.version + 1)
    #expect(try db.values("SELECT id FROM second") == [7])
    #expect(try db.values("SELECT name FROM destination") == ["file:///old"])
  }

  @Test func aCatalogWithoutItsTablesIsNoneYet() async throws {
    let temporary = try await TemporaryLibrary()
    let db = try Connection(temporary.library.catalogPath)
    try db.execute("PRAGMA application_id = \(CatalogSchema.applicationID)")
    try db.close()
    #expect(try await SQLiteCatalog.openReadOnly(library: temporary.library) == nil)
    try await SQLiteCatalog.open(library: temporary.library).close()
    #expect(try await SQLiteCatalog.openReadOnly(library: temporary.library) != nil)
  }

  @Test func aMigrationThatFailsChangesNothing() throws {
    let db = try Connection(":memory:")
    try CatalogSchema.migrate(db, at: here)
    #expect(throws: SQLiteError.self) {
      let broken = CatalogSchema.migrations + [second, "CREATE TABLE second (nonsense"]
      try CatalogSchema.migrate(db, at: here, through: broken)
    }
    #expect(try CatalogSchema.checkedVersion(of: db, at: "here") == CatalogSchema.version)
    #expect(try db.number("SELECT count(*) FROM sqlite_schema WHERE name = 'second'") == 0)
    #expect(!db.isInsideTransaction)
    try CatalogSchema.migrate(db, at: here)
  }

  /// A catalog made by any released Reel must stay readable forever.
  @Test func aReleasedVersionStaysAsItIs() {
    #expect(CatalogSchema.migrations.first == CatalogSchema.version1)
    #expect(
      Self.fingerprint(CatalogSchema.version1) == 7_598_671_208_338_711_369,
      "version 1 was released as it was: append a migration instead")
  }

  /// Returns the FNV-1a hash of `text`.
  private static func fingerprint(_ text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  /// Every statement that runs for each file must find its rows by an index, however many there are.
  @Test func noStatementReadsAWholeTable() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let sketch = Sketch()
    let statements = try await catalog.writable().writer.alone { db in
      let seen = StatementLog()
      try seen.follow(db)
      let steps = try catalog.writable().steps
      let request = sketch.request(sketch.publication(), poster: sketch.poster())
      guard case .granted(let intent) = try steps.claim(request, in: db) else { return Set<String>() }
      _ = try steps.claim(sketch.request(request.publication, .allow), in: db)
      _ = try steps.complete(intent, document: "{}", poster: intent.poster, bytes: 1, at: 0, in: db)
      try Outbox.delete(intent.id, owner: steps.me, in: db)
      try IntentTable.giveUp(0, at: 0, in: db)
      _ = try IntentTable.isGivenUp(intent.id, in: db)
      _ = try steps.claim(request, in: db)
      try steps.release(intent, because: .retryLater, in: db)
      try steps.release(intent, because: .keyUnusable, in: db)
      _ = try PostTable.find(intent.id, in: db)
      _ = try PostTable.before(900_000, limit: 20, in: db)
      _ = try PostTable.before(900_000, matching: PostFilter(authorID: "ada"), limit: 20, in: db)
      _ = try PostTable.all(of: sketch.digest(), in: db)
      _ = try PostTable.at(900_000..<900_020, in: db)
      let identity = FileIdentity(device: 1, inode: 2, size: 3, modifiedAt: 4, changedAt: 5)
      try KnownFileTable.put(sketch.digest(), of: identity, in: db)
      _ = try KnownFileTable.find(identity, in: db)
      let reader = ReaderVersion(reel: "1", ffmpeg: "2")
      try ProbeResultTable.put("{}", of: sketch.digest(), by: reader, in: db)
      _ = try ProbeResultTable.find(sketch.digest(), by: reader, in: db)
      let key = request.newKey
      let here = StoreName(text: request.publication.destination.name)
      _ = try PosterTable.giveUp(key, in: here, db: db)
      _ = try PosterTable.postsWithout(in: here, at: catalog.place, after: 900_000, limit: 32, db: db)
      if let checkpoint = UploadCheckpoint("x", of: sketch.digest()) {
        try CheckpointTable.put(checkpoint, of: key, in: here, at: 0, db: db)
        _ = try CheckpointTable.find(key, in: here, db: db)
        _ = try CheckpointTable.keys(in: here, after: key, limit: 9, db: db)
        try CheckpointTable.remove(checkpoint, of: key, in: here, db: db)
      }
      try FailureTable.put(nil, at: SourcePath("/f"), in: db)
      _ = try FailureTable.newest(1000, in: db)
      try steps.owners.renew(steps.me, lock: "catalog-x", in: db)
      try steps.owners.retire(steps.me, in: db)
      try seen.unfollow(db)
      return seen.statements
    }
    #expect(statements.count >= 20)
    for statement in statements {
      let plan = try await catalog.writable().writer.alone { db in
        try ConnectionWatch.plan(of: statement, in: db)
      }
      let scans = plan.filter {
        $0.hasPrefix("SCAN") && !$0.contains("USING INDEX failureByTime")
          || statement.contains("CROSS JOIN") && $0.hasPrefix("USE TEMP B-TREE")
      }
      #expect(scans == [], "\(statement)")
    }
  }
}
