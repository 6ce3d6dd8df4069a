import ReelCore
import ReelIngest

/// Videos that a run publishes, or would publish, and that may be posts of the same author in another store of the library.
package struct SecondPosts: Sendable {
  private struct Video: Hashable {
    let digest: ContentDigest
    let author: String?
    /// Of the post that it has become; nil in a dry run.
    let id: PostID?
  }

  /// More are not looked up, one by one, at the end of a run.
  private static let most = 500
  private var videos: [Video] = []
  private var leftOut = 0

  package init() {}

  /// - Parameter event: of a run that publishes no video twice into its own store.
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

  /// How many of them are. Any other post of the same video and author is in another store: this one has no second.
  package func elsewhere(in catalog: any PostCatalog) async throws(CatalogError) -> RunReport.Elsewhere {
    var count = 0
    for video in videos {
      let posts = try await catalog.posts(of: video.digest)
      if posts.contains(where: { $0.id != video.id && $0.authorID == video.author }) { count += 1 }
    }
    return RunReport.Elsewhere(count: count, isAtLeast: count > 0 && leftOut > 0)
  }
}
