import ReelCore

/// A store that can say what proves that it holds the bytes that were sent.
package protocol ProofTelling: Uploader {
  /// Returns a short description of the proof, for people. It may have to ask the store.
  func proof() async throws(UploadError) -> String
}
