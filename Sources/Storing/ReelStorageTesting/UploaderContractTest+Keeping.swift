import ReelCore

extension UploaderContractTest {
  /// An existing object is never overwritten, and nothing but whole objects is ever visible.
  static let keeping: [UploaderContractTest] = [
    UploaderContractTest(
      "upload.neverOverwrites",
      "an existing object is never overwritten: the upload fails with alreadyExists and the first object stays"
    ) { context in
      let key = try context.newKey()
      let first = try context.small(seed: 1)
      try await context.upload(first, to: key)
      for second in try [context.small(seed: 2), context.small(seed: 1), context.large()] {
        try await context.expectError([.alreadyExists], "a second object with the same name") {
          try await context.upload(second, to: key)
        }
        try await context.expectWhole(first, under: key)
      }
    },
    UploaderContractTest(
      "upload.oneWinner",
      "when uploads race for one name, a winner's object is stored whole; with atomicCreate exactly one wins"
    ) { context in
      for round in 1...4 { try await race(context, seed: UInt64(round * 100)) }
    },
    UploaderContractTest(
      "upload.onlyWholeIsSeen", "halfway through an upload, nothing is visible under its key"
    ) {
      context in
      try await lookMidway(context)
    },
    UploaderContractTest(
      "prepare.sparesOthers", "prepare removes no objects and does not disturb the uploads of other uploaders"
    ) {
      context in
      let kept = try context.newKey()
      let content = try context.small()
      try await context.upload(content, to: kept)
      try await prepareMidway(context)
      try await context.uploader.prepare()
      try await context.expectWhole(content, under: kept)
    },
  ]

  private static func race(_ context: ContractTestContext, seed: UInt64) async throws {
    let key = try context.newKey()
    let contents = try (0..<6).map { try TestContent(size: 200_000, seed: seed + $0) }
    let rival = try await context.anotherUploader()
    let winners = try await withThrowingTaskGroup { group in
      for (index, content) in contents.enumerated() {
        let source = try context.source(content)
        let uploader = index.isMultiple(of: 2) ? context.uploader : rival
        group.addTask { try await wins(uploader, source, key) ? content : nil }
      }
      return try await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
    }
    let digest = try await context.uploader.readBack(key)
    try context.expect(!winners.isEmpty, "no upload won")
    try context.expect(
      winners.contains { $0.digest == digest }, "the stored object is not that of a winner")
    if context.uploader.traits.atomicCreate {
      try context.expect(
        winners.count == 1, "\(winners.count) of \(contents.count) uploads won instead of one")
    }
  }

  private static func wins(
    _ uploader: any Uploader, _ source: UploadSource, _ key: ObjectKey
  ) async throws -> Bool {
    do throws(UploadError) {
      _ = try await uploader.upload(source, to: key) { _ in }
      return true
    } catch {
      guard error.code == .alreadyExists || error.code == .conflict else { throw error }
      return false
    }
  }

  private static func lookMidway(_ context: ContractTestContext) async throws {
    let key = try context.newKey()
    let content = try context.large()
    let pause = Pause(patience: context.store.patience)
    let source = try context.source(content, midway: pause.midway)
    // Another uploader, because one that is held up may not be able to answer.
    let observer = try await context.anotherUploader()
    async let upload = ended(context, source, key, pause)
    let seen = await pause.whileHeld { () async throws(UploadError) in try await observer.find(key) }
    _ = try await upload
    try context.expect(
      pause.wasReached, "it neither read the second half of its source nor reported progress midway")
    if let found = try seen.get() {
      try context.expect(!pause.wasGivenUp, tooLate("find"))
      throw Difference(detail: "an object of \(found.size) bytes was visible")
    }
    try await context.expectWhole(content, under: key)
  }

  private static func prepareMidway(_ context: ContractTestContext) async throws {
    let key = try context.newKey()
    let content = try context.large()
    let pause = Pause(patience: context.store.patience)
    let source = try context.source(content, midway: pause.midway)
    async let upload = ended(context, source, key, pause)
    let prepared = await pause.whileHeld { () async throws in _ = try await context.anotherUploader() }
    _ = try await upload
    try prepared.get()
    try context.expect(!pause.wasGivenUp, tooLate("prepare"))
    try await context.expectWhole(content, under: key)
  }

  private static func tooLate(_ call: String) -> String {
    "\(call) did not answer while an upload was held up halfway by its source: an uploader that is an actor "
      + "must not read on the actor itself, because reading then blocks every other call (SourceChunks reads elsewhere)"
  }

  private static func ended(
    _ context: ContractTestContext, _ source: UploadSource, _ key: ObjectKey, _ pause: Pause
  ) async throws -> StoredObject {
    defer { pause.pass() }
    return try await withTaskExecutorPreference(SerialThread()) {
      try await context.uploader.upload(source, to: key) { pause.midway.see($0) }
    }
  }
}

extension UploaderContractTest {
  /// A source that changes, shrinks, grows or fails midway leaves nothing behind.
  static let refusing: [UploaderContractTest] = [
    refusing("changed", "a source that reports a change", .changedVisibly, [.sourceChanged]),
    refusing(
      "changedSilently", "a source whose bytes do not match its digest", .changedSilently,
      [.sourceChanged, .verificationFailed]),
    refusing("shrunk", "a source that shrank", .shrunk, [.sourceChanged]),
    refusing("grown", "a source that grew", .grown, [.sourceChanged]),
    refusing("fails", "a source that fails midway", .failing, [.sourceUnreadable]),
  ]

  private static func refusing(
    _ name: String, _ words: String, _ behaviour: Behaviour, _ codes: Set<UploadError.Code>
  ) -> UploaderContractTest {
    UploaderContractTest("source.\(name)", "\(words) is not stored and leaves nothing behind") { context in
      for content in try [context.small(), context.large()] {
        let key = try context.newKey()
        let source = try context.source(content, behaviour)
        try await context.expectError(codes, words) {
          try await context.uploader.upload(source, to: key) { _ in }
        }
        try await context.expectNothing(under: key, after: "uploading \(words)")
        // The name is still free: the same file, whole again, can be stored.
        try await context.upload(content, to: key)
        try await context.expectWhole(content, under: key)
      }
    }
  }
}
