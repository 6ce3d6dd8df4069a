import ReelTestSupport

extension TemporaryFolder {
  /// Whether the folder `name` is empty, now or soon: an uploader's lock is removed by the last thread that holds the
  /// uploader, a moment after the upload has returned.
  func becomesEmpty(_ name: String) async throws -> Bool {
    for _ in 0..<60_000 {
      if try names(in: name).isEmpty { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }
}
