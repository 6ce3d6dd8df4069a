import ReelCore

extension S3Uploader {
  /// `page` with the posts that are stored here as ``presigned(_:seconds:)`` makes them, and how many are in other stores
  /// and were left as they are.
  /// - Throws: ``CatalogError`` when the catalog can't be read; what keeps the credentials from being had, or the store
  ///   from being asked.
  package func presigned(
    _ page: FeedPage, seconds: Int, of catalog: any PosterAdding
  ) async throws -> (page: FeedPage, elsewhere: Int) {
    let here = try await catalog.posts(page.posts.map(\.id), in: destination)
    if let first = page.posts.first(where: { here.contains($0.id) }) {
      try await lookAtClockAndRegion(first)
    }
    var posts: [Post] = []
    for post in page.posts {
      posts.append(here.contains(post.id) ? try await presigned(post, seconds: seconds) : post)
    }
    return (FeedPage(posts: posts, next: page.next), posts.count - here.count)
  }

  /// A signature by a wrong clock, or for a wrong region, opens nothing. Both are put right by the store's reply to any
  /// request.
  private func lookAtClockAndRegion(_ post: Post) async throws(UploadError) {
    do throws(UploadError) {
      _ = try await find(post.video)
    } catch {
      // What a store without s3:ListBucket says of an object that is gone.
      guard error.code == .denied else { throw error }
    }
  }
}
