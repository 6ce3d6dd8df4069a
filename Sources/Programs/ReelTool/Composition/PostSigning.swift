import ReelCore
import ReelRemoteStorage

/// `reel feed --presign`: gives the posts of a bucket addresses that are signed now.
struct PostSigning {
  /// The bucket, as the user named it: `--to`, or the setting.
  let destination: Destination
  private let bucket: S3Uploader
  private let seconds: Int

  /// - Throws: ``CommandFailure`` where no bucket is named, or it can't be reached with these settings.
  init(_ settings: Settings, seconds: Int) async throws {
    guard let to = settings.to else {
      throw CommandFailure(
        .usage, "--presign signs for one bucket: name it with --to s3://bucket/prefix, as for reel ingest")
    }
    let stores = Destinations(
      settings: settings, library: try CatalogPlace(settings).library, checkpoints: MemoryCheckpoints())
    guard let bucket = try await stores.open(to).uploader as? S3Uploader else {
      throw CommandFailure(
        .usage, "--presign is for S3 (s3://bucket/prefix): the addresses of \(to) have no end")
    }
    (self.bucket, self.seconds) = (bucket, seconds)
    destination = bucket.destination
  }

  /// The page, and how many of its posts are in other stores and were left as they are.
  func signed(_ page: FeedPage, _ catalog: any PosterAdding) async throws -> (page: FeedPage, elsewhere: Int)
  {
    let here = try await catalog.posts(page.posts.map(\.id), in: destination)
    if let first = page.posts.first(where: { here.contains($0.id) }) {
      try await lookAtClockAndRegion(first)
    }
    var posts: [Post] = []
    for post in page.posts {
      posts.append(here.contains(post.id) ? try await bucket.presigned(post, seconds: seconds) : post)
    }
    return (FeedPage(posts: posts, next: page.next), posts.count - here.count)
  }

  /// A signature by a wrong clock, or for a wrong region, opens nothing. Both are put right by the store's reply to any
  /// request.
  private func lookAtClockAndRegion(_ post: Post) async throws(UploadError) {
    do throws(UploadError) {
      _ = try await bucket.find(post.video)
    } catch {
      // What a store without s3:ListBucket says of an object that is gone.
      guard error.code == .denied else { throw error }
    }
  }
}
