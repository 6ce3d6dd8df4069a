import Glibc
import ReelCore
import ReelCrypto
import Synchronization

/// Pseudorandom bytes, the same on every run and different for each seed.
struct TestContent: Sendable {
  let bytes: [UInt8]
  let digest: ContentDigest
  let sums: BlockSums

  var size: Int64 { Int64(bytes.count) }

  init(size: Int, seed: UInt64 = 1) throws {
    let bytes = Self.bytes(size, seed)
    var summing = BlockSumming()
    bytes.withUnsafeBytes { summing.update(bufferPointer: $0) }
    self.init(bytes: bytes, digest: try Self.digest(of: bytes), sums: summing.finalize())
  }

  private init(bytes: [UInt8], digest: ContentDigest, sums: BlockSums) {
    (self.bytes, self.digest, self.sums) = (bytes, digest, sums)
  }

  private func with(_ bytes: [UInt8]) -> TestContent {
    TestContent(bytes: bytes, digest: digest, sums: sums)
  }

  /// Different bytes with the same digest and sums: a file after it has changed.
  func changed() -> TestContent {
    var other = bytes
    if let last = other.indices.last { other[last] ^= 0xFF }
    return with(other)
  }

  /// The same digest, but only the first half of the bytes.
  func shrunk() -> TestContent {
    with(Array(bytes.prefix(bytes.count / 2)))
  }

  /// The same digest and bytes, followed by more.
  func grown() -> TestContent {
    with(bytes + [1, 2, 3])
  }

  private static func digest(of bytes: [UInt8]) throws -> ContentDigest {
    guard let digest = ContentDigest(sha256: SHA256.hash(data: bytes)) else {
      throw Difference(detail: "SHA-256 returned no digest")
    }
    return digest
  }

  private static func bytes(_ size: Int, _ seed: UInt64) -> [UInt8] {
    var generator = SplitMix64(state: seed)
    let block = (0..<4096).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size + block.count)
    while bytes.count < size {
      let start = bytes.count
      bytes.append(contentsOf: block)
      // Each block is stamped with its offset, so that blocks in the wrong order are noticed.
      withUnsafeBytes(of: UInt64(start).bigEndian) { stamp in
        for (index, byte) in stamp.enumerated() { bytes[start + index + 1] = byte }
      }
    }
    bytes.removeLast(bytes.count - size)
    return bytes
  }
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// A source that behaves well, or misbehaves in one way.
struct TestByteSource: SummedBytes {
  let bytes: [UInt8]
  /// The same bytes as a file, for uploaders that hand on a private copy.
  let file: NamelessFile?
  let isPrivate: Bool
  /// The digest and sums that it claims to have, as those of a private copy.
  let summedDigest: SummedDigest?
  /// Whether ``checkUnchanged()`` reports a change.
  let hasChanged: Bool
  /// The offset from which on reading fails.
  let failsAt: Int64?
  let midway: Midway?

  var descriptor: Int32? { file?.descriptor }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    if offset * 2 >= Int64(bytes.count) { midway?.reach() }
    if let failsAt, offset >= failsAt {
      throw SourceError(.unreadable, "the disk returned an error (a test)")
    }
    guard offset < Int64(bytes.count) else { return 0 }
    // A source that is watched yields small pieces, so that no reader skips its middle.
    let most = failsAt.map { Int($0 - offset) } ?? (midway == nil ? buffer.count : 1 << 16)
    let part = bytes[Int(offset)...].prefix(min(buffer.count, most))
    buffer.copyBytes(from: part)
    return part.count
  }

  func checkUnchanged() throws(SourceError) {
    if hasChanged { throw SourceError(.sourceChanged, "the file changed (a test)") }
  }
}

/// How a source behaves toward its reader.
enum Behaviour: Sendable {
  case honest
  /// Bytes that are not the digest's, as `checkUnchanged()` reports.
  case changedVisibly
  /// Bytes that are not the digest's, which only hashing shows.
  case changedSilently
  case shrunk
  case grown
  case failing
}

extension ContractTestContext {
  /// A source that claims to be `content`.
  func source(
    _ content: TestContent, _ behaviour: Behaviour = .honest, midway: Midway? = nil
  ) throws -> UploadSource {
    let actual =
      switch behaviour {
      case .honest, .failing: content
      case .changedVisibly, .changedSilently: content.changed()
      case .shrunk: content.shrunk()
      case .grown: content.grown()
      }
    let file = behaviour == .failing ? nil : try file(actual)
    let isPrivate = behaviour == .changedVisibly || (behaviour != .changedSilently && file != nil)
    let bytes = TestByteSource(
      bytes: actual.bytes, file: file, isPrivate: isPrivate,
      summedDigest: isPrivate ? SummedDigest(digest: content.digest, sums: content.sums) : nil,
      hasChanged: isPrivate && behaviour != .honest,
      failsAt: behaviour == .failing ? content.size / 2 : nil,
      midway: midway)
    return UploadSource(size: content.size, digest: content.digest, contentType: "video/mp4", bytes: bytes)
  }

  private func file(_ content: TestContent) throws -> NamelessFile? {
    guard case .files(let folder) = store.sources else { return nil }
    return try NamelessFile(content.bytes, in: folder)
  }
}

/// An unnamed file, which is deleted when its descriptor is closed.
final class NamelessFile: Sendable {
  let descriptor: Int32

  init(_ bytes: [UInt8], in folder: String) throws {
    var template = Array((folder + "/reel-promise-XXXXXX").utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Difference(detail: "could not create a file in \(folder)") }
    unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      guard count > 0 else { throw Difference(detail: "could not write a file in \(folder)") }
      written += count
    }
  }

  deinit {
    close(descriptor)
  }
}

/// Runs an action once when an upload is halfway, judging by what it reads or reports.
final class Midway: Sendable {
  private let action: Mutex<(@Sendable () -> Void)?>

  /// - Parameter action: called on the uploader's own thread, which it may block.
  init(_ action: @escaping @Sendable () -> Void) {
    self.action = Mutex(action)
  }

  func reach() {
    let action = action.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }

  func see(_ progress: TransferProgress) {
    if progress.sent > 0 && progress.sent < progress.total { reach() }
  }
}
