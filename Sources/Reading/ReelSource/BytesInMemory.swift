import ReelCore
import ReelCrypto

/// Bytes that are held in memory.
private struct HeldBytes: ByteSource {
  let bytes: [UInt8]

  var descriptor: Int32? { nil }
  var isPrivate: Bool { true }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    guard let start = Int(exactly: offset), start < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - start)
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
    }
    return count
  }

  func checkUnchanged() throws(SourceError) {}
}

extension UploadSource {
  /// A source of `bytes`, which are kept in memory.
  package init(_ bytes: [UInt8], contentType: String) {
    self.init(
      size: Int64(bytes.count), digest: ContentDigest(digest: SHA256.hash(data: bytes)),
      contentType: contentType, bytes: HeldBytes(bytes: bytes))
  }
}
