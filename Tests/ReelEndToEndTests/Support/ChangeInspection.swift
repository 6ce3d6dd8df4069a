import Foundation
import ReelCrypto
import ReelLibrary
import Testing

/// Checks the invariants of posts that are removed, restored, edited and moved (docs/remove.md), from the folders and
/// the tables themselves. It shares no code with Reel.
struct ChangeInspection {
  struct Post: Equatable {
    let id: String
    let page: Int
    let store: String
    let key: String
    let digest: Data
    let author: String
    let size: Int64
    let caption: String?
    /// The poster in the post's document.
    let poster: String?
  }
  struct Removed: Equatable {
    let id: String
    let page: Int
    let store: String
    let key: String
    let digest: Data
    let isStored: Bool
  }
  private struct Poster {
    let post: String
    let key: String
    let digest: Data
  }

  /// The posts in the feed, by id.
  let posts: [String: Post]
  let removed: [String: Removed]
  /// The number of changes that have not been deleted from the catalog.
  let open: Int
  let unfinished: Int
  let untold: Int
  private let posters: [Poster]
  /// The keys that rows name, by store.
  private let named: [String: Set<String>]
  private let damage: [String]
  private let folders: [String: URL]
  private let objects: [String: Set<String>]

  /// - Parameter others: The folders that posts are moved to, beside the library's own store.
  init(library: URL, others: [URL] = []) throws {
    let files = FileManager.default
    // Uses a copy, because opening the original would recover it, which is Reel's task.
    let copy = files.temporaryDirectory.appendingPathComponent("reel-inspection-\(UUID().uuidString)")
    defer { try? files.removeItem(at: copy) }
    try files.createDirectory(at: copy, withIntermediateDirectories: true)
    for name in ["catalog.sqlite", "catalog.sqlite-wal"] {
      let original = library.appendingPathComponent(name)
      do {
        try files.copyItem(at: original, to: copy.appendingPathComponent(name))
      } catch CocoaError.fileNoSuchFile, CocoaError.fileReadNoSuchFile {
        // The file does not exist, or no longer does.
        continue
      }
    }
    let catalog = try Connection(copy.appendingPathComponent("catalog.sqlite").path)
    damage = try catalog.values("PRAGMA integrity_check").filter { $0 != "ok" }
    let found = try catalog.rows(
      """
      SELECT hex(post.id), pageNumber, name, objectKey, digest, author, size, json_extract(document, '$.caption'),
        json_extract(document, '$.poster')
      FROM post JOIN intent ON intent.number = post.intent JOIN destination ON destination.id = intent.destination
      """
    ) { row in
      Post(
        id: Self.id(try row[0]), page: try row[1], store: try row[2], key: try row[3],
        digest: Data(try row[4] as [UInt8]), author: String(decoding: try row[5] as [UInt8], as: UTF8.self),
        size: try row[6], caption: try row[7], poster: try row[8])
    }
    posts = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
    let gone = try catalog.rows(
      """
      SELECT hex(postID), pageNumber, name, objectKey, digest, isStored
      FROM removal JOIN intent ON intent.number = removal.intent JOIN destination ON destination.id = intent.destination
      """
    ) { row in
      Removed(
        id: Self.id(try row[0]), page: try row[1], store: try row[2], key: try row[3],
        digest: Data(try row[4] as [UInt8]), isStored: try row[5])
    }
    removed = Dictionary(gone.map { ($0.id, $0) }) { first, _ in first }
    posters = try catalog.rows(
      """
      SELECT hex(postID), poster.objectKey, poster.digest FROM poster JOIN intent ON intent.number = poster.intent
      WHERE poster.state = 1
      """
    ) { row in Poster(post: Self.id(try row[0]), key: try row[1], digest: Data(try row[2] as [UInt8])) }
    // A move's objects may be in both stores.
    let names = try catalog.rows(
      """
      SELECT name, objectKey FROM intent JOIN destination ON destination.id = intent.destination
      UNION SELECT name, objectKey FROM poster JOIN destination ON destination.id = poster.destination
      UNION SELECT name, objectKey FROM change JOIN destination ON destination.id = change.destination
        JOIN intent ON intent.number = change.intent
      UNION SELECT name, objectKey FROM change JOIN destination ON destination.id = change.destination
        JOIN poster ON poster.intent = change.intent
      """
    ) { row in (try row[0] as String, try row[1] as String) }
    named = Dictionary(names.map { ($0.0, [$0.1]) }) { $0.union($1) }
    open = try catalog.value("SELECT count(*) FROM change") ?? -1
    unfinished = try catalog.value("SELECT count(*) FROM intent WHERE state = 0") ?? -1
    untold = try catalog.value("SELECT count(*) FROM outbox") ?? -1
    var folders = ["library:media": library.appendingPathComponent("media")]
    for other in others { folders["file://" + other.path] = other }
    self.folders = folders
    objects = folders.mapValues { folder in
      Set((try? files.contentsOfDirectory(atPath: folder.path)) ?? []).subtracting([".reel-tmp"])
    }
  }

