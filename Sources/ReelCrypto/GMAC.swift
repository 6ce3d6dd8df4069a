import COpenSSL

/// Tells whether bytes that are read twice are the same, in a quarter of the time that SHA-256 takes: GMAC (NIST SP
/// 800-38D) under a key that nobody is told. It says nothing to anybody else.
package final class GMAC: RunningHash, @unchecked Sendable {
  /// What tags are made with.
  package struct Key: Hashable, Sendable {
    fileprivate let halves: [UInt64]

    /// Drawn.
    package init() {
      var random = SystemRandomNumberGenerator()
      halves = [random.next(), random.next()]
    }
  }

  // Sendable: one thread after the other, as whoever hands it on sees to.
  private let key: UnsafeMutablePointer<AES_KEY>
  private let state: OpaquePointer?

  /// Of no bytes. Every one begins with the same nonce: tags of one key are only compared here, and told nobody.
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

  /// The tag of all bytes; nothing may follow.
  package func finalize() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      CRYPTO_gcm128_tag(state, buffer.baseAddress, 16)
      count = 16
    }
  }
}
