import ReelCore
import ReelSource

/// The posts that a command's arguments name.
package struct PostSelection: Sendable {
  /// Ids and files.
  package let subjects: [SourcePath]
  private let filter: PostFilter
  private let isOfRemoved: Bool
  private let includesKept: Bool

  /// - Parameters:
  ///   - filter: selects the posts if there are no subjects.
  ///   - isOfRemoved: whether removed posts are meant.
  ///   - includesKept: whether removed posts whose objects may be in the store are meant, too.
  package init(
    subjects: [SourcePath], filter: PostFilter = PostFilter(), isOfRemoved: Bool = false,
    includesKept: Bool = false
  ) {
    (self.subjects, self.filter) = (subjects, filter)
    (self.isOfRemoved, self.includesKept) = (isOfRemoved, includesKept)
  }

  /// The error of a file that is not a post, or can't be read.
  package struct Obstacle: ReelError {
    package let text: ErrorMessage
    package var message: String { text.description }
  }

  /// Returns the posts, each once; the newest first if a filter selects them.
  /// - Throws: ``Obstacle`` for a subject that is not a post; nothing has been changed then.
  package func posts(in catalog: any PostChanging) async throws -> [PostID] {
    var found: [PostID] = []
    var seen: Set<PostID> = []
    for subject in subjects {
      for post in try await posts(subject, in: catalog) where seen.insert(post).inserted {
        found.append(post)
      }
    }
    guard subjects.isEmpty else { return found }
    var cursor: FeedCursor?
    repeat {
      let page = try await catalog.newestPosts(matching: filter, before: cursor, limit: 1000)
      found += page.posts.map(\.id)
      cursor = page.next
    } while cursor != nil
    return found
  }

  private func posts(_ path: SourcePath, in catalog: any PostChanging) async throws -> [PostID] {
    if let id = PostID(path.text) { return [id] }
    let digest = try await Self.digest(of: path)
    // Posts of the other kind are returned only if there are none of the requested kind: the command will answer that
    // they are in that state already.
    func inFeed() async throws -> [PostID] { try await catalog.posts(of: digest).map(\.id) }
    let removed = try await BlockingQueue(label: "reel.removed", width: 1).run { () throws(CatalogError) in
      try catalog.removedPosts(of: digest)
    }
    let kept = includesKept ? removed.filter(\.mayBeStored).map(\.post.id) : []
    var found = try await isOfRemoved ? removed.map(\.post.id) : inFeed() + kept
    if found.isEmpty { found = try await isOfRemoved ? inFeed() : removed.map(\.post.id) }
    guard !found.isEmpty else {
      throw Obstacle(text: ErrorMessage("no post in this library was made from \(path.text)"))
    }
    return found
  }

  /// Returns the posts that an id or a file names; removed ones only if there are no
  /// others. Without a catalog, there are none.
  /// - Throws: ``Obstacle`` for what is neither an id nor a file that can be read.
  package static func meant(
    by subject: SourcePath, in catalog: (any PostChanging)?
  ) async throws -> ([Post], [RemovedPost]) {
    let queue = BlockingQueue(label: "reel.show", width: 1)
    if let id = PostID(subject.text) {
      if let post = try await catalog?.post(id) { return ([post], []) }
      return (
        [],
        try await queue.run { () throws(CatalogError) in [try catalog?.removedPost(id)].compactMap(\.self) }
      )
    }
    let digest = try await digest(of: subject)
    let posts = try await catalog?.posts(of: digest) ?? []
    guard posts.isEmpty else { return (posts, []) }
    return (
      [], try await queue.run { () throws(CatalogError) in try catalog?.removedPosts(of: digest) ?? [] }
    )
  }

  /// Returns the digest of a file.
  /// - Throws: ``Obstacle`` if it can't be read.
  package static func digest(of path: SourcePath) async throws -> ContentDigest {
    let digest = try await BlockingQueue(label: "reel.digest", width: 1).run {
      do throws(SourceError) {
        return try SourceDigest.sha256(of: try FoundFile.named(path, followLinks: true).open())
      } catch {
        throw Obstacle(
          text: ErrorMessage("\(path.text) is not a post id, and as a file it can't be used: ") + error.text)
      }
    }
    guard let digest else { throw CancellationError() }
    return digest
  }
}
