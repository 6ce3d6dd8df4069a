import ReelCore
import ReelCrypto
import ReelStorage
import ReelStorageTesting
import ReelTestSupport
import Testing

@Suite("an actor as an uploader", .shortTime)
struct ActorUploaderTests {
  @Test("an actor that reads the source elsewhere keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let uploader = ActorUploader(readsOnItself: false)
    try await promise.check(StoreUnderTest(largeSize: 1 << 20) { uploader })
  }

  @Test(
    "an actor that reads the source on itself is reported as such, without waiting for it",
    arguments: ["upload.onlyWholeIsSeen", "prepare.sparesOthers"])
  func readsOnItself(_ name: String) async throws {
    let promise = try #require(UploaderContractTest.all.first { $0.name == name })
    let uploader = ActorUploader(readsOnItself: true)
    var store = StoreUnderTest(largeSize: 1 << 20) { uploader }
    // The patience does not matter: a blocked actor never answers.
    store.patience = 1
    let violation = await #expect(throws: ContractViolation.self) { try await promise.check(store) }
    #expect(violation?.detail.contains("must not read on the actor itself") == true)
  }
}

/// Keeps objects in an actor's own memory.
private actor ActorUploader: Uploader {
  nonisolated let traits = UploadTraits(
    atomicCreate: true, resumable: false, verifiesChecksums: false, durable: false)
  nonisolated let destination = Destination("test:actor")
  private let readsOnItself: Bool
  private var objects: [ObjectKey: [UInt8]] = [:]
  private var preparations = 0

  init(readsOnItself: Bool) {
    self.readsOnItself = readsOnItself
  }

  func prepare() async throws(UploadError) { preparations += 1 }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let bytes = readsOnItself ? readHere(source) : try await readElsewhere(source)
    guard objects[key] == nil else { throw UploadError(.alreadyExists, "there is a \(key) already") }
    if Task.isCancelled { throw UploadError(.cancelled, "cancelled before it was stored") }
    objects[key] = bytes
    reporting(TransferProgress(sent: source.size, total: source.size))
    return object(key, bytes)
  }

  private func readElsewhere(_ source: UploadSource) async throws(UploadError) -> [UInt8] {
    var bytes: [UInt8] = []
    for try await chunk in SourceChunks(of: source) { bytes += chunk }
    return bytes
  }

  private func readHere(_ source: UploadSource) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(source.size))
    var offset = 0
    while offset < bytes.count {
      let read = bytes.withUnsafeMutableBytes { buffer in
        try? source.bytes.read(
          into: UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]), at: Int64(offset))
      }
      guard let read, read > 0 else { break }
      offset += read
    }
    return bytes
  }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    objects[key].map { object(key, $0) }
  }

  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    objects[key] = nil
    return .gone
  }

  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    objects[key].flatMap { ContentDigest(sha256: SHA256.hash(data: $0)) }
  }

  private func object(_ key: ObjectKey, _ bytes: [UInt8]) -> StoredObject {
    StoredObject(key: key, url: "test:\(key)", size: Int64(bytes.count), digest: nil)
  }
}
