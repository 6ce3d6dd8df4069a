import ReelCore
import ReelIngest

/// Videos that a run publishes, or would publish, and that may already be posts: of the same author in another store of
/// the library, or of another author.
package struct SecondPosts: Sendable {
  private struct Video: Hashable {
    let digest: ContentDigest
    let author: String?
    /// The post that the video has become; nil in a dry run.
    let id: PostID?
  }

  /// The largest number of videos that are looked up, one by one, at the end of a run.
  private static let most = 500
  /// If the library has no other store and none of this many videos is another post, the rest are not looked up. Each
  /// lookup is a query to the catalog, which may be far away, and a folder is usually republished as a whole.
  private static let sample = 20
  private var videos: [Video] = []
  private var leftOut = 0

  package init() {}

  /// - Parameter event: an event of a run that publishes no video twice into its own store.
  package mutating func note(_ event: IngestEvent.Body) {
    let video: Video? =
      switch event {
      case .postPublished(_, let post):
        post.digest.map { Video(digest: $0, author: post.authorID, id: post.id) }
      case .filePlanned(_, let plan):
        plan.digest.map { Video(digest: $0, author: plan.metadata.authorID?.said, id: nil) }
      default: nil
      }
    guard let video else { return }
    if videos.count < Self.most { videos.append(video) } else { leftOut += 1 }
  }

  /// Looks up which of them already are posts. Any other post of the same video and author must be in another store,
  /// because this one can't have a second.
  package func found(
    in catalog: any PostCatalog, besides destination: Destination
  ) async throws(CatalogError) -> RunReport.Seconds {
    var found = RunReport.Seconds()
    let others =
      try await (catalog as? any CatalogExamination)?.destinations().filter { $0 != destination } ?? []
    for (count, video) in videos.enumerated() {
      if others.isEmpty, count == Self.sample, found.count == 0 { break }
      let posts = try await catalog.posts(of: video.digest).filter { $0.id != video.id }
      let own = posts.filter { $0.authorID == video.author }
      if posts.isEmpty { continue }
      if own.isEmpty { found.ofOthers += 1 } else { found.elsewhere += 1 }
      found.new += [video.id].compactMap(\.self)
      found.old += own.map(\.id)
    }
    found.isAtLeast = found.count > 0 && leftOut > 0
    found.stores = found.elsewhere > 0 ? others : []
    return found
  }
}
