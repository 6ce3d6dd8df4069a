#if HTTP
  import FoundationEssentials
  import JWTKit
  import ReelHTTP
  import ReelModel

  extension ServiceAccountTokens {
    /// What is asked for: objects to be written, read, listed and removed, and Firestore's documents.
    static let scope =
      "https://www.googleapis.com/auth/devstorage.read_write https://www.googleapis.com/auth/datastore"

    /// Tokens for the account that `key` is of. Asks nothing yet.
    /// - Throws: `storeUnusable` when the key in it is no RSA key of at least 2048 bits.
    public init(
      _ key: ServiceAccountKey, transport: any HTTPTransport, clock: any WallClock = SystemWallClock()
    ) async throws(UploadError) {
      // What is thrown may quote the key.
      guard let rsa = try? Insecure.RSA.PrivateKey(pem: key.privateKey.revealed) else {
        throw .badKey(
          key.path, "holds no RSA key of at least 2048 bits in its private_key: download it again")
      }
      let kid = key.keyID.map { JWKIdentifier(string: $0) }
      let keys = await JWTKeyCollection().add(rsa: rsa, digestAlgorithm: .sha256, kid: kid)
      let (email, audience, path) = (
        key.email, "\(key.tokenAddress.origin)\(key.tokenAddress.path)", key.path
      )
      self.init(key, transport: transport, clock: clock) { moment throws(UploadError) in
        let statement = Statement(about: email, to: audience, at: moment)
        do {
          return Secret(try await keys.sign(statement, kid: kid, header: ["typ": "JWT"]))
        } catch {
          throw .badKey(path, "can't sign: download it again")
        }
      }
    }
  }

  /// What is signed (RFC 7523, 3).
  private struct Statement: JWTPayload {
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

    /// Only Google verifies it.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
  }
#endif
