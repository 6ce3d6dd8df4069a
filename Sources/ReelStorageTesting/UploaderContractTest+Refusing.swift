import ReelCore

extension UploaderContractTest {
  /// A source that changes, shrinks, grows or fails midway leaves nothing behind.
  static let refusing: [UploaderContractTest] = [
    refusing("changed", "a source that changed, and says so", .changedVisibly, [.sourceChanged]),
    refusing(
      "changedSilently", "a source whose bytes are not those of its digest", .changedSilently,
      [.sourceChanged, .verificationFailed]),
    refusing("shrunk", "a source that shrank", .shrunk, [.sourceChanged]),
    refusing("grown", "a source that grew", .grown, [.sourceChanged]),
    refusing("fails", "a source that fails midway", .failing, [.sourceUnreadable]),
  ]

  private static func refusing(
    _ name: String, _ words: String, _ behaviour: Behaviour, _ codes: Set<UploadError.Code>
  ) -> UploaderContractTest {
    UploaderContractTest("source.\(name)", "\(words) is not stored, and leaves nothing behind") { context in
      for content in try [context.small(), context.large()] {
        let key = try context.newKey()
        let source = try context.source(content, behaviour)
        try await context.expectError(codes, words) {
          try await context.uploader.upload(source, to: key) { _ in }
        }
        try await context.expectNothing(under: key, after: words)
        // The name is not used up: the same file, whole again, can be stored.
        try await context.upload(content, to: key)
        try await context.expectWhole(content, under: key)
      }
    }
  }
}
