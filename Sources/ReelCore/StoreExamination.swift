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

/// A store that can put an object in the place of a damaged one in a single step.
package protocol DamagedObjectReplacing: Uploader {
  /// Puts `source` in the place of the object under `key`, if that is proved to be something else: by its length, or by
  /// the digest of its bytes as they are read now. Whoever dies meanwhile leaves the one or the other.
  ///
  /// Gives false, and changes nothing, when the object is what `source` is.
  /// - Throws: as `upload`; `conflict` when there is no object, or something that can't be read.
  func replaceDamaged(_ key: ObjectKey, with source: UploadSource) async throws(UploadError) -> Bool
}
