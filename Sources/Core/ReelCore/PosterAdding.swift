/// A catalog that takes posters for posts which were published without.
package protocol PosterAdding: PostCatalog {
  /// Up to `limit` posts of `destination` that show no poster, those behind `pageNumber`, in the order of the feed.
  func postsWithoutPoster(
    in destination: Destination, after pageNumber: Int, limit: Int
  ) async throws(CatalogError) -> [PosterlessPost]

  /// Names a poster for each of these posts, in one transaction: as ``claim(_:)`` does for one that is to be published.
  /// This process works on them until it ends, or the posts show them. Nil for a post that shows one by now, is in
  /// another store, or at whose poster another process is.
  func namePosters(
    _ requests: [(post: PostID, poster: PosterRequest)], in destination: Destination
  ) async throws(CatalogError) -> [ObjectKey?]

  /// The posts show these posters, which are stored, from now on; in one transaction. False for one that shows
  /// another by now or is in another store, or whose poster was given up or is another process's.
  func showPosters(
    _ posters: [(post: PostID, poster: PostPoster)], of destination: Destination
  ) async throws(CatalogError) -> [Bool]

  /// Those of `posts` that are stored in `destination`.
  func posts(_ posts: [PostID], in destination: Destination) async throws(CatalogError) -> Set<PostID>
}

/// A post that shows no poster.
package struct PosterlessPost: Sendable {
  package let id: PostID
  package let video: ObjectKey
  /// The video's.
  package let digest: ContentDigest
  /// The video's, in bytes.
  package let size: Int64
  /// As the post shows it.
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
