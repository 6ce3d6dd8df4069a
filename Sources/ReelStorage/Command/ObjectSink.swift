import Glibc
import ReelCore
import ReelCrypto

/// Takes the bytes of an object that an adapter reads back, and hashes them: we believe the bytes, not a digest
/// that the adapter claims.
final class ObjectSink {
  let descriptor: Descriptor
  private(set) var isOpen = true
  private(set) var count: Int64 = 0
  private var hash = SHA256()

  init(reading descriptor: Descriptor) {
    self.descriptor = descriptor
  }

  /// Takes what is there; false at the end.
  func take() -> Bool {
    let chunk = AdapterConversation.read(descriptor, 256 << 10)
    isOpen = !chunk.isEmpty
    count += Int64(chunk.count)
    hash.update(data: chunk)
    return isOpen
  }

  /// Of all bytes so far.
  var digest: ContentDigest? { ContentDigest(sha256: hash.finalize()) }
}
