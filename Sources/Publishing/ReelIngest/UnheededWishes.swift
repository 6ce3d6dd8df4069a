import FoundationEssentials
import ReelCore
import ReelSource

/// Files of a run that already were posts, although other metadata or a poster was requested for them now. Such posts
/// are left unchanged.
package struct UnheededWishes: Sendable {
  /// The largest number of files that are examined, one by one, at the end of a run.
  private static let most = 500
  private var files: [(path: SourcePath, post: Post?)] = []
  private var leftOut = 0

  package init() {}

  /// - Parameter event: an event of a run over files.
  package mutating func note(_ event: IngestEvent.Body) {
    guard case .fileDuplicate(let file, let duplicate) = event, !file.path.isAddress else { return }
    if files.count < Self.most { files.append((file.path, duplicate.post)) } else { leftOut += 1 }
  }

  /// The result of examining the files.
  package struct Found: Hashable, Sendable {
    /// The number of posts whose metadata differs from what was given for their files.
    package var differing = 0
    /// The first of these, and the metadata given.
    package var first: Post?
    package var said = PostMetadata()
    /// The number of posts without a poster.
    package var withoutPoster = 0
    /// Whether only some of the files were examined.
    package var isAtLeast = false

    package init() {}
  }

  /// Compares the posts with what was requested. Blocks.
  /// - Throws: if the catalog can't be read.
  package func found(
    _ options: IngestOptions, _ services: IngestServices, followLinks: Bool
  ) throws(CatalogError) -> Found {
    var found = Found()
    for (wish, post) in try posts(wishes(options, followLinks: followLinks), options, services) {
      if options.posters != .none, post.poster == nil { found.withoutPoster += 1 }
      let said = wish.said.completed(by: wish.isNew(post) ? wish.beside : PostMetadata())
      guard PostEdit(said).changes(post) else { continue }
      found.differing += 1
      if found.first == nil { (found.first, found.said) = (post, said) }
    }
    found.isAtLeast = leftOut > 0
    return found
  }

  private struct Wish {
    let file: FoundFile
    let post: Post?
    /// The metadata given by flags and by the caption list.
    let said: PostMetadata
    /// The metadata in the sidecar, and when that was last changed.
    let beside: PostMetadata
    let changed: Date?

    /// Whether the sidecar is newer than `post`, which may have been edited since.
    func isNew(_ post: Post) -> Bool {
      guard let changed, let created = post.createdAt else { return false }
      return changed > created
    }
  }

  /// The number of files to sample. If only sidecars could give metadata and none of these files has one, the rest are
  /// not examined, because most runs over known files have nothing to report.
  private static let sample = 8

  private func wishes(_ options: IngestOptions, followLinks: Bool) -> [Wish] {
    let isAsked =
      options.posters != .none || options.captions != nil || PostEdit(options.metadata) != PostEdit()
    if isAsked || files.count <= Self.sample { return wishes(of: files[...], options, followLinks) }
    let first = wishes(of: files.prefix(Self.sample), options, followLinks)
    return first.isEmpty ? [] : first + wishes(of: files.dropFirst(Self.sample), options, followLinks)
  }

  private func wishes(
    of files: ArraySlice<(path: SourcePath, post: Post?)>, _ options: IngestOptions, _ followLinks: Bool
  ) -> [Wish] {
    files.compactMap { path, post in
      guard let file = try? FoundFile.named(path, followLinks: followLinks) else { return nil }
      let listed = options.captions?.entry(for: path)?.metadata ?? PostMetadata()
      let said = options.metadata.completed(by: listed)
      let changed = Sidecar.changed(beside: file)
      let beside =
        changed == nil ? nil : try? Sidecar.metadata(beside: file, trustAuthor: options.trustSidecars)
      let isWish = options.posters != .none || changed != nil || PostEdit(said) != PostEdit()
      return isWish
        ? Wish(file: file, post: post, said: said, beside: beside ?? PostMetadata(), changed: changed) : nil
    }
  }

  private func posts(
    _ wishes: [Wish], _ options: IngestOptions, _ services: IngestServices
  ) throws(CatalogError) -> [(Wish, Post)] {
    let unknown = wishes.filter { $0.post == nil }
    let records = try services.catalog.recall(
      unknown.map { wish in
        let author = wish.said.completed(by: wish.beside).completed(by: options.defaultMetadata).authorID
        return RecalledFile(
          identity: wish.file.identity, path: options.absolute(wish.file.path),
          destination: services.uploader.destination, authorID: author)
      }, readingPosts: true)
    let known = wishes.compactMap { wish in wish.post.map { (wish, $0) } }
    return known + zip(unknown, records).compactMap { wish, record in record?.post.map { (wish, $0) } }
  }
}

extension PostEdit {
  /// Creates the edit that gives a post this metadata.
  package init(_ said: PostMetadata) {
    self.init(caption: said.caption, music: said.music, authorName: said.authorName)
  }

  /// Whether the edit would change `post`.
  package func changes(_ post: Post) -> Bool {
    var edited = post
    return !apply(to: &edited).isEmpty
  }
}
