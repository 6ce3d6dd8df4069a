import Foundation
import ReelCore
import ReelCrypto
import ReelLibrary
import ReelTestSupport

@testable import ReelPage

/// A catalog with posts and a folder for their site.
struct TestFeed {
  let catalog = MemoryCatalog()
  let folder: TemporaryFolder
  private let randomness: SeededRandomness
  /// As many bytes as the posts state.
  static let video = [UInt8](repeating: UInt8(ascii: "v"), count: 1000)
  /// The first bytes of a JPEG.
  static let poster: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16]

  static let blurHash = "L3F~gYof00ayayj[fQj[00fQ?bfQ"

  init(seed: UInt64 = 1) throws {
    folder = try TemporaryFolder()
    randomness = SeededRandomness(seed: seed)
  }

  var site: String { folder.path(of: "site") }

  /// - Parameters:
  ///   - url: The URL of the object with this name.
  ///   - poster: The URL of a poster with this name; nil for posts without posters.
  @discardableResult
  func publish(
    _ captions: [String?], url: (ObjectKey) -> String = { "https://cdn.example/v/\($0)" },
    poster: ((ObjectKey) -> String)? = nil
  ) async throws -> [Post] {
    var posts: [Post] = []
    for caption in captions {
      guard let digest = ContentDigest(sha256: SHA256.hash(data: Self.video)) else { continue }
      let destination = Destination("file:///media")
      let request = ClaimRequest(
        publication: Publication(digest: digest, destination: destination, authorID: nil),
        duplicates: .allow, size: 1000,
        newID: PostID(at: Date(timeIntervalSince1970: 1_700_000_000), random: randomness),
        newKey: ObjectKey(random: randomness, container: .mp4),
        poster: poster.map { _ in
          PosterRequest(digest: digest, size: 1000, newKey: ObjectKey(posterNamedBy: randomness))
        })
      guard case .granted(let intent) = try await catalog.claim(request) else { continue }
      var media = MediaInfo(container: .mp4, size: 1000)
      media.duration = 12.34
      var draft = PostDraft(
        media: media, provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
        metadata: PostMetadata(caption: caption), commentID: "c")
      if let poster, let key = intent.poster {
        draft.poster = PostPoster(
          Poster(jpeg: [], width: 16, height: 9, blurHash: Self.blurHash, isCover: false, time: 1),
          stored: StoredObject(key: key, url: poster(key), size: 1000, digest: digest))
      }
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
    return try await writer(options, from: catalog).run()
  }

  /// Waits for the folder: for a moment after a run's end, its last thread may still hold it.
  func writer(_ options: SiteOptions, from catalog: any PostCatalog) async throws(SiteError) -> SiteWriter {
    while true {
      do throws(SiteError) {
        return try SiteWriter(at: CanonicalPath(resolving: site), from: catalog, options: options, width: 2)
      } catch {
        guard error.code == .busy else { throw error }
        await Task.yield()
      }
    }
  }

  func text(_ name: String) throws -> String {
    try String(contentsOfFile: site + "/" + name, encoding: .utf8)
  }

  func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: site + "/" + name)))
  }

  func index() throws -> SiteIndex {
    try JSONDecoder().decode(SiteIndex.self, from: Data(try text("feed/index.json").utf8))
  }

  func replace(_ old: String, with new: String, in name: String) throws {
    try folder.write(try text(name).replacing(old, with: new).utf8, to: "site/" + name)
  }

  /// The numbers of the posts on a page.
  func numbers(_ page: Int) throws -> [Int] {
    let object = try JSONSerialization.jsonObject(with: Data(try text("feed/\(page).json").utf8))
    let posts = (object as? [String: Any])?["posts"] as? [[String: Any]] ?? []
    return posts.compactMap { $0["pageNumber"] as? Int }
  }

  /// A post on a page, by its index there.
  func post(_ place: Int, on page: Int) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(try text("feed/\(page).json").utf8))
    let posts = (object as? [String: Any])?["posts"] as? [[String: Any]] ?? []
    return posts.indices.contains(place) ? posts[place] : [:]
  }

  /// Every file of the site, with its current inode number.
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
