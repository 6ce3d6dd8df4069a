import FoundationEssentials
import ReelCrypto

/// An algorithm of tus's checksum extension, the best one first. Every server with the extension has `sha1`.
///
/// They guard against damage on the way; that the bytes are the right ones is held against their SHA-256 here.
enum TusChecksum: String, CaseIterable, Sendable {
  case sha256, sha512, sha1, md5

  /// The value of Upload-Checksum for these bytes.
  func field(of bytes: [UInt8]) -> String {
    rawValue + " " + digest(of: bytes).base64EncodedString()
  }

  private func digest(of bytes: [UInt8]) -> Data {
    switch self {
    case .sha256: Data(SHA256.hash(data: bytes))
    case .sha512: Data(SHA512.hash(data: bytes))
    case .sha1: Data(Insecure.SHA1.hash(data: bytes))
    case .md5: Data(Insecure.MD5.hash(data: bytes))
    }
  }
}
