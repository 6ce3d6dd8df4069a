import Foundation
import ReelCrypto
import ReelLibrary
import Testing

/// Checks the invariants of docs/publish.md in the store and the catalog themselves. It shares no code with Reel: it
/// reads the tables and the folder.
struct LibraryInspection {
  struct Published: Equatable {
    let key: String
    let digest: Data
    let author: String
    let size: Int64
    let page: Int
  }
  /// A poster as its row has it, and as the post's document has it.
  struct Shown: Equatable {
    let key: String
    let digest: Data
    let inDocument: String?
  }
  let published: [Published]
  let posters: [Shown]
  /// The number of posts whose documents have a poster.
  let postsWithPoster: Int
  let unfinished: Int
  /// The keys that any row names.
  let named: Set<String>
  let objects: Set<String>
  let leftovers: [String]
  let pages: [Int]
  let untold: Int
  private let store: URL

  init(library: URL, store: URL? = nil) throws {
    let store = store ?? library.appendingPathComponent("media")
    self.store = store
    let files = FileManager.default
    objects = Set(
      (files.fileExists(atPath: store.path) ? try files.contentsOfDirectory(atPath: store.path) : [])
        .filter { $0 != ".reel-tmp" })
    leftovers = (try? files.contentsOfDirectory(atPath: library.appendingPathComponent("tmp").path)) ?? []
    // Uses a copy, because opening the original would recover it, which is Reel's task.
    let copy = files.temporaryDirectory.appendingPathComponent("reel-inspection-\(UUID().uuidString)")
    defer { try? files.removeItem(at: copy) }
    var state: CatalogState
    repeat {
      state = CatalogState(of: library)
      try Self.copyCatalog(of: library, to: copy)
    } while CatalogState(of: library) != state
    let catalog = try Connection(copy.appendingPathComponent("catalog.sqlite").path)
    // A process that died while creating the catalog has promised nothing yet.
    guard try catalog.number("SELECT count(*) FROM sqlite_schema WHERE name = 'intent'") == 1 else {
      (published, posters, postsWithPoster, named, pages, unfinished, untold) = ([], [], 0, [], [], 0, 0)
      return
    }
    published = try catalog.rows(
      """
      SELECT objectKey, digest, author, size, pageNumber FROM intent JOIN post ON post.intent = intent.number
      WHERE state = 1
      """
    ) { row in
      Published(
        key: try row[0], digest: Data(try row[1] as [UInt8]),
        author: String(decoding: try row[2] as [UInt8], as: UTF8.self), size: try row[3], page: try row[4])
    }
    posters = try catalog.rows(
      """
      SELECT objectKey, digest, json_extract(document, '$.poster') FROM poster JOIN post ON post.intent = poster.intent
      WHERE state = 1
      """
    ) { row in Shown(key: try row[0], digest: Data(try row[1] as [UInt8]), inDocument: try row[2]) }
    postsWithPoster =
      try catalog.value("SELECT count(*) FROM post WHERE json_extract(document, '$.poster') IS NOT NULL")
      ?? -1
    named = Set(try catalog.values("SELECT objectKey FROM intent UNION SELECT objectKey FROM poster"))
    pages = try catalog.values("SELECT pageNumber FROM post ORDER BY pageNumber")
    unfinished = try catalog.value("SELECT count(*) FROM intent WHERE state = 0") ?? -1
    untold = try catalog.value("SELECT count(*) FROM outbox") ?? -1
  }

  /// What a checkpoint changes. A copy made meanwhile would have the database from before and the log from after it.
  private struct CatalogState: Equatable {
    private let size: Int?
    private let changed: Date?
    /// The log's header, with salts that differ whenever the log is begun anew (SQLite's file format, 4.1).
    private let logHeader: Data?

    init(of library: URL) {
      let database = library.appendingPathComponent("catalog.sqlite")
      let facts = try? FileManager.default.attributesOfItem(atPath: database.path)
      (size, changed) = (facts?[.size] as? Int, facts?[.modificationDate] as? Date)
      let log = FileHandle(forReadingAtPath: database.path + "-wal")
      logHeader = try? log?.read(upToCount: 32)
    }
  }

  private static func copyCatalog(of library: URL, to copy: URL) throws {
    let files = FileManager.default
    if files.fileExists(atPath: copy.path) { try files.removeItem(at: copy) }
    try files.createDirectory(at: copy, withIntermediateDirectories: true)
    // A journal exists while the catalog is being created, before it has a write-ahead log.
    for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-journal"] {
      let original = library.appendingPathComponent(name)
      do {
        try files.copyItem(at: original, to: copy.appendingPathComponent(name))
      } catch CocoaError.fileNoSuchFile, CocoaError.fileReadNoSuchFile {
        // The file does not exist, or no longer does.
        continue
      }
    }
  }

  /// Returns the violated sentences of "what always holds".
  func broken() throws -> [String] {
    var broken: [String] = []
    for post in published {
      let file = store.appendingPathComponent(post.key)
      guard let bytes = try? Data(contentsOf: file) else {
        broken.append("a post is published, but its object \(post.key) is not stored")
        continue
      }
      if Int64(bytes.count) != post.size || Data(SHA256.hash(data: bytes)) != post.digest {
        broken.append("the object \(post.key) does not have the size and digest that were published")
      }
    }
    for poster in posters {
      let bytes = try? Data(contentsOf: store.appendingPathComponent(poster.key))
      if bytes.map({ Data(SHA256.hash(data: $0)) }) != poster.digest {
        broken.append("the poster \(poster.key) is missing or contains the wrong bytes")
      }
      if poster.inDocument != poster.key {
        broken.append("\(poster.key) is not the poster that its post shows")
      }
    }
    if posters.count != postsWithPoster {
      broken.append("\(posters.count) posters, but \(postsWithPoster) posts that show one")
    }
    let publications = published.map { [$0.digest.base64EncodedString(), $0.author] }
    if Set(publications).count != publications.count { broken.append("two posts for one video") }
    for stray in objects.subtracting(named) { broken.append("no row names the object \(stray)") }
    if pages != Array(1..<(pages.count + 1)) { broken.append("the numbers of the posts have gaps: \(pages)") }
    if pages.count != published.count {
      broken.append("\(pages.count) posts, but \(published.count) published intents")
    }
    return broken
  }

  /// Returns the violated invariants, and everything left half done, after a run that was completed.
  func brokenAfterCompletion() throws -> [String] {
    var broken = try self.broken()
    if unfinished > 0 { broken.append("\(unfinished) intents are unfinished") }
    if untold > 0 { broken.append("\(untold) events were not sent") }
    if !leftovers.isEmpty { broken.append("files were left in tmp: \(leftovers)") }
    let keys = Set(published.map(\.key) + posters.map(\.key))
    for stray in objects.subtracting(keys) { broken.append("\(stray) is stored, but belongs to no post") }
    return broken
  }
}

/// Expects a list of violations to be empty, and shows it if it isn't.
func expectNothing(
  _ broken: [String], _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(broken == [], comment, sourceLocation: sourceLocation)
}
