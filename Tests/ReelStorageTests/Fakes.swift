import ReelCore
import ReelCrypto
import ReelTestSupport
import Synchronization
import Testing

extension UploadSource {
  /// Makes a source of `bytes`.
  static func of(_ bytes: [UInt8]) throws -> UploadSource {
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: bytes)))
    return UploadSource(
      size: Int64(bytes.count), digest: digest, contentType: "video/mp4", bytes: MemoryBytes(bytes: bytes))
  }

  /// Makes a source of `count` equal bytes.
  static func filled(_ count: Int, with byte: UInt8 = 7) throws -> UploadSource {
    try of([UInt8](repeating: byte, count: count))
  }
}

extension Uploader {
  /// Uploads without progress reports.
  @discardableResult
  func upload(_ source: UploadSource, to key: ObjectKey) async throws(UploadError) -> StoredObject {
    try await upload(source, to: key) { _ in }
  }
}

func key(_ name: String) throws -> ObjectKey { try #require(ObjectKey(name)) }

/// The code of the error that `body` throws; nil if it succeeds.
func uploadCode(_ body: () async throws -> some Any) async -> UploadError.Code? {
  do {
    _ = try await body()
    return nil
  } catch let error as UploadError {
    return error.code
  } catch {
    Issue.record("not an UploadError: \(error)")
    return nil
  }
}

/// A clock on which waiting takes no time, and which records the waits.
final class ImpatientClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }
  private let waits = Mutex<[Duration]>([])

  /// All waits, in order.
  var waited: [Duration] { waits.withLock { $0 } }
  var now: Instant { Instant(offset: waited.reduce(.zero, +)) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    let wait = now.duration(to: deadline)
    waits.withLock { $0.append(wait) }
  }
}
