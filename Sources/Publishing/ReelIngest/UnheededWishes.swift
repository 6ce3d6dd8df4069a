import FoundationEssentials
import ReelCore
import ReelSource

/// Files of a run that were posts already, and of which something else is said now, or a poster was asked for: such a post
/// stays as it is.
package struct UnheededWishes: Sendable {
  /// More are not looked at, one by one, at the end of a run.
  private static let most = 500
  private var files: [(path: SourcePath, post: Post?)] = []
  private var leftOut = 0

  package init() {}

  /// - Parameter event: of a run of files.
  package mutating func note(_ event: IngestEvent.Body) {
    guard case .fileDuplicate(let file, let duplicate) = event, !file.path.isAddress else { return }
    if files.count < Self.most { files.append((file.path, duplicate.post)) } else { leftOut += 1 }
  }

  /// What was found of them.
  package struct Found: Hashable, Sendable {
    /// Posts that do not say what was said of their files.
    package var differing = 0
    /// The first of these, and what was said.
    package var first: Post?
    package var said = PostMetadata()
    /// Posts that have no poster.
    package var withoutPoster = 0
    /// Whether only some of the files were looked at.
    package var isAtLeast = false

    package init() {}
  }

  /// Blocks.
  /// - Throws: where the catalog can't be read.
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
    /// By flags, and by the caption list.
    let said: PostMetadata
    /// By the sidecar, and when that was last changed.
    let beside: PostMetadata
    let changed: Date?

    /// Whether the sidecar is newer than `post`, which may have been edited since.
    func isNew(_ post: Post) -> Bool {
      guard let changed, let created = post.createdAt else { return false }
      return changed > created
    }
  }

  /// Where nothing is said but by sidecars, and none of so many files has one, the others aren't looked at either: most runs
  /// over what is known have nothing to tell.
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
  /// What is said of a video, as a change of its post.
  package init(_ said: PostMetadata) {
    self.init(caption: said.caption, music: said.music, authorName: said.authorName)
  }

  /// Whether it changes `post`.
  package func changes(_ post: Post) -> Bool {
    var edited = post
    return !apply(to: &edited).isEmpty
  }
}
