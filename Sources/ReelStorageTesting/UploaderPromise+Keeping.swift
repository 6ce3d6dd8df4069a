import ReelCore

extension UploaderPromise {
  /// An object that exists is never overwritten, and nothing but whole objects is ever seen.
  static let keeping: [UploaderPromise] = [
    UploaderPromise(
      "upload.neverOverwrites",
      "an object that exists is never overwritten: alreadyExists, the first one stays"
    ) { scene in
      let key = try scene.newKey()
      let first = try scene.small(seed: 1)
      try await scene.upload(first, to: key)
      for second in try [scene.small(seed: 2), scene.small(seed: 1), scene.large()] {
        try await scene.expectError([.alreadyExists], "a second object of that name") {
          try await scene.upload(second, to: key)
        }
        try await scene.expectWhole(first, under: key)
      }
    },
    UploaderPromise(
      "upload.oneWinner",
      "of several that store under one name at once one wins and is whole; with atomicCreate only one wins"
    ) { scene in
      for round in 1...4 { try await race(scene, seed: UInt64(round * 100)) }
    },
    UploaderPromise("upload.onlyWholeIsSeen", "halfway through an upload nothing is visible under its key") {
      scene in
      try await lookMidway(scene)
    },
    UploaderPromise("prepare.sparesOthers", "preparing removes no object and disturbs no upload of others") {
      scene in
      let kept = try scene.newKey()
      let content = try scene.small()
      try await scene.upload(content, to: kept)
      try await prepareMidway(scene)
      try await scene.uploader.prepare()
      try await scene.expectWhole(content, under: kept)
    },
  ]

  private static func race(_ scene: PromiseScene, seed: UInt64) async throws {
    let key = try scene.newKey()
    let contents = try (0..<6).map { try PromiseContent(size: 200_000, seed: seed + $0) }
    let rival = try await scene.anotherUploader()
    let winners = try await withThrowingTaskGroup { group in
      for (index, content) in contents.enumerated() {
        let source = try scene.source(content)
        let uploader = index.isMultiple(of: 2) ? scene.uploader : rival
        group.addTask { try await wins(uploader, source, key) ? content : nil }
      }
      return try await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
    }
    let digest = try await scene.uploader.readBack(key)
    try scene.expect(!winners.isEmpty, "nobody won")
    try scene.expect(winners.contains { $0.digest == digest }, "what is stored is nobody's who won")
    if scene.uploader.traits.atomicCreate {
      try scene.expect(
        winners.count == 1, "\(winners.count) of \(contents.count) were told that they had won")
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

  private static func lookMidway(_ scene: PromiseScene) async throws {
    let key = try scene.newKey()
    let content = try scene.large()
    let pause = Pause()
    let source = try scene.source(content, midway: pause.midway)
    async let upload = ended(scene, source, key, pause)
    await pause.isReached()
    let found: Result<StoredObject?, UploadError>
    do throws(UploadError) {
      found = .success(try await scene.uploader.find(key))
    } catch {
      found = .failure(error)
    }
    pause.end()
    _ = try await upload
    try scene.expect(pause.wasReached, "it neither read nor reported anything before it had ended")
    let seen = try found.get()
    try scene.expect(seen == nil, "an object of \(seen?.size ?? -1) bytes was visible")
    try await scene.expectWhole(content, under: key)
  }

  private static func prepareMidway(_ scene: PromiseScene) async throws {
    let key = try scene.newKey()
    let content = try scene.large()
    let pause = Pause()
    let source = try scene.source(content, midway: pause.midway)
    async let upload = ended(scene, source, key, pause)
    await pause.isReached()
    do {
      _ = try await scene.anotherUploader()
    } catch {
      pause.end()
      throw error
    }
    pause.end()
    _ = try await upload
    try await scene.expectWhole(content, under: key)
  }

  private static func ended(
    _ scene: PromiseScene, _ source: UploadSource, _ key: ObjectKey, _ pause: Pause
  ) async throws -> StoredObject {
    defer { pause.pass() }
    return try await withTaskExecutorPreference(OwnThread()) {
      try await scene.uploader.upload(source, to: key) { pause.midway.see($0) }
    }
  }
}
