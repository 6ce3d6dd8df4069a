import ReelCore
import ReelRemoteStorage
import ReelStores

/// The work of `reel feed --presign`: the bucket whose posts get newly signed addresses.
struct PostSigning {
  private let bucket: S3Uploader
  private let seconds: Int

  /// The destination as the user named it, by `--to` or the setting.
  var destination: Destination { bucket.destination }

  /// - Throws: ``CommandFailure`` where no bucket is named, or it can't be reached with these settings.
  init(_ settings: Settings, seconds: Int) async throws {
    guard let to = settings.to else {
      throw CommandFailure(
        .usage, "--presign signs for one bucket: name it with --to s3://bucket/prefix, as for reel ingest")
    }
    let stores = Stores(settings, library: try CatalogPlace(settings).library)
    guard let bucket = try await stores.open(to).uploader as? S3Uploader else {
      throw CommandFailure(
        .usage, "--presign is for S3 (s3://bucket/prefix): the addresses of \(to) have no end")
    }
    (self.bucket, self.seconds) = (bucket, seconds)
  }

  /// The page with signed addresses, and the number of its posts that are in other stores and were left unchanged.
  func signed(_ page: FeedPage, _ catalog: any PosterAdding) async throws -> (page: FeedPage, elsewhere: Int)
  {
    try await bucket.presigned(page, seconds: seconds, of: catalog)
  }
}
