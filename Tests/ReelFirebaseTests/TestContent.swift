import ReelCore
import ReelCrypto
import ReelTestSupport

/// In-memory bytes that a test can mark as changed, and whose declared digest may be wrong.
struct TestContent: ByteSource, Equatable {
  let bytes: [UInt8]
  let digest: ContentDigest
  var hasChanged = false
  var descriptor: Int32? { nil }
  var isPrivate: Bool { false }

  init(_ size: Int, seed: UInt8 = 1) {
    var draws = SplitMix64(seed: UInt64(seed))
    self.init(draws.bytes(size))
  }

  /// Makes content from `bytes`.
  ///
  /// - Parameter digest: The digest to declare; nil for the true one.
  init(_ bytes: [UInt8], claiming digest: ContentDigest? = nil) {
    self.bytes = bytes
    guard let actual = ContentDigest(sha256: SHA256.hash(data: bytes)) else {
      preconditionFailure("no SHA-256")
    }
    self.digest = digest ?? actual
  }

  var source: UploadSource {
    UploadSource(size: Int64(bytes.count), digest: digest, contentType: "video/mp4", bytes: self)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    let part = bytes.dropFirst(Int(offset)).prefix(buffer.count)
    buffer.copyBytes(from: part)
    return part.count
  }

  func checkUnchanged() throws(SourceError) {
    if hasChanged { throw SourceError(.sourceChanged, "the file changed (a test)") }
  }
}
