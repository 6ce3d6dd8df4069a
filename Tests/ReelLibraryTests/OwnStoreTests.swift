import Foundation
import ReelCore
import Testing

@testable import ReelLibrary

/// The library's own store has no path in the tables. Everywhere else it goes by its present path.
@Suite struct OwnStoreTests {
  /// A library with the tables of version 2 and a post in each of `stores`. Digests and keys are numbered.
  private func older(_ stores: [String], post urls: [String]) async throws -> TemporaryLibrary {
    let temporary = try await TemporaryLibrary()
    let db = try Connection(temporary.library.catalogPath)
    for statements in CatalogSchema.migrations.prefix(2) { try db.execute(statements) }
    try db.execute("PRAGMA application_id = \(CatalogSchema.applicationID); PRAGMA user_version = 2")
    for (number, (store, url)) in zip(1..., zip(stores, urls)) {
      try db.run("INSERT INTO destination (id, name, posts, bytes) VALUES (?, ?, 1, 5)", [number, store])
      let id = [UInt8](repeating: UInt8(number), count: 16)
      try db.run(
        """
        INSERT INTO intent
          (number, postID, destination, objectKey, digest, author, ordinal, size, state, createdAt, changedAt)
        VALUES (?, ?, ?, ?, zeroblob(32), x'', 0, 5, 1, 0, 0)
        """, [number, id, number, "object-\(number).mp4"])
      try db.run(
        "INSERT INTO post (pageNumber, id, intent, createdAt, document) VALUES (?, ?, ?, 0, ?)",
        [number, id, number, "{\"videoURL\":\"\(url)\"}"])
      try db.run(
        "INSERT INTO checkpoint VALUES (?, ?, zeroblob(32), 'secret', 0)", [number, "object-\(number).mp4"])
    }
    try db.run("UPDATE feed SET lastPageNumber = ?", [stores.count])
    try db.close()
    chmod(temporary.library.catalogPath, 0o600)
    return temporary
  }

  private struct Tables {
    var names: [String] = []
    var posts: [Int] = []
    var urls: [String] = []
    var ordinals: [Int] = []
    var checkpoints = 0
  }

  private func tables(of temporary: TemporaryLibrary) async throws -> Tables {
    try await SQLiteCatalog.open(library: temporary.library).close()
    let db = try Connection(temporary.library.catalogPath)
    #expect(try DamageQuery.damage(in: db) == [])
    return Tables(
      names: try db.values("SELECT name FROM destination ORDER BY name"),
      posts: try db.values("SELECT posts FROM destination ORDER BY name"),
      urls: try db.values("SELECT json_extract(document, '$.videoURL') FROM post ORDER BY pageNumber"),
      ordinals: try db.values(
        "SELECT ordinal FROM intent JOIN destination ON destination.id = destination ORDER BY name, number"),
      checkpoints: try db.value(
        "SELECT count(*) FROM checkpoint JOIN destination ON destination.id = destination") ?? 0)
  }

  private func store(_ keys: String..., in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for key in keys { try Data("bytes".utf8).write(to: URL(fileURLWithPath: folder + "/" + key)) }
  }

  @Test func theStoreOfALibraryThatStayedWhereItWas() async throws {
    let media = "file:///put/in/below"
    let temporary = try await older(
      [media, "s3://bucket/media"], post: ["\(media)/object-1.mp4", "https://x/y"])
    let own = "file://" + temporary.library.mediaPath
    let db = try Connection(temporary.library.catalogPath)
    try db.run("UPDATE destination SET name = ? WHERE id = 1", [own])
    try db.run(
      "UPDATE post SET document = ? WHERE pageNumber = 1",
      ["{\"videoURL\":\"\(own)/object-1.mp4\",\"caption\":\"\(own)/object-1.mp4\"}"])
    try db.close()
    let tables = try await tables(of: temporary)
    #expect(tables.names == ["library:media", "s3://bucket/media"])
    #expect(tables.urls == ["library:media/object-1.mp4", "https://x/y"])
    #expect(tables.checkpoints == 2)
    let catalog = try #require(try await SQLiteCatalog.openReadOnly(library: temporary.library))
    #expect(try await catalog.destinations() == [Destination(own), Destination("s3://bucket/media")])
    #expect(try await catalog.objects(in: Destination(own), after: nil, limit: 9).count == 1)
    try await catalog.close()
  }

