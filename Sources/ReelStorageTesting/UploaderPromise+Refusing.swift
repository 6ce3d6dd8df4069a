import ReelCore

extension UploaderPromise {
  /// A source that changes, shrinks, grows or fails midway leaves nothing behind.
  static let refusing: [UploaderPromise] = [
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
  ) -> UploaderPromise {
    UploaderPromise("source.\(name)", "\(words) is not stored, and leaves nothing behind") { scene in
      for content in try [scene.small(), scene.large()] {
        let key = try scene.newKey()
        let source = try scene.source(content, behaviour)
        try await scene.expectError(codes, words) {
          try await scene.uploader.upload(source, to: key) { _ in }
        }
        try await scene.expectNothing(under: key, after: words)
        // The name is not used up: the same file, whole again, can be stored.
        try await scene.upload(content, to: key)
        try await scene.expectWhole(content, under: key)
      }
    }
  }
}
