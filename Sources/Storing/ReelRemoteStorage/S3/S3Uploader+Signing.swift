import ReelCore

extension S3Uploader {
  /// Returns `page` with new signed addresses, by ``presigned(_:seconds:)``, for the posts that are stored here, and
  /// the number of posts that are in other stores and were left unchanged.
  /// - Throws: ``CatalogError`` if the catalog can't be read; an error if the credentials can't be obtained, or the
  ///   store can't be asked.
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

  /// Sends a request whose reply corrects the clock and the region: a signature by a wrong clock, or for a wrong
  /// region, is worthless.
  private func lookAtClockAndRegion(_ post: Post) async throws(UploadError) {
    do throws(UploadError) {
      _ = try await find(post.video)
    } catch {
      // The answer for a missing object without the permission s3:ListBucket.
      guard error.code == .denied else { throw error }
    }
  }
}
