import Crypto

/// tus' `Upload-Checksum`: the checksum of the bytes of one request (tus 1.0, checksum).
struct PartChecksum: Hashable, Sendable {
  enum Algorithm: String, Sendable, CaseIterable {
    case sha256, sha512, sha1, md5
  }
  let algorithm: Algorithm
  let digest: [UInt8]

  /// The value of `Tus-Checksum-Algorithm`.
  static var algorithms: String { Algorithm.allCases.map(\.rawValue).joined(separator: ",") }

  /// - Throws: a 400 for another algorithm, or for an invalid digest.
  init(parsing header: String) throws(Problem) {
    let parts = header.split(separator: " ")
    guard parts.count == 2, let algorithm = Algorithm(rawValue: String(parts[0])) else {
      throw .badRequest("Upload-Checksum must be one of \(Self.algorithms), and the digest in base64")
    }
    guard let digest = Base64.decode(parts[1]), digest.count == algorithm.length else {
      throw .badRequest("Upload-Checksum has no digest of \(algorithm.rawValue) in base64")
    }
    (self.algorithm, self.digest) = (algorithm, digest)
  }
}

extension PartChecksum.Algorithm {
  /// The number of bytes of a digest.
  var length: Int {
    switch self {
    case .sha256: SHA256.byteCount
    case .sha512: SHA512.byteCount
    case .sha1: Insecure.SHA1.byteCount
    case .md5: Insecure.MD5.byteCount
    }
  }

  func hasher() -> any HashFunction {
    switch self {
    case .sha256: SHA256()
    case .sha512: SHA512()
    case .sha1: Insecure.SHA1()
    case .md5: Insecure.MD5()
    }
  }
}

extension HashFunction {
  /// The digest of the bytes so far.
  func digestBytes() -> [UInt8] { Array(finalize()) }
}
