import ReelCore

extension CancellationFlag {
  /// - Throws: `cancelled` once it is set.
  func check() throws(UploadError) {
    if isSet {
      throw UploadError(.cancelled, "cancelled before it was stored; run the same command again to go on")
    }
  }
}
