import HTTPTypes

@testable import ReelRemoteStorage

extension S3Client {
  /// Makes the bucket. On a busy machine a server that has just begun may need a moment.
  func makeBucket() async throws {
    let request = S3Request(.put, nil, task: "make a bucket", permission: "s3:CreateBucket")
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
