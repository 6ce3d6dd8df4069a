import ReelCore
import ReelCrypto

extension ContentDigest {
  /// The SHA-256 of these bytes.
  public init(of bytes: some Sequence<UInt8>) {
    self.init(digest: SHA256.hash(data: bytes))
  }
}
