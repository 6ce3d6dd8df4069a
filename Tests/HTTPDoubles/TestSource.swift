import Crypto
import ReelModel
import Synchronization

/// A source in memory.
public struct TestSource: ByteSource {
  public let bytes: [UInt8]
  public let digest: ContentDigest
  public var descriptor: Int32? { nil }
  public var changesShow: Bool { false }

  public init(size: Int, seed: UInt8 = 1, claiming digest: ContentDigest? = nil) {
    bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) ^ seed }
    guard let actual = ContentDigest(sha256: SHA256.hash(data: bytes)) else {
      preconditionFailure("no SHA-256")
    }
    self.digest = digest ?? actual
  }

  public var upload: UploadSource {
    UploadSource(size: Int64(bytes.count), digest: digest, contentType: "video/mp4", bytes: self)
  }

  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    guard offset < Int64(bytes.count) else { return 0 }
    let part = bytes[Int(offset)...].prefix(buffer.count)
    buffer.copyBytes(from: part)
    return part.count
  }

  public func checkUnchanged() throws(SourceError) {}
}

/// What was reported, in order.
public final class SentBytes: Sendable {
  public init() {}

  private let numbers = Mutex<[Int64]>([])
  public var all: [Int64] { numbers.withLock { $0 } }
  public func add(_ number: Int64) { numbers.withLock { $0.append(number) } }
}
