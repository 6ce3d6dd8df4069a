import Dispatch
import ReelCore
import Synchronization

/// A store for tests, and how to get at it.
public struct StoreUnderTest: Sendable {
  /// What the sources of a check are made of.
  public enum SourceKind: Hashable, Sendable {
    /// Bytes in memory: no descriptor, and changes do not show, so they must be hashed on their way.
    case bytes
    /// Files without a name in this folder: a descriptor that the kernel can copy from.
    case files(folder: String)
  }

  let sources: SourceKind
  let largeSize: Int
  let makeUploader: @Sendable () async throws -> any Uploader
  /// How long an upload is held up for another call to answer.
  package var patience = DispatchTimeInterval.seconds(10)

  /// - Parameters:
  ///   - sources: an uploader that treats descriptors specially is checked with both kinds.
  ///   - largeSize: bytes of the largest objects; it should take several of the uploader's chunks or parts.
  ///   - makeUploader: gives another uploader of the same store each time, not prepared yet.
  public init(
    sources: SourceKind = .bytes, largeSize: Int = 17 << 20 + 3,
    makeUploader: @escaping @Sendable () async throws -> any Uploader
  ) {
    self.sources = sources
    self.largeSize = largeSize
    self.makeUploader = makeUploader
  }
}

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

  /// Removes the object; false when the store says that it removes nothing, and keeps to that.
  func remove(_ key: ObjectKey, by another: (any Uploader)? = nil) async throws -> Bool {
    let uploader = another ?? uploader
    do {
      let removal = try await uploader.remove(key)
      try expect(uploader.traits.removes, "it says that it removes nothing, and removes an object")
      try expect(removal.remains != "", "it says that something is left, and not what")
      return true
    } catch let error as UploadError {
      guard !uploader.traits.removes else { throw error }
      try expect(error.code == .rejected, "it removes nothing, and says \(error.code.rawValue)")
      try expect(!error.message.isEmpty, "it removes nothing, and does not say so")
      return false
    }
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

/// Holds an upload up when it is halfway, until the check has looked around.
final class Pause: Sendable {
  private let patience: DispatchTimeInterval
  private let reached = AsyncStream<Void>.makeStream()
  private let release = DispatchSemaphore(value: 0)
  private let isHeld = Atomic<Bool>(false)
  private let isGivenUp = Atomic<Bool>(false)

  /// - Parameter patience: for looking around; who waits for the upload itself would wait for ever.
  init(patience: DispatchTimeInterval) {
    self.patience = patience
  }

  /// Whether the upload ever came to its middle.
  var wasReached: Bool { isHeld.load(ordering: .relaxed) }

  /// Whether looking around took too long, so that the upload went on meanwhile.
  var wasGivenUp: Bool { isGivenUp.load(ordering: .relaxed) }

  /// Each of these holds the uploader's thread, but only the first that is reached.
  var midway: Midway { Midway { [self] in hold() } }

  private func hold() {
    if isHeld.exchange(true, ordering: .relaxed) { return }
    pass()
    if release.wait(timeout: .now() + patience) == .timedOut {
      isGivenUp.store(true, ordering: .relaxed)
    }
  }

  /// What `look` finds when the upload is halfway, or over. The upload goes on after it.
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

  /// The upload is halfway, or over.
  func pass() { reached.continuation.finish() }
}

/// Runs a task on a thread of its own, so that an uploader that is held up halfway holds up nobody else: an
/// uploader that reads on the cooperative pool would take one of its few threads with it.
final class OwnThread: TaskExecutor {
  private let queue = DispatchQueue(label: "reel.promise")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
