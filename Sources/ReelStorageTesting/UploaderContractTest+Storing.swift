import ReelCore

extension UploaderContractTest {
  /// On return the whole object is visible under its key.
  static let storing: [UploaderContractTest] = [
    storingContent("empty", "an empty object") { try TestContent(size: 0, seed: $0) },
    storingContent("oneByte", "an object of one byte") { try TestContent(size: 1, seed: $0) },
    storingContent("small", "a small object") { try TestContent(size: 1000, seed: $0) },
    UploaderContractTest("upload.large", "on return the whole of a large object is visible") { context in
      try await storeAndCompare(try context.large(), context)
    },
    UploaderContractTest(
      "upload.keys", "names are kept exactly, the longest and those that differ by case too"
    ) {
      context in
      let keys = try [
        context.newKey { "a\($0).mp4" }, context.newKey { "A\($0).mp4" }, context.newKey { "0_-..\($0)" },
        context.newKey { String(repeating: $0, count: 10).prefix(200).description },
      ]
      let swapped = try context.newKey { _ in "A" + keys[0].rawValue.dropFirst() }
      for (index, key) in (keys + [swapped]).enumerated() {
        try await storeAndCompare(try context.small(seed: UInt64(index + 1)), context, key)
      }
    },
    UploaderContractTest("upload.sideBySide", "objects that are stored side by side are all whole") {
      context in
      try await withThrowingTaskGroup { group in
        for seed in 1...12 {
          group.addTask { try await storeAndCompare(try context.small(seed: UInt64(seed)), context) }
        }
        try await group.waitForAll()
      }
    },
  ]

  private static func storingContent(
    _ name: String, _ words: String, _ content: @escaping @Sendable (UInt64) throws -> TestContent
  ) -> UploaderContractTest {
    UploaderContractTest("upload.\(name)", "on return the whole of \(words) is visible") { context in
      try await storeAndCompare(try content(1), context)
    }
  }

  private static func storeAndCompare(
    _ content: TestContent, _ context: ContractTestContext, _ given: ObjectKey? = nil
  ) async throws {
    let key = try given ?? context.newKey()
    let object = try await context.upload(content, to: key)
    try context.expect(object.key == key, "it says it stored \(object.key) instead of \(key)")
    try context.expect(
      object.size == content.size, "it says it stored \(object.size) bytes of \(content.size)")
    try context.expect(object.digest == nil || object.digest == content.digest, "it gives another digest")
    try context.expect(!object.url.isEmpty, "it gives no address")
    try await context.expectWhole(content, under: key)
    let url = try await context.uploader.find(key)?.url
    try context.expect(url == object.url, "find gives the address \(url ?? "none") instead of \(object.url)")
  }
}
