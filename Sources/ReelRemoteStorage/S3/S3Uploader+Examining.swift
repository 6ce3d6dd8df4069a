import ReelCore
import ReelStorage

extension S3Uploader: StoreExamination, StoreListing {
  /// The names behind the prefix.
  public func names() async throws(UploadError) -> [String] { Array(try await sizes().keys) }

  package func sizes() async throws(UploadError) -> [String: Int64] {
    let retries = RetryBudget(
      RetryPolicy(), of: destination, clock: ContinuousClock(), randomness: SystemRandomness())
    let prefix = client.store.prefix
    var found: [String: Int64] = [:]
    var token: String?
    var tokens: Set<String> = []
    repeat {
      let from = token
      let page = try await retries.run { () async throws(UploadError) in
        try await client.page(of: prefix, after: from)
      }
      for object in page.objects where object.name.utf8.starts(with: prefix.utf8) {
        found[String(object.name.unicodeScalars.dropFirst(prefix.unicodeScalars.count))] = object.size
      }
      guard page.next.map({ tokens.insert($0).inserted }) ?? true else {
        throw UploadError(.rejected, "\(destination) does not say how its list of objects goes on")
      }
      token = page.next
    } while token != nil
    return found
  }

  /// None: parts of unfinished uploads are gone on with, or end by a rule of the bucket's.
  public func leftovers() async throws(UploadError) -> [String] { [] }

  /// There are none.
  public func removeLeftovers() async throws(UploadError) {}
}
