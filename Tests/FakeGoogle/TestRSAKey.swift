import COpenSSL

/// An RSA key generated for a test, which verifies signatures without Reel's own code.
package struct TestRSAKey: Sendable {
  package struct Failed: Error {}

  /// In PKCS#8.
  package let pem: String

  package init(bits: Int32) throws {
    let making = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
    defer { EVP_PKEY_CTX_free(making) }
    var key: OpaquePointer?
    defer { EVP_PKEY_free(key) }
    let output = BIO_new(BIO_s_mem())
    defer { BIO_free(output) }
    guard EVP_PKEY_keygen_init(making) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(making, bits) == 1,
      EVP_PKEY_generate(making, &key) == 1,
      PEM_write_bio_PKCS8PrivateKey(output, key, nil, nil, 0, nil, nil) == 1
    else { throw Failed() }
    var text = [UInt8](repeating: 0, count: 8192)
    text.removeLast(text.count - Int(BIO_read(output, &text, Int32(text.count))))
    pem = String(decoding: text, as: UTF8.self)
  }

  /// Whether it is a valid RS256 signature.
  package func isSignature(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
    let input = BIO_new(BIO_s_mem())
    defer { BIO_free(input) }
    let text = Array(pem.utf8)
    BIO_write(input, text, Int32(text.count))
    let key = PEM_read_bio_PrivateKey(input, nil, nil, nil)
    defer { EVP_PKEY_free(key) }
    let checking = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(checking) }
    defer { ERR_clear_error() }
    return EVP_DigestVerifyInit(checking, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(checking, signature, signature.count, bytes, bytes.count) == 1
  }
}
