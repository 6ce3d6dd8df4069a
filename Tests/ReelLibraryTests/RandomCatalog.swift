import Foundation
import ReelCatalogCopy
import ReelCore
import ReelTestSupport

@testable import ReelLibrary
@testable import ReelPostgres

/// Fills a catalog with everything it may contain, through the calls that a run makes.
struct RandomCatalog {
  private var random: SplitMix64
  private let sketch: Sketch
  /// The publications that have posts.
  private(set) var published: [Publication] = []
  private(set) var unfinished: [Intent] = []
  /// Publications that were removed and must not come back.
  private(set) var removed: [Publication] = []

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    sketch = Sketch(seed: seed)
  }

  private static let captions: [String?] = [
    nil, "a beach", "café \"noir\"", "\"videoURL\":\"library:media/x\"", "日本 🎬", "back\\slash\nline", "",
  ]
  private static let authors: [String?] = [nil, "ada", "grace\0hopper", "Ω"]

  /// - Parameter stores: The stores that the posts are in.
  mutating func fill(
    _ catalog: any PostCatalog & UploadCheckpoints, steps: Int, stores: [Destination], unsettled: Bool = true
  ) async throws {
    for step in 0..<steps {
      guard let store = stores.randomElement(using: &random) else { return }
      let digest =
        published.isEmpty || Int.random(in: 0..<5, using: &random) > 0
        ? sketch.digest() : published.randomElement(using: &random)?.digest ?? sketch.digest()
      let publication = sketch.publication(
        digest, to: store.name, by: Self.authors.randomElement(using: &random) ?? nil)
      let request = sketch.request(
        publication, Bool.random(using: &random) ? .allow : .skip,
        poster: Bool.random(using: &random) ? sketch.poster() : nil,
        arrived: Bool.random(using: &random) ? sketch.digest() : nil)
      guard let intent = try await catalog.claim(request).intent else { continue }
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        try await catalog.release(intent, because: .retryLater)
        leave(intent)
      case 1:
        try await catalog.release(intent, because: .keyUnusable)
        // It may be an intent that was abandoned before.
        unfinished.removeAll { $0.id == intent.id }
      case 2 where intent.poster != nil: try await catalog.release(intent, because: .posterUnusable)
      case 3 where unsettled:
        // Its process dies holding the intent.
        leave(intent)
      default: try await publish(intent, in: catalog, store)
      }
      try await remember(step, digest, intent, in: catalog, store)
    }
    if let catalog = catalog as? any PostChanging { try await change(catalog, stores) }
  }

  /// Records an abandoned intent, which may have been abandoned and resumed before.
  private mutating func leave(_ intent: Intent) {
    unfinished.removeAll { $0.id == intent.id }
    unfinished.append(intent)
  }

  /// Changes posts in every way, and leaves a change of each kind unfinished.
  private mutating func change(_ catalog: any PostChanging, _ stores: [Destination]) async throws {
    let open = Set(unfinished.map(\.publication.digest))
    // A video that is published twice is left alone: it would still be known through its other post.
    let once = Dictionary(grouping: published) { $0.digest }.values.filter { $0.count == 1 }
      .compactMap(\.first).filter { !open.contains($0.digest) }
      .sorted { $0.digest.hex < $1.digest.hex }
    let at = Date(timeIntervalSince1970: 1_700_000_000.25)
    let gone = Removal(reason: "a\0 claim", by: "bo", at: at)
    let kept = Removal(at: at, keptUntil: at + 86_400)
    let moved = PostChange.Kind.move(to: Destination("s3://other"))
    let ways: [(kinds: [PostChange.Kind], steps: Int)] = [
      ([.removal(gone)], 3), ([.removal(kept)], 3), ([.removal(gone)], 1), ([.removal(kept)], 2),
      ([.removal(kept), .purge], 3), ([.removal(kept), .purge], 1), ([.removal(gone), .restoration], 3),
      ([.removal(kept), .restoration], 1), ([.edit(PostEdit(caption: "a beach", likeCount: 7))], 3),
      ([.edit(PostEdit(caption: "", shareCount: 7))], 1), ([moved], 3), ([moved], 1), ([moved], 2),
    ]
    for (publication, way) in zip(once, ways) {
      guard let post = try catalog.published(publication)?.post else { continue }
      for (index, kind) in way.kinds.enumerated() {
        guard case .begun(let open)? = try catalog.begin([PostChange(post.id, kind)]).first else { continue }
        let steps = index == way.kinds.count - 1 ? way.steps : 3
        if steps > 1 { _ = try catalog.finish([open]) }
        if steps > 2 { try catalog.strikeOut([open]) }
      }
      if try catalog.removedPost(post.id) != nil { removed.append(publication) }
      if try catalog.published(publication) == nil { published.removeAll { $0 == publication } }
    }
  }

  private mutating func publish(
    _ intent: Intent, in catalog: any PostCatalog, _ store: Destination
  ) async throws {
    var poster: PostPoster?
    if let key = intent.poster, Bool.random(using: &random) {
      let picture = Poster(
        jpeg: [], width: 288, height: 512, blurHash: "L3F~gYof00ayayj[fQj[00fQ?bfQ", isCover: false, time: 1)
      poster = PostPoster(
        picture, stored: StoredObject(key: key, url: "\(store.name)/\(key)", size: 100, digest: nil))
    }
    var draft = sketch.draft(
      caption: Self.captions.randomElement(using: &random) ?? nil, poster: poster)
    draft.metadata.authorID = intent.publication.authorID
    let stored = StoredObject(
      key: intent.key, url: "\(store.name)/\(intent.key)", size: 1000, digest: intent.publication.digest)
    let post = try await catalog.complete(intent, draft: draft, stored: stored)
    if Int.random(in: 0..<4, using: &random) > 0 { catalog.note([.announced([post.id])]) }
    published.append(intent.publication)
  }

  private mutating func remember(
    _ step: Int, _ digest: ContentDigest, _ intent: Intent,
    in catalog: any PostCatalog & UploadCheckpoints, _ store: Destination
  ) async throws {
    let identity = FileIdentity(
      device: .max - UInt64(step % 3), inode: UInt64(step), size: 1000, modifiedAt: -5, changedAt: 7)
    let reader = ReaderVersion(reel: "0.\(step % 2).0", ffmpeg: step % 3 == 0 ? "" : "59.27.100")
    let failure = FailureRecord(
      code: "corrupt", message: "it broke\0 in the middle", refused: step % 2 == 0,
      at: Date(timeIntervalSince1970: 1_700_000_000 + Double(step)))
    let path =
      step % 4 == 0
      ? SourcePath("s3://bucket/\(step).mp4") : SourcePath(bytes: Array("/a/\(step)".utf8) + [0xFF])
    catalog.note([
      .digest(digest, of: identity),
      .outcome(.failure(ProbeError(.corrupt, "it is broken")), of: sketch.digest(), by: reader),
      .failure(failure, at: path),
    ])
    if step % 5 == 0, let checkpoint = UploadCheckpoint("https://tus.example/\(step)?secret", of: digest) {
      try await catalog.keep(checkpoint, of: intent.key, in: store)
    }
  }
}

extension CatalogCopySource {
  /// Reads all sections.
  func everything() throws -> [CatalogSection: [CatalogRow]] {
    try read { rows in
      var found: [CatalogSection: [CatalogRow]] = [:]
      for section in rows.sections { try rows.each(of: section) { found[section, default: []] += $0 } }
      return found
    }
  }
}
