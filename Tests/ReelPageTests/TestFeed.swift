import Foundation
import ReelCore
import ReelLibrary
import ReelTestSupport

@testable import ReelPage

/// A catalog with posts, and a folder for their site.
struct TestFeed {
  let catalog = MemoryCatalog()
  let folder: TemporaryFolder
  private let randomness: SeededRandomness
  /// As many bytes as the posts say.
  static let video = [UInt8](repeating: UInt8(ascii: "v"), count: 1000)

  init(seed: UInt64 = 1) throws {
    folder = try TemporaryFolder()
    randomness = SeededRandomness(seed: seed)
  }

  var site: String { folder.path(of: "site") }

  /// - Parameter url: of the object with this name.
  @discardableResult
  func publish(
    _ captions: [String?], url: (ObjectKey) -> String = { "https://cdn.example/v/\($0)" }
  ) async throws -> [Post] {
    var posts: [Post] = []
    for caption in captions {
      guard let digest = ContentDigest(sha256: randomness.bytes(32)) else { continue }
      let destination = Destination("file:///media")
      let request = ClaimRequest(
        publication: Publication(digest: digest, destination: destination, authorID: nil),
        duplicates: .skip, size: 1000,
        newID: PostID(at: Date(timeIntervalSince1970: 1_700_000_000), random: randomness),
        newKey: ObjectKey(random: randomness, container: .mp4))
      guard case .granted(let intent) = try await catalog.claim(request) else { continue }
      var media = MediaInfo(container: .mp4, size: 1000)
      media.duration = 12.34
      let draft = PostDraft(
        media: media, provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
        metadata: PostMetadata(caption: caption), commentID: "c")
      posts.append(
        try await catalog.complete(
          intent, draft: draft,
          stored: StoredObject(key: intent.key, url: url(intent.key), size: 1000, digest: digest)))
    }
    return posts
  }

  /// Writes the site, three posts a page unless told otherwise.
  @discardableResult
  func write(_ change: (inout SiteOptions) -> Void = { _ in }) async throws -> SiteSummary {
    var options = SiteOptions()
    options.size = 3
    change(&options)
    let writer = try SiteWriter(
      at: CanonicalPath(resolving: site), from: catalog, options: options, width: 2)
    return try await writer.run()
  }

  func text(_ name: String) throws -> String {
    try String(contentsOfFile: site + "/" + name, encoding: .utf8)
  }

  func index() throws -> SiteIndex {
    try JSONDecoder().decode(SiteIndex.self, from: Data(try text("feed/index.json").utf8))
  }

  func replace(_ old: String, with new: String, in name: String) throws {
    try folder.write(try text(name).replacing(old, with: new).utf8, to: "site/" + name)
  }

  /// The numbers of the posts in a page.
  func numbers(_ page: Int) throws -> [Int] {
    let object = try JSONSerialization.jsonObject(with: Data(try text("feed/\(page).json").utf8))
    let posts = (object as? [String: Any])?["posts"] as? [[String: Any]] ?? []
    return posts.compactMap { $0["pageNumber"] as? Int }
  }

  /// Every file of the site, by the inode that it had when it was written.
  func files() throws -> [String: UInt64] {
    var files: [String: UInt64] = [:]
    for case let name as String in FileManager.default.enumerator(atPath: site) ?? .init() {
      let facts = try FileManager.default.attributesOfItem(atPath: site + "/" + name)
      if facts[.type] as? FileAttributeType == .typeRegular {
        files[name] = facts[.systemFileNumber] as? UInt64
      }
    }
    return files
  }
}