  /// Returns the violated invariants.
  func broken() -> [String] {
    var broken = damage
    for post in posts.values {
      if removed[post.id] != nil { broken.append("\(post.id) is removed, but still in the feed") }
      if !holds(post.key, post.digest, in: post.store) {
        broken.append("\(post.id) is in the feed, but its object \(post.key) is not in \(post.store)")
      }
      let poster = posters.first { $0.post == post.id }
      if post.poster != poster?.key { broken.append("\(post.id) does not show its poster") }
      if let poster, !holds(poster.key, poster.digest, in: post.store) {
        broken.append("\(post.id) shows a poster that is not in \(post.store)")
      }
    }
    let publications = posts.values.map { [$0.store, $0.digest.base64EncodedString(), $0.author] }
    if Set(publications).count != publications.count { broken.append("two posts for one video") }
    let pages = posts.values.map(\.page) + removed.values.map(\.page)
    if Set(pages).count != pages.count { broken.append("two posts have the same number") }
    for (store, keys) in objects {
      for stray in keys.subtracting(named[store] ?? []) {
        broken.append("no row names the object \(stray) in \(store)")
      }
    }
    return broken.sorted()
  }

  /// Returns the violated invariants, and everything that is left half done.
  func brokenAtRest() -> [String] {
    var broken = self.broken()
    if open > 0 { broken.append("\(open) changes are unfinished") }
    if unfinished > 0 { broken.append("\(unfinished) intents are unfinished") }
    if untold > 0 { broken.append("\(untold) events were not sent") }
    for (store, keys) in objects {
      let kept = removed.values.filter { $0.isStored && $0.store == store }
      let ids = Set(kept.map(\.id) + posts.values.filter { $0.store == store }.map(\.id))
      let needed =
        posts.values.filter { $0.store == store }.map(\.key) + kept.map(\.key)
        + posters.filter { ids.contains($0.post) }.map(\.key)
      for stray in keys.subtracting(needed) {
        broken.append("\(stray) is in \(store), but belongs to no post and is not kept")
      }
    }
    return broken
  }

  /// Formats an id as Reel does.
  private static func id(_ hex: String) -> String {
    var digits = Array(hex.lowercased())
    for place in [20, 16, 12, 8] where digits.count > place { digits.insert("-", at: place) }
    return String(digits)
  }

  private func holds(_ key: String, _ digest: Data, in store: String) -> Bool {
    guard let folder = folders[store], let bytes = try? Data(contentsOf: folder.appendingPathComponent(key))
    else { return false }
    return Data(SHA256.hash(data: bytes)) == digest
  }
}

/// The changes reported in streams of events. A truncated last line does not count.
struct ToldChanges {
  /// The ids of posts by the type of event.
  private(set) var ids: [String: [String]] = [:]
  private(set) var captions: [String: Set<String>] = [:]
  /// The names of the stores.
  private(set) var moves: [String: Set<String>] = [:]

  init(in folder: URL) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasSuffix(".jsonl") {
      let text = String(
        decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
      for line in text.split(separator: "\n") { add(String(line)) }
    }
  }

  init(_ text: String) {
    for line in text.split(separator: "\n") { add(String(line)) }
  }

  private mutating func add(_ line: String) {
    guard let event = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
      let type = event["type"] as? String, let post = event["post"] as? [String: Any],
      let id = post["id"] as? String
    else { return }
    ids[type, default: []].append(id)
    if type == "post.edited", let caption = post["caption"] as? String {
      captions[id, default: []].insert(caption)
    }
    if type == "post.moved", let to = event["to"] as? String { moves[id, default: []].insert(to) }
  }

  func tells(_ type: String, _ id: String) -> Bool { ids[type]?.contains(id) ?? false }
}
