import Foundation
import ReelCrypto

/// The tag that most buckets give to an object uploaded in one request: its MD5.
func entityTag(_ bytes: [UInt8]) -> String {
  "\"" + Insecure.MD5.hash(data: bytes).map { String(format: "%02x", $0) }.joined() + "\""
}
