import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto

/// A source of the access token that every request carries.
public protocol TokenSource: Sendable {
  /// Returns a token that is valid for the next minutes.
  /// - Throws: `storeUnusable` if none can be obtained, `unavailable` if that may be temporary.
  func token() async throws(UploadError) -> Secret

  /// Forgets `token`, which a store said is no longer valid. The next call gets another.
  func forget(_ token: Secret) async
}

/// The token that emulators accept as the owner's; it gives access to nothing else.
public struct EmulatorToken: TokenSource {
  /// Creates the source of the token `owner`.
  public init() {}

  /// Returns the token `owner`.
  public func token() async throws(UploadError) -> Secret { Secret("owner") }

  /// Does nothing, as there is no other token.
  public func forget(_ token: Secret) async {}
}

/// Access tokens for a service account (RFC 7523;
/// https://developers.google.com/identity/protocols/oauth2/service-account): fetched when the first is needed, kept in
/// memory, and renewed before they expire.
public actor ServiceAccountTokens: TokenSource {
  /// Signs an assertion that is issued at the given time and valid for ``lifetime``.
  typealias Sign = @Sendable (Date) async throws(UploadError) -> Secret

  private let held: RenewedSecret<Secret>

  /// The number of seconds for which an assertion is valid: the longest that Google accepts.
  static let lifetime = 3600

  init(_ key: ServiceAccountKey, transport: any HTTPTransport, clock: any WallClock, sign: @escaping Sign) {
    let request = TokenRequest(
      email: key.email, path: key.path, address: key.tokenAddress, transport: transport, clock: clock,
      sign: sign)
    held = RenewedSecret(clock: clock) { () async throws(UploadError) in try await request.fetch() }
  }

  /// Returns the remembered token, or a fresh one. Callers that ask at the same time share one request.
  public func token() async throws(UploadError) -> Secret { try await held.current() }

  /// Forgets `token` if it is the remembered one.
  public func forget(_ token: Secret) async { await held.forget { $0 == token } }
}

/// Requests a token.
private struct TokenRequest: Sendable {
  let email: String
  let path: String
  let address: WebAddress
  let transport: any HTTPTransport
  let clock: any WallClock
  let sign: ServiceAccountTokens.Sign

  func fetch() async throws(UploadError) -> RenewedSecret<Secret>.Held {
    let now = clock.now()
    let assertion = try await sign(now)
    var call = HTTPCall(.post, address.origin, address.target)
    call.fields[.contentType] = "application/x-www-form-urlencoded"
    call.body = .bytes(
      Array(
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion.revealed)"
          .utf8))
    call.patience = .seconds(30)
    let reply = try await rethrowing(
      as: { UploadError($0, store: address.origin) }
    ) { () async throws(HTTPFailure) in try await transport.send(call) }
    guard reply.isSuccess else { throw refusal(reply, now) }
    guard let granted = try? JSONDecoder().decode(Granted.self, from: Data(reply.body)),
      !granted.access_token.isEmpty, granted.access_token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw UploadError(
        .storeUnusable,
        "\(address.origin) answered without a token: see the token_uri in the service account key \(path)")
    }
    let seconds = Double(max(0, granted.expires_in ?? ServiceAccountTokens.lifetime))
    return RenewedSecret.Held(
      value: Secret(granted.access_token), ends: now.addingTimeInterval(seconds),
      margin: min(300, seconds / 2))
  }

  private struct Granted: Decodable {
    let access_token: String
    let expires_in: Int?
  }

  /// RFC 6749, 5.2.
  private struct Refusal: Decodable {
    let error: String
    let error_description: String?
  }

  private func refusal(_ reply: HTTPReply, _ now: Date) -> UploadError {
    guard reply.status.kind == .clientError, reply.status.code != 429, reply.status.code != 408,
      let said = try? JSONDecoder().decode(Refusal.self, from: Data(reply.body))
    else {
      return reply.failure(store: address.origin, task: "give out a token for \(email)", now: now)
    }
    let words = HTTPReply.oneLine([said.error, said.error_description ?? ""].joined(separator: " "))
    return UploadError(
      .storeUnusable,
      "Google gives no token for the service account \(email) (\(words)): "
        + (clockIsOff(reply, now) ?? "see whether the key \(path) was deleted or the account disabled"))
  }

  /// Returns a hint if the clock is wrong: Google accepts an assertion only near the time it was issued.
  private func clockIsOff(_ reply: HTTPReply, _ now: Date) -> String? {
    guard let date = reply.date else { return nil }
    let seconds = Int(date.timeIntervalSince(now))
    guard abs(seconds) > 240 else { return nil }
    return "this machine's clock is \(abs(seconds)) seconds \(seconds > 0 ? "behind" : "ahead"): set it right"
  }
}

extension ServiceAccountTokens: CustomReflectable {
  /// No children, for `dump`: the transport would reveal what is sent.
  public nonisolated var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ServiceAccountTokens {
  /// The scope requested: to write, read, list and remove objects, and Firestore's documents.
  static let scope =
    "https://www.googleapis.com/auth/devstorage.read_write https://www.googleapis.com/auth/datastore"

  /// Creates a source of tokens for the account of `key`. Sends nothing yet.
  /// - Throws: `storeUnusable` if it does not contain an RSA key of at least 2048 bits.
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
      key.email, "\(key.tokenAddress.origin)\(key.tokenAddress.target)", key.path
    )
    self.init(key, transport: transport, clock: clock) { moment throws(UploadError) in
      let statement = Statement(about: email, to: audience, at: moment)
      return try rethrowing(as: { _ in UploadError.badKey(path, "can't sign: download it again") }) {
        let signed =
          try Base64.url(JSONEncoder().encode(header)) + "."
          + Base64.url(JSONEncoder().encode(statement))
        return Secret(signed + "." + Base64.url(try rsa.signature(for: Array(signed.utf8))))
      }
    }
  }
}

/// The header of the assertion (RFC 7515, 4.1).
private struct JWTHeader: Encodable, Sendable {
  var alg = "RS256"
  var typ = "JWT"
  let kid: String?

  init(kid: String?) { self.kid = kid }
}

/// The claims that are signed (RFC 7523, 3).
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
