/// A catalog that accepts posters for posts that were published without one.
package protocol PosterAdding: PostCatalog {
  /// Up to `limit` posts of `destination` without a poster and with page numbers above `pageNumber`, in feed order.
  func postsWithoutPoster(
    in destination: Destination, after pageNumber: Int, limit: Int
  ) async throws(CatalogError) -> [PosterlessPost]

  /// Records a poster name for each of these posts, in one transaction, as ``claim(_:)`` does for a post that is to
  /// be published. This process holds them until it ends or the posts show them. Nil for a post that meanwhile
  /// shows a poster, is in another store, or has a poster held by another process.
  func namePosters(
    _ requests: [(post: PostID, poster: PosterRequest)], in destination: Destination
  ) async throws(CatalogError) -> [ObjectKey?]

  /// Makes the posts show these posters, which are stored, in one transaction. False for a post that meanwhile
  /// shows another poster or is in another store, and for a poster that was given up or that another process holds.
  func showPosters(
    _ posters: [(post: PostID, poster: PostPoster)], of destination: Destination
  ) async throws(CatalogError) -> [Bool]

  /// Those of `posts` that are stored in `destination`.
  func posts(_ posts: [PostID], in destination: Destination) async throws(CatalogError) -> Set<PostID>
}

/// A post without a poster.
package struct PosterlessPost: Sendable {
  package let id: PostID
  package let video: ObjectKey
  /// The digest of the video.
  package let digest: ContentDigest
  /// The size of the video in bytes.
  package let size: Int64
  /// The video's address, as the post shows it.
  package let videoURL: String
  /// Its place in the feed.
  package let pageNumber: Int

  package init(
    id: PostID, video: ObjectKey, digest: ContentDigest, size: Int64, videoURL: String, pageNumber: Int
  ) {
    self.id = id
    self.video = video
    self.digest = digest
    self.size = size
    self.videoURL = videoURL
    self.pageNumber = pageNumber
  }
}
