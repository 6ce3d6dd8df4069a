import ReelCore

extension UploaderPromise {
  /// On return the whole object is visible under its key.
  static let storing: [UploaderPromise] = [
    storingContent("empty", "an empty object") { try PromiseContent(size: 0, seed: $0) },
    storingContent("oneByte", "an object of one byte") { try PromiseContent(size: 1, seed: $0) },
    storingContent("small", "a small object") { try PromiseContent(size: 1000, seed: $0) },
    UploaderPromise("upload.large", "on return the whole of a large object is visible") { scene in
      try await storeAndCompare(try scene.large(), scene)
    },
    UploaderPromise("upload.keys", "names are kept exactly, the longest and those that differ by case too") {
      scene in
      let keys = try [
        scene.newKey { "a\($0).mp4" }, scene.newKey { "A\($0).mp4" }, scene.newKey { "0_-..\($0)" },
        scene.newKey { String(repeating: $0, count: 10).prefix(200).description },
      ]
      let swapped = try scene.newKey { _ in "A" + keys[0].rawValue.dropFirst() }
      for (index, key) in (keys + [swapped]).enumerated() {
        try await storeAndCompare(try scene.small(seed: UInt64(index + 1)), scene, key)
      }
    },
    UploaderPromise("upload.sideBySide", "objects that are stored side by side are all whole") { scene in
      try await withThrowingTaskGroup { group in
        for seed in 1...12 {
          group.addTask { try await storeAndCompare(try scene.small(seed: UInt64(seed)), scene) }
        }
        try await group.waitForAll()
      }
    },
  ]

  private static func storingContent(
    _ name: String, _ words: String, _ content: @escaping @Sendable (UInt64) throws -> PromiseContent
  ) -> UploaderPromise {
    UploaderPromise("upload.\(name)", "on return the whole of \(words) is visible") { scene in
      try await storeAndCompare(try content(1), scene)
    }
  }

  private static func storeAndCompare(
    _ content: PromiseContent, _ scene: PromiseScene, _ given: ObjectKey? = nil
  ) async throws {
    let key = try given ?? scene.newKey()
    let object = try await scene.upload(content, to: key)
    try scene.expect(object.key == key, "it says it stored \(object.key) instead of \(key)")
    try scene.expect(object.size == content.size, "it says it stored \(object.size) bytes of \(content.size)")
    try scene.expect(object.digest == nil || object.digest == content.digest, "it gives another digest")
    try scene.expect(!object.url.isEmpty, "it gives no address")
    try await scene.expectWhole(content, under: key)
    let url = try await scene.uploader.find(key)?.url
    try scene.expect(url == object.url, "find gives the address \(url ?? "none") instead of \(object.url)")
  }
}
