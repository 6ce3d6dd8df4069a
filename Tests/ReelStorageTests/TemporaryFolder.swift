import ReelTestSupport

extension TemporaryFolder {
  /// Whether the folder `name` is empty, now or soon: an uploader's lock is removed by the last thread that holds the
  /// uploader, a moment after the upload has returned.
  func becomesEmpty(_ name: String) async throws -> Bool {
    try await eventually { try names(in: name).isEmpty }
  }
}
