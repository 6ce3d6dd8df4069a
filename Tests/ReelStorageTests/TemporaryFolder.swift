import ReelTestSupport

extension TemporaryFolder {
  /// Whether `name` is empty, or is so soon: an uploader's lock goes with the last thread that holds the uploader, a
  /// moment after the upload has returned.
  func becomesEmpty(_ name: String) async throws -> Bool {
    for _ in 0..<60_000 {
      if try names(in: name).isEmpty { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }
}