  @Test("a store at another place counts as the library's own only if its objects moved along")
  func whatCameAlong() async throws {
    let base = FileManager.default.temporaryDirectory.appendingPathComponent("reel-own-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: base) }
    let former = base.path + "/library/media"
    // The old store is gone, and no object moved along.
    let empty = try await older(["file://\(former)"], post: ["file://\(former)/object-1.mp4"])
    #expect(try await tables(of: empty).names == ["file://\(former)"])
    // The library was moved; a `--public-base-url` stays.
    let moved = try await older(["file://\(former)"], post: ["https://media.example.org/object-1.mp4"])
    try store("object-1.mp4", in: moved.library.mediaPath)
    let carried = try await tables(of: moved)
    #expect(carried.names == ["library:media"] && carried.urls == ["https://media.example.org/object-1.mp4"])
    // The store is elsewhere, and somebody has copied its objects.
    try store("object-1.mp4", in: former)
    let elsewhere = try await older(["file://\(former)"], post: ["file://\(former)/object-1.mp4"])
    try store("object-1.mp4", in: elsewhere.library.mediaPath)
    let left = try await tables(of: elsewhere)
    #expect(left.names == ["file://\(former)"] && left.urls == ["file://\(former)/object-1.mp4"])
    // The library is a copy, and the original still exists.
    try Data().write(to: base.appendingPathComponent("library/catalog.sqlite"))
    let copied = try await older(["file://\(former)"], post: ["file://\(former)/object-1.mp4"])
    try store("object-1.mp4", in: copied.library.mediaPath)
    let copy = try await tables(of: copied)
    #expect(copy.names == ["library:media"] && copy.urls == ["library:media/object-1.mp4"])
  }

  @Test("a moved library that published everything again has one store with all of it")
  func movedAndPublishedAgain() async throws {
    let former = "file:///nowhere/library/media"
    let temporary = try await older([former, "file:///put/in/below"], post: ["\(former)/object-1.mp4", "x"])
    let own = "file://" + temporary.library.mediaPath
    let db = try Connection(temporary.library.catalogPath)
    try db.run("UPDATE destination SET name = ? WHERE id = 2", [own])
    try db.close()
    try store("object-1.mp4", "object-2.mp4", in: temporary.library.mediaPath)
    let tables = try await tables(of: temporary)
    #expect(tables.names == ["library:media"] && tables.posts == [2] && tables.ordinals.sorted() == [0, 1])
    #expect(tables.checkpoints == 2)
  }

  @Test("a process that opened the catalog before its migration can't create a second own store")
  func olderProcess() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    await #expect(throws: CatalogError.self) {
      try await catalog.writable().writer.commit { db in
        try db.run("INSERT INTO destination (name) VALUES (?)", ["file:///x"])
      }
    }
    try await catalog.close()
  }

  @Test("a store becomes the library's own once the library is moved around it")
  func aroundAStore() async throws {
    let temporary = try await TemporaryLibrary()
    let sketch = Sketch()
    let elsewhere = "file://" + temporary.folder.path + "/other/media"
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let request = sketch.request(sketch.publication(to: elsewhere))
    let intent = try #require(try await catalog.claim(request).intent)
    let stored = StoredObject(
      key: intent.key, url: "\(elsewhere)/\(intent.key)", size: 1000, digest: intent.publication.digest)
    let post = try await catalog.complete(intent, draft: sketch.draft(), stored: stored)
    #expect(post.videoURL == stored.url)
    try await catalog.close()
    let other = temporary.folder.appendingPathComponent("other").path
    try FileManager.default.moveItem(atPath: temporary.library.path, toPath: other)
    for reading in [true, false] {
      let there = try #require(try await LibraryFolder.existing(at: other))
      let opened =
        reading
        ? try #require(try await SQLiteCatalog.openReadOnly(library: there))
        : try await SQLiteCatalog.open(library: there)
      #expect(try opened.published(request.publication)?.post == post)
      #expect(try await opened.status().destinations.map(\.destination.name) == [elsewhere])
      try await opened.close()
    }
  }

  // MARK: Relocating

  @Test("nothing is relocated while an upload is under way there, or if the number of posts has changed")
  func relocating() async throws {
    let stage = try await SQLiteStage()
    let (busy, mover) = (try await stage.openSQLite(), try await stage.openSQLite())
    let sketch = Sketch()
    let (old, new) = (Destination("file:///old"), Destination("file:///new"))
    let published = sketch.request(sketch.publication(to: old.name))
    let done = try #require(try await busy.claim(published).intent)
    let post = try await busy.complete(
      done, draft: sketch.draft(),
      stored: StoredObject(key: done.key, url: "file:///old/\(done.key)", size: 9, digest: nil))
    let held = try #require(try await busy.claim(sketch.request(sketch.publication(to: old.name))).intent)
    func relocate(_ posts: Int) async throws {
      try await mover.relocate(old, to: new, holding: posts, duplicates: .skip)
    }
    await expect(.locked) { try await relocate(1) }
    try await busy.release(held, because: .retryLater)
    await expect(.unusable) { try await relocate(0) }
    try await relocate(1)
    #expect(try await mover.post(post.id)?.videoURL == "file:///new/\(done.key)")
    #expect(try await mover.status().destinations.map(\.destination) == [new])
    let again = try await mover.claim(
      sketch.request(sketch.publication(held.publication.digest, to: new.name)))
    #expect(again.intent?.key == held.key, "what was begun goes on under its name")
    await expect(.unusable) { try await relocate(1) }
    try await busy.close()
    try await mover.close()
  }
}
