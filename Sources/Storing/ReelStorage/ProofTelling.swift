import ReelCore

/// A store that can say how it is proved that it holds what was sent.
package protocol ProofTelling: Uploader {
  /// For people, in some words. It may have to ask the store.
  func proof() async throws(UploadError) -> String
}
