import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto

/// Where the access token comes from that every request carries.
public protocol TokenSource: Sendable {
  /// A token that is good for the next minutes.
  /// - Throws: `storeUnusable` when none is to be had, `unavailable` when that may pass.
  func token() async throws(UploadError) -> Secret

  /// A store said that `token` is no longer good: the next call gets another.
  func forget(_ token: Secret) async
}

/// The token that the emulators take as the owner's; it opens nothing else.
public struct EmulatorToken: TokenSource {
  /// `owner`.
  public init() {}

  /// As the emulators have it.
  public func token() async throws(UploadError) -> Secret { Secret("owner") }

  /// There is no other.
  public func forget(_ token: Secret) async {}
}

/// Access tokens for a service account (RFC 7523; https://developers.google.com/identity/protocols/oauth2/service-account):
/// fetched when the first is needed, kept in memory, renewed before the end.
public actor ServiceAccountTokens: TokenSource {
  /// Signs a statement that was made at this moment, for so many seconds.
  typealias Sign = @Sendable (Date) async throws(UploadError) -> Secret

  private struct Held: Sendable {
    let token: Secret
    /// When another is asked for.
    var until: Date
    let ends: Date
  }

  private let email: String
  private let path: String
  private let address: WebAddress
  private let transport: any HTTPTransport
  private let clock: any WallClock
  private let sign: Sign
  private var held: Held?
  private var fetching: Task<Result<Held, UploadError>, Never>?

  /// Seconds that a signed statement is good for: the longest that Google takes.
  static let lifetime = 3600

  /// Seconds before its end in which a token is renewed.
  private static let margin = 300.0
  /// With fewer seconds left it is not used any more: a request takes its time.
  private static let least = 30.0
  /// Seconds between two renewals that fail.
  private static let pause = 10.0

  init(_ key: ServiceAccountKey, transport: any HTTPTransport, clock: any WallClock, sign: @escaping Sign) {
    (email, path, address) = (key.email, key.path, key.tokenAddress)
    self.transport = transport
    self.clock = clock
    self.sign = sign
  }

  /// The one that is held, or a fresh one. Those who ask at once share it.
  public func token() async throws(UploadError) -> Secret {
    if let held, held.until > clock.now() { return held.token }
    let task = fetching ?? Task { await outcome() }
    fetching = task
    let result = await task.value
    if fetching == task {
      fetching = nil
      settle(result)
    }
    if let held, held.until > clock.now() { return held.token }
    return try result.get().token
  }

  /// A renewal that fails is no reason to throw away what is still good.
  private func settle(_ result: Result<Held, UploadError>) {
    if let fresh = try? result.get() {
      held = fresh
    } else if let ends = held?.ends {
      let now = clock.now()
      held?.until = min(now.addingTimeInterval(Self.pause), ends.addingTimeInterval(-Self.least))
    }
  }

  /// Forgets `token` if it is the one that is held.
  public func forget(_ token: Secret) async {
    if held?.token == token { held = nil }
  }

  private func outcome() async -> Result<Held, UploadError> {
    do throws(UploadError) {
      return .success(try await fetch())
    } catch {
      return .failure(error)
    }
  }

  private func fetch() async throws(UploadError) -> Held {
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
    let seconds = Double(max(0, granted.expires_in ?? Self.lifetime))
    return Held(
      token: Secret(granted.access_token),
      until: now.addingTimeInterval(max(seconds - Self.margin, seconds / 2)),
      ends: now.addingTimeInterval(seconds))
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

  /// Google takes a statement only about now.
  private func clockIsOff(_ reply: HTTPReply, _ now: Date) -> String? {
    guard let date = reply.date else { return nil }
    let seconds = Int(date.timeIntervalSince(now))
    guard abs(seconds) > 240 else { return nil }
    return "this machine's clock is \(abs(seconds)) seconds \(seconds > 0 ? "behind" : "ahead"): set it right"
  }
}

extension ServiceAccountTokens: CustomReflectable {
  /// Nothing inside, for `dump`: the transport shows what is on the wire.
  public nonisolated var customMirror: Mirror { Mirror(self, children: [:]) }
}

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
