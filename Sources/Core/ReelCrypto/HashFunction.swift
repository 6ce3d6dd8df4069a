import COpenSSL

/// A digest of bytes that arrive in pieces. A copy continues independently.
///
/// OpenSSL marks the functions below as deprecated since 3.0 in favor of `EVP_Digest…`, and 4.x still has them.
/// They are used because their state is a plain value, they cannot fail, and they need no provider: loading
/// providers takes 0.8 ms.
package protocol HashFunction: RunningHash {
  /// The block size of the hash function in bytes.
  static var blockSize: Int { get }

  init()

  /// The digest of all bytes so far. More may follow.
  func finalize() -> [UInt8]
}

/// A digest, or a checksum that serves as one for a party that computes both values itself.
package protocol RunningHash: Sendable {
  mutating func update(bufferPointer: UnsafeRawBufferPointer)

  /// The digest of all bytes so far.
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
  /// Returns the digest of these bytes.
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

/// Digests that detect accidental damage. Anybody can construct two texts with the same digest.
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
    var context = MD5_CTX()

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

/// A digest that only a holder of the key can compute (RFC 2104).
package enum HMAC<Hash: HashFunction> {
  package static func authenticationCode(for bytes: some Sequence<UInt8>, using key: [UInt8]) -> [UInt8] {
    var block = key.count > Hash.blockSize ? Hash.hash(data: key) : key
    block += [UInt8](repeating: 0, count: Hash.blockSize - block.count)
    var inner = Hash()
    inner.update(data: block.map { $0 ^ 0x36 })
    inner.update(data: bytes)
    var outer = Hash()
    outer.update(data: block.map { $0 ^ 0x5C })
    outer.update(data: inner.finalize())
    return outer.finalize()
  }
}

/// Detects whether bytes that are read twice are the same, in a quarter of the time of SHA-256: GMAC (NIST SP
/// 800-38D) under a key that is never disclosed. The tag is meaningless to anyone else.
package final class GMAC: RunningHash, @unchecked Sendable {
  /// The key for computing tags.
  package struct Key: Hashable, Sendable {
    fileprivate let halves: [UInt64]

    /// Draws a random key.
    package init() {
      var random = SystemRandomNumberGenerator()
      halves = [random.next(), random.next()]
    }
  }

  // Sendable: used by one thread after another, as the code that passes it on ensures.
  private let key: UnsafeMutablePointer<AES_KEY>
  private let state: OpaquePointer?

  /// Creates the state for no bytes. Every instance begins with the same nonce: tags under one key are only
  /// compared here, and never disclosed.
  package init(_ secret: Key) {
    let key = UnsafeMutablePointer<AES_KEY>.allocate(capacity: 1)
    secret.halves.withUnsafeBytes {
      _ = AES_set_encrypt_key($0.baseAddress?.assumingMemoryBound(to: UInt8.self), 128, key)
    }
    (self.key, state) = (key, reel_gcm_new(key))
    CRYPTO_gcm128_setiv(state, [UInt8](repeating: 0, count: 12), 12)
  }

  deinit {
    CRYPTO_gcm128_release(state)
    key.deallocate()
  }

  package func update(bufferPointer: UnsafeRawBufferPointer) {
    let bytes = bufferPointer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    CRYPTO_gcm128_aad(state, bytes, bufferPointer.count)
  }

  /// The tag of all bytes. No more may follow.
  package func finalize() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      CRYPTO_gcm128_tag(state, buffer.baseAddress, 16)
      count = 16
    }
  }
}
