/// What `reel doctor` asks a store that can be listed. Only ``removeLeftovers()`` changes anything.
public protocol StoreExamination: Sendable {
  /// Every name in the store but our own folder of temporaries, in no order.
  /// - Throws: `storeUnusable` when the store is not there.
  func names() async throws(UploadError) -> [String]

  /// Paths of what dead uploaders have left half done.
  func leftovers() async throws(UploadError) -> [String]

  /// Removes what ``leftovers()`` tells.
  func removeLeftovers() async throws(UploadError)
}
