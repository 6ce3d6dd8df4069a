import HTTPTypes

@testable import ReelRemoteStorage

extension HTTPField.Name {
  /// AWS, CreateBucket: versions, too.
  fileprivate static let objectLock = ours("x-amz-bucket-object-lock-enabled")
}

extension S3Client {
  /// Makes the bucket. On a busy machine a server that has just begun may need a moment.
  func makeBucket(isLocked: Bool = false) async throws {
    var request = S3Request(.put, nil, task: "make a bucket", permission: "s3:CreateBucket")
    if isLocked { request.fields[.objectLock] = "true" }
    for _ in 0..<600 {
      switch try await outcome(of: request) {
      case .reply: return
      // An attempt before was done all the same.
      case .failure(let failure) where failure.code == "BucketAlreadyOwnedByYou": return
      case .failure: try await Task.sleep(for: .seconds(1))
      }
    }
    _ = try await send(request)
  }
}
