import ReelCore
import ReelStorage

extension S3Uploader: StoreListing {
  /// Returns the names of the objects below the prefix.
  public func names() async throws(UploadError) -> [String] { try await allNames() }

  /// Returns a page of the objects below the prefix.
  package func page(after token: String?) async throws(UploadError) -> StorePage {
    let retries = RetryBudget(
      RetryPolicy(), of: destination, clock: ContinuousClock(), randomness: SystemRandomness())
    let prefix = client.store.prefix
    let page = try await retries.run { () async throws(UploadError) in
      try await client.page(of: prefix, from: token.flatMap { S3ListPosition(text: $0) })
    }
    let objects = page.objects.filter { $0.name.utf8.starts(with: prefix.utf8) }
    return StorePage(
      objects.map { (String($0.name.unicodeScalars.dropFirst(prefix.unicodeScalars.count)), $0.size) },
      next: page.next?.text)
  }

  /// Returns none: parts of unfinished uploads are resumed, or removed by a rule of the bucket.
  public func leftovers() async throws(UploadError) -> [String] { [] }

  /// Does nothing, as there are none.
  public func removeLeftovers() async throws(UploadError) {}
}
