import HTTPTypes

@testable import ReelRemoteStorage

extension HTTPField.Name {
  /// AWS, CreateBucket: this also turns on versions.
  fileprivate static let objectLock = ours("x-amz-bucket-object-lock-enabled")
}

extension S3Client {
  /// Creates the bucket, with retries: on a busy machine a server that has just started may need a moment.
  func makeBucket(isLocked: Bool = false) async throws {
    var request = S3Request(.put, nil, task: "make a bucket", permission: "s3:CreateBucket")
    if isLocked { request.fields[.objectLock] = "true" }
    for _ in 0..<600 {
      switch try await outcome(of: request) {
      case .reply: return
      // An earlier attempt succeeded after all.
      case .failure(let failure) where failure.code == "BucketAlreadyOwnedByYou": return
      case .failure: try await Task.sleep(for: .seconds(1))
      }
    }
    _ = try await send(request)
  }
}
