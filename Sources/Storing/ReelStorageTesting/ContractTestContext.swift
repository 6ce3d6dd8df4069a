import Dispatch
import ReelCore
import Synchronization

/// A store to be tested, and how to create uploaders for it.
public struct StoreUnderTest: Sendable {
  /// What the sources of a check consist of.
  public enum SourceKind: Hashable, Sendable {
    /// Bytes in memory. They have no descriptor and do not show changes, so they must be hashed as they are read.
    case bytes
    /// Unnamed files in this folder. They have a descriptor from which the kernel can copy.
    case files(folder: String)
  }

  let sources: SourceKind
  let largeSize: Int
  let makeUploader: @Sendable () async throws -> any Uploader
  /// How long an upload is held up so that another call can answer, in beats of ``Pause``.
  package var patience = 600

  /// - Parameters:
  ///   - sources: the kind of sources. An uploader that treats descriptors specially should be checked with both kinds.
  ///   - largeSize: the size in bytes of the largest objects; it should take several of the uploader's chunks or parts.
  ///   - makeUploader: creates another uploader of the same store on each call, not prepared yet.
  public init(
    sources: SourceKind = .bytes, largeSize: Int = 17 << 20 + 3,
    makeUploader: @escaping @Sendable () async throws -> any Uploader
  ) {
    self.sources = sources
    self.largeSize = largeSize
    self.makeUploader = makeUploader
  }
}

/// What a check works with: a prepared uploader, unused names, and the cleaning up.
struct ContractTestContext: Sendable {
  let store: StoreUnderTest
  let uploader: any Uploader
  private let keys = UsedKeys()

  /// Runs `body` with a prepared uploader, and then removes what it stored, however it ended.
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
    for key in context.keys.all { _ = try? await uploader.remove(key) }
    try result.get()
  }

  private init(store: StoreUnderTest, uploader: any Uploader) {
    self.store = store
    self.uploader = uploader
  }

  /// A name that nothing in the store has.
  func newKey(_ make: (String) -> String = { $0 + ".mp4" }) throws -> ObjectKey {
    guard let key = ObjectKey(make(SystemRandomness().name(length: 22))) else {
      throw Difference(detail: "the check could not create an object key")
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

  /// Stores `content`, and returns what the uploader reports.
  @discardableResult
  func upload(_ content: TestContent, to key: ObjectKey) async throws -> StoredObject {
    try await uploader.upload(try source(content), to: key) { _ in }
  }

  /// Removes the object. Returns false if the store declares that it removes nothing, and does not.
  func remove(_ key: ObjectKey, by another: (any Uploader)? = nil) async throws -> Bool {
    let uploader = another ?? uploader
    do {
      let removal = try await uploader.remove(key)
      try expect(uploader.traits.removes, "its traits say that it removes nothing, but it removed an object")
      try expect(removal.remains != "", "its result says that something remains, but not what")
      return true
    } catch let error as UploadError {
      guard !uploader.traits.removes else { throw error }
      try expect(
        error.code == .rejected,
        "it removes nothing, but failed with \(error.code.rawValue) instead of rejected")
      try expect(!error.message.isEmpty, "it removes nothing, but failed without a message that says so")
      return false
    }
  }

  func expect(_ condition: Bool, _ detail: @autoclosure () -> String) throws {
    if !condition { throw Difference(detail: detail()) }
  }

  /// Expects `body` to throw one of `codes` with a message, and returns that error.
  @discardableResult
  func expectError(
    _ codes: Set<UploadError.Code>, _ what: String, _ body: () async throws -> StoredObject
  ) async throws -> UploadError {
    let names = codes.map(\.rawValue).sorted().joined(separator: " or ")
    do {
      let object = try await body()
      throw Difference(detail: "\(what) was stored as \(object.key), but should have failed with \(names)")
    } catch let error as UploadError {
      try expect(
        codes.contains(error.code),
        "\(what) failed with \(error.code.rawValue) instead of \(names): \(error.message)")
      try expect(!error.message.isEmpty, "\(what) failed without a message")
      return error
    }
  }

  /// Expects nothing to be visible under `key`.
  func expectNothing(under key: ObjectKey, after what: String) async throws {
    try expect(try await uploader.find(key) == nil, "after \(what), find returned an object")
    try expect(try await uploader.readBack(key) == nil, "after \(what), readBack returned a digest")
  }

  /// Expects exactly `content` under `key`.
  func expectWhole(_ content: TestContent, under key: ObjectKey) async throws {
    let found = try await uploader.find(key)
    try expect(found != nil, "find returned nothing for an object that was stored")
    try expect(found?.key == key, "find returned a different key")
    try expect(
      found?.size == content.size, "find returned \(found?.size ?? -1) bytes instead of \(content.size)")
    try expect(found?.digest == nil || found?.digest == content.digest, "find returned a different digest")
    try expect(
      try await uploader.readBack(key) == content.digest,
      "readBack did not return the digest of the bytes that were sent")
  }
}

/// The names that a check has used.
private final class UsedKeys: Sendable {
  private let keys = Mutex<[ObjectKey]>([])

  var all: [ObjectKey] { keys.withLock { $0 } }

  func add(_ key: ObjectKey) { keys.withLock { $0.append(key) } }
}

/// Holds up an upload halfway until the check has looked at the store.
final class Pause: Sendable {
  private let patience: Int
  private let beats = Atomic<Int>(0)
  private let reached = AsyncStream<Void>.makeStream()
  private let release = DispatchSemaphore(value: 0)
  private let isHeld = Atomic<Bool>(false)
  private let isGivenUp = Atomic<Bool>(false)

  /// - Parameter patience: how long the look may take, in beats: tenths of a second, each followed by a turn on the
  ///   cooperative pool. Where the pool is so busy that the look gets no turn, its time does not pass either. A look
  ///   that waited for the upload itself would otherwise never end.
  init(patience: Int) {
    self.patience = patience
  }

  /// Whether the upload reached its middle.
  var wasReached: Bool { isHeld.load(ordering: .relaxed) }

  /// Whether the look took too long, so that the upload continued meanwhile.
  var wasGivenUp: Bool { isGivenUp.load(ordering: .relaxed) }

  /// What holds up the uploader's thread. Of several, only the first that is reached does so.
  var midway: Midway { Midway { [self] in hold() } }

  private func hold() {
    if isHeld.exchange(true, ordering: .relaxed) { return }
    pass()
    let heart = Task.detached { [self] in
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(100))
        beats.add(1, ordering: .relaxed)
      }
    }
    defer { heart.cancel() }
    // The heart stands still where the upload itself blocks the pool.
    let end = ContinuousClock.now + .seconds(600)
    while release.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
      if beats.load(ordering: .relaxed) >= patience || ContinuousClock.now > end {
        return isGivenUp.store(true, ordering: .relaxed)
      }
    }
  }

  /// Returns what `look` finds when the upload is halfway, or has ended. The upload continues afterwards.
  func whileHeld<Value: Sendable, Failure: Error>(
    _ look: @Sendable () async throws(Failure) -> Value
  ) async -> Result<Value, Failure> {
    for await _ in reached.stream {}
    defer { release.signal() }
    do throws(Failure) {
      return .success(try await look())
    } catch {
      return .failure(error)
    }
  }

  /// Signals that the upload is halfway, or has ended.
  func pass() { reached.continuation.finish() }
}
