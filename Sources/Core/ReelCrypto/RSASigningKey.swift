import COpenSSL

/// A private RSA key that signs with `RS256` (RFC 7518, 3.3): PKCS#1 v1.5 over SHA-256.
package struct RSASigningKey: Sendable {
  /// The minimum key size in bits, as RFC 7518 requires.
  package static let minimumBits = 2048

  /// A PrivateKeyInfo (RFC 5208, 5) in DER.
  private let der: [UInt8]

  /// Reads the first PEM block in `pem`, and signs once to test the key.
  package init(pem: String) throws(RSAKeyError) {
    der = try Self.der(inPEM: pem)
    _ = try signature(for: [])
  }

  /// Signs the SHA-256 of `bytes`. Blocks for about a millisecond.
  package func signature(for bytes: [UInt8]) throws(RSAKeyError) -> [UInt8] {
    // An error left in the queue would be mistaken for one of the next use of OpenSSL on this thread.
    defer { ERR_clear_error() }
    let key = try parsedKey()
    defer { EVP_PKEY_free(key) }
    guard let signature = Self.sign(bytes, key), Self.isSignature(signature, of: bytes, key) else {
      throw .damaged
    }
    return signature
  }

  private static func der(inPEM pem: String) throws(RSAKeyError) -> [UInt8] {
    defer { ERR_clear_error() }
    let text = Array(pem.utf8)
    let input = BIO_new(BIO_s_secmem())
    defer { BIO_free(input) }
    BIO_write(input, text, Int32(clamping: text.count))
    var (label, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
    var data: UnsafeMutablePointer<UInt8>?
    var count = 0
    guard PEM_read_bio(input, &label, &header, &data, &count) == 1, let label, let data else { throw .notPEM }
    defer {
      reel_openssl_free(label, 0)
      reel_openssl_free(header, 0)
      reel_openssl_free(data, count)
    }
    switch String(cString: label) {
    case "PRIVATE KEY": return Array(UnsafeBufferPointer(start: data, count: count))
    case "ENCRYPTED PRIVATE KEY": throw .encrypted
    case "RSA PRIVATE KEY": throw .pkcs1
    case let other: throw .other(other)
    }
  }

  private func parsedKey() throws(RSAKeyError) -> OpaquePointer {
    let info = der.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return d2i_PKCS8_PRIV_KEY_INFO(nil, &start, buffer.count)
    }
    defer { PKCS8_PRIV_KEY_INFO_free(info) }
    guard let info, let key = EVP_PKCS82PKEY(info) else { throw .damaged }
    var problem: RSAKeyError?
    if EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA {
      problem = .notRSA
    } else if EVP_PKEY_get_bits(key) < Self.minimumBits {
      problem = .tooShort(bits: Int(EVP_PKEY_get_bits(key)))
    }
    guard let problem else { return key }
    EVP_PKEY_free(key)
    throw problem
  }

  private static func sign(_ bytes: [UInt8], _ key: OpaquePointer) -> [UInt8]? {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var count = Int(EVP_PKEY_get_size(key))
    var signature = [UInt8](repeating: 0, count: count)
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1
    else { return nil }
    return Array(signature.prefix(count))
  }

  /// Verifies a signature, because a key whose numbers do not belong together signs anyway; checking all of the
  /// numbers takes 50 times as long.
  private static func isSignature(_ signature: [UInt8], of bytes: [UInt8], _ key: OpaquePointer) -> Bool {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}

extension RSASigningKey: CustomReflectable {
  /// Shows nothing to `dump`.
  package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a text is not a signing key. Quotes nothing from it except the label of a PEM block.
package enum RSAKeyError: Error, Hashable {
  case notPEM
  case pkcs1
  case encrypted
  /// A PEM block with this label.
  case other(String)
  case notRSA
  case tooShort(bits: Int)
  case damaged

  /// A clause without a full stop.
  package var reason: String {
    switch self {
    case .notPEM: "it is not PEM"
    case .pkcs1: "it is PKCS#1, not PKCS#8"
    case .encrypted: "it is encrypted"
    case .other(let label): "it is labelled \(label.prefix(40)), not PRIVATE KEY"
    case .notRSA: "it is a key of another algorithm"
    case .tooShort(let bits): "it has \(bits) bits"
    case .damaged: "it is damaged"
    }
  }
}
