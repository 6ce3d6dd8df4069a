import FoundationEssentials
import ReelCore
import ReelCrypto

extension ServiceAccountTokens {
  /// What is asked for: objects to be written, read, listed and removed, and Firestore's documents.
  static let scope =
    "https://www.googleapis.com/auth/devstorage.read_write https://www.googleapis.com/auth/datastore"

  /// Tokens for the account that `key` is of. Asks nothing yet.
  /// - Throws: `storeUnusable` when the key in it is not an RSA key of at least 2048 bits.
  public init(
    _ key: ServiceAccountKey, transport: any HTTPTransport, clock: any WallClock = SystemWallClock()
  ) async throws(UploadError) {
    let rsa: RSASigningKey
    do throws(RSAKeyError) {
      rsa = try RSASigningKey(pem: key.privateKey.revealed)
    } catch {
      throw .badKey(
        key.path,
        "holds no RSA key of at least 2048 bits in its private_key (\(HTTPReply.oneLine(error.reason))): "
          + "download it again")
    }
    let header = JWTHeader(kid: key.keyID)
    let (email, audience, path) = (
      key.email, "\(key.tokenAddress.origin)\(key.tokenAddress.path)", key.path
    )
    self.init(key, transport: transport, clock: clock) { moment throws(UploadError) in
      let statement = Statement(about: email, to: audience, at: moment)
      do {
        let signed =
          try Base64.url(JSONEncoder().encode(header)) + "."
          + Base64.url(JSONEncoder().encode(statement))
        return Secret(signed + "." + Base64.url(try rsa.signature(for: Array(signed.utf8))))
      } catch {
        throw .badKey(path, "can't sign: download it again")
      }
    }
  }
}

/// RFC 7515, 4.1.
private struct JWTHeader: Encodable, Sendable {
  var alg = "RS256"
  var typ = "JWT"
  let kid: String?

  init(kid: String?) { self.kid = kid }
}

/// What is signed (RFC 7523, 3).
private struct Statement: Encodable {
  let iss: String
  let scope: String
  let aud: String
  let iat: Int
  let exp: Int

  init(about email: String, to audience: String, at moment: Date) {
    iss = email
    scope = ServiceAccountTokens.scope
    aud = audience
    iat = Int(moment.timeIntervalSince1970)
    exp = iat + ServiceAccountTokens.lifetime
  }
}
