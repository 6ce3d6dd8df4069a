import COpenSSL

/// A digest of bytes that come in pieces. A copy goes on by itself.
///
/// OpenSSL marks the functions below as deprecated since 3.0 in favour of `EVP_Digest…`, and 4.x still has them. They
/// are used because their state is a plain value, they can't fail, and need no provider: loading those takes 0.8 ms.
package protocol HashFunction: RunningHash {
  /// Bytes that are hashed at once.
  static var blockSize: Int { get }

  init()

  /// The digest of all bytes until now. More may follow.
  func finalize() -> [UInt8]
}

/// A digest, or what is as good as one to whoever makes both.
package protocol RunningHash: Sendable {
  mutating func update(bufferPointer: UnsafeRawBufferPointer)

  /// Of all bytes until now.
  func finalize() -> [UInt8]
}

extension RunningHash {
  package mutating func update(data: some Sequence<UInt8>) {
    let done: Void? = data.withContiguousStorageIfAvailable {
      update(bufferPointer: UnsafeRawBufferPointer($0))
    }
    if done == nil { Array(data).withUnsafeBytes { update(bufferPointer: $0) } }
  }
}

extension HashFunction {
  /// The digest of these bytes.
  package static func hash(data: some Sequence<UInt8>) -> [UInt8] {
    var hash = Self()
    hash.update(data: data)
    return hash.finalize()
  }
}

/// SHA-256 (FIPS 180-4).
package struct SHA256: HashFunction {
  package static let blockSize = Int(SHA256_CBLOCK)
  private var context = SHA256_CTX()

  package init() { SHA256_Init(&context) }

  package mutating func update(bufferPointer: UnsafeRawBufferPointer) {
    SHA256_Update(&context, bufferPointer.baseAddress, bufferPointer.count)
  }

  package func finalize() -> [UInt8] {
    var context = context
    return digest(Int(SHA256_DIGEST_LENGTH)) { SHA256_Final($0, &context) }
  }
}

/// SHA-512 (FIPS 180-4).
package struct SHA512: HashFunction {
  package static let blockSize = Int(SHA512_CBLOCK)
  private var context = SHA512_CTX()

  package init() { SHA512_Init(&context) }

  package mutating func update(bufferPointer: UnsafeRawBufferPointer) {
    SHA512_Update(&context, bufferPointer.baseAddress, bufferPointer.count)
  }

  package func finalize() -> [UInt8] {
    var context = context
    return digest(Int(SHA512_DIGEST_LENGTH)) { SHA512_Final($0, &context) }
  }
}

/// Against damage on the way; somebody who wants to can make two texts with the same digest.
package enum Insecure {
  /// SHA-1 (FIPS 180-4).
  package struct SHA1: HashFunction {
    package static let blockSize = Int(SHA_CBLOCK)
    private var context = SHA_CTX()

    package init() { SHA1_Init(&context) }

    package mutating func update(bufferPointer: UnsafeRawBufferPointer) {
      SHA1_Update(&context, bufferPointer.baseAddress, bufferPointer.count)
    }

    package func finalize() -> [UInt8] {
      var context = context
      return digest(Int(SHA_DIGEST_LENGTH)) { SHA1_Final($0, &context) }
    }
  }

  /// MD5 (RFC 1321).
  package struct MD5: HashFunction {
    package static let blockSize = Int(MD5_CBLOCK)
    private var context = MD5_CTX()

    package init() { MD5_Init(&context) }

    package mutating func update(bufferPointer: UnsafeRawBufferPointer) {
      MD5_Update(&context, bufferPointer.baseAddress, bufferPointer.count)
    }

    package func finalize() -> [UInt8] {
      var context = context
      return digest(Int(MD5_DIGEST_LENGTH)) { MD5_Final($0, &context) }
    }
  }
}

private func digest(_ length: Int, _ write: (UnsafeMutablePointer<UInt8>?) -> Int32) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
    _ = write(buffer.baseAddress)
    count = length
  }
}
