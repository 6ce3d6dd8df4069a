import ReelCore
import ReelStorage
import ReelStorageTesting
import ReelTestSupport
import Testing

@Suite struct VerifyingUploaderTests {
  @Test("keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let memory = MemoryUploader()
    try await promise.check(StoreUnderTest(largeSize: 3 << 20 + 1) { VerifyingUploader(base: memory) })
  }

  @Test("keeps every promise, with retries, over a failing folder", arguments: UploaderContractTest.all)
  func stack(_ promise: UploaderContractTest) async throws {
    let folder = try TemporaryFolder()
    try await promise.check(
      StoreUnderTest(sources: .files(folder: folder.path)) {
        let flaky = FlakyUploader(over: FolderUploader(root: folder.path(of: "store")), .lostReply)
        let retrying = RetryingUploader(
          base: flaky, policy: RetryPolicy(retriesPerRun: 10_000), clock: ImpatientClock(),
          randomness: SeededRandomness(seed: 2))
        return VerifyingUploader(base: retrying)
      })
  }

  @Test("an object that differs is reported and removed", arguments: Lie.allCases)
  func differences(_ lie: Lie) async throws {
    let memory = MemoryUploader()
    let uploader = VerifyingUploader(base: LyingUploader(base: memory, lie: lie))
    let code = await uploadCode { try await uploader.upload(.filled(100), to: key("a.mp4")) }
    #expect(code == (lie == .noDigest ? nil : .verificationFailed))
    #expect(memory.keys.isEmpty == (lie != .noDigest))
  }

  @Test("an object that differs is removed even if the run is cancelled meanwhile")
  func cancelled() async throws {
    let memory = MemoryUploader()
    let uploader = VerifyingUploader(
      base: LyingUploader(base: CancellingUploader(base: memory), lie: .otherSize))
    let (source, key) = (try UploadSource.filled(100), try key("a.mp4"))
    let code = await Task { await uploadCode { try await uploader.upload(source, to: key) } }.value
    #expect(code == .verificationFailed && memory.keys.isEmpty)
  }
}

/// Cancels its task as soon as an object is stored; in a cancelled task it removes nothing.
private struct CancellingUploader: UploaderDecorator {
  let base: any Uploader

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let object = try await base.upload(source, to: key, reporting: reporting)
    withUnsafeCurrentTask { $0?.cancel() }
    return object
  }

  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    if Task.isCancelled { throw UploadError(.cancelled, "cancelled before it was removed") }
    return try await base.remove(key)
  }
}

/// False claims of a store.
enum Lie: CaseIterable, Sendable {
  case otherKey, otherSize, otherDigest
  /// Not a lie: the store does not know the digest.
  case noDigest
}

struct LyingUploader: UploaderDecorator {
  let base: any Uploader
  let lie: Lie

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    twisted(try await base.upload(source, to: key, reporting: reporting))
  }

  private func twisted(_ object: StoredObject) -> StoredObject {
    switch lie {
    case .otherKey:
      let other = ObjectKey("x" + object.key.rawValue) ?? object.key
      return StoredObject(key: other, url: object.url, size: object.size, digest: object.digest)
    case .otherSize:
      return StoredObject(key: object.key, url: object.url, size: object.size + 1, digest: object.digest)
    case .otherDigest:
      return StoredObject(
        key: object.key, url: object.url, size: object.size,
        digest: ContentDigest(sha256: [UInt8](repeating: 0, count: 32)))
    case .noDigest:
      return StoredObject(key: object.key, url: object.url, size: object.size, digest: nil)
    }
  }
}
