import ReelCore
import Synchronization

/// What a check works with: a prepared uploader, names nobody uses, and a broom.
struct ContractTestContext: Sendable {
  let store: StoreUnderTest
  let uploader: any Uploader
  private let keys = UsedKeys()

  /// Runs `body` over a prepared uploader, and removes what it stored, however it ends.
  static func run(
    _ store: StoreUnderTest, _ body: @Sendable (ContractTestContext) async throws -> Void
  ) async throws {
    let uploader = try await store.makeUploader()
    try await uploader.prepare()
    let context = ContractTestContext(store: store, uploader: uploader)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(context))
    } catch {
      result = .failure(error)
    }
    for key in context.keys.all { try? await uploader.remove(key) }
    try result.get()
  }

  private init(store: StoreUnderTest, uploader: any Uploader) {
    self.store = store
    self.uploader = uploader
  }

  /// A name that nothing in the store has.
  func newKey(_ make: (String) -> String = { $0 + ".mp4" }) throws -> ObjectKey {
    guard let key = ObjectKey(make(SystemRandomness().name(length: 22))) else {
      throw Difference(detail: "the check made no object key")
    }
    keys.add(key)
    return key
  }

  /// Another uploader of the same store, prepared.
  func anotherUploader() async throws -> any Uploader {
    let another = try await store.makeUploader()
    try await another.prepare()
    return another
  }

  func small(seed: UInt64 = 1) throws -> TestContent { try TestContent(size: 1000, seed: seed) }

  func large(seed: UInt64 = 1) throws -> TestContent {
    try TestContent(size: store.largeSize, seed: seed)
  }

  /// Stores `content` and gives what the uploader says about it.
  @discardableResult
  func upload(_ content: TestContent, to key: ObjectKey) async throws -> StoredObject {
    try await uploader.upload(try source(content), to: key) { _ in }
  }

  func expect(_ condition: Bool, _ detail: @autoclosure () -> String) throws {
    if !condition { throw Difference(detail: detail()) }
  }

  /// The error that `body` throws, which must be one of `codes`, with a sentence.
  @discardableResult
  func expectError(
    _ codes: Set<UploadError.Code>, _ what: String, _ body: () async throws -> StoredObject
  ) async throws -> UploadError {
    let names = codes.map(\.rawValue).sorted().joined(separator: " or ")
    do {
      let object = try await body()
      throw Difference(detail: "\(what) was stored as \(object.key), and should have failed with \(names)")
    } catch let error as UploadError {
      try expect(
        codes.contains(error.code),
        "\(what) failed with \(error.code.rawValue) instead of \(names): \(error.message)")
      try expect(!error.message.isEmpty, "\(what) failed without a message")
      return error
    }
  }

  /// Nothing is to be seen under `key`.
  func expectNothing(under key: ObjectKey, after what: String) async throws {
    try expect(try await uploader.find(key) == nil, "after \(what), find gives an object")
    try expect(try await uploader.readBack(key) == nil, "after \(what), readBack gives an object")
  }

  /// Exactly `content` is to be read under `key`.
  func expectWhole(_ content: TestContent, under key: ObjectKey) async throws {
    let found = try await uploader.find(key)
    try expect(found != nil, "an object that was stored is not found")
    try expect(found?.key == key, "find gives another key")
    try expect(
      found?.size == content.size, "find says \(found?.size ?? -1) bytes instead of \(content.size)")
    try expect(found?.digest == nil || found?.digest == content.digest, "find gives another digest")
    try expect(try await uploader.readBack(key) == content.digest, "other bytes are read back than were sent")
  }
}

/// The names that a check has used.
private final class UsedKeys: Sendable {
  private let keys = Mutex<[ObjectKey]>([])

  var all: [ObjectKey] { keys.withLock { $0 } }

  func add(_ key: ObjectKey) { keys.withLock { $0.append(key) } }
}
