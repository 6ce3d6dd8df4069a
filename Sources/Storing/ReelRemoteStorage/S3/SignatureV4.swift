import FoundationEssentials
import ReelCore
import ReelCrypto
import Synchronization

/// AWS Signature Version 4: proves with an HMAC that the sender of a request has the secret, and that the request was
/// not changed. (AWS, "Signature Version 4 for API requests"; for S3, whose paths are encoded once and not normalized,
/// "Authenticating Requests: Using the Authorization Header" and "… Using Query Parameters".)
struct SignatureV4: Sendable {
  /// Such as `eu-central-1`.
  let region: String
  var service = "s3"
  /// The signing keys derived so far.
  var keys = SigningKeys()

  /// The parts of a request that are signed.
  struct Request: Sendable {
    let method: String
    /// The path, percent-encoded; begins with a slash.
    let path: String
    /// Names and values, not percent-encoded.
    var query: [(String, String)] = []
    /// All fields to be signed, including Host; names in lower case.
    let fields: [String: String]
    /// The SHA-256 of the body in hexadecimal, or ``SignatureV4/unsignedPayload``.
    let payload: String
  }

  /// Whether a field of that name, in lower case, is signed: those that the signature requires (AWS, "Signature Version
  /// 4 for API requests": Host, Content-Type, `x-amz-…`), Content-MD5, and the condition that protects an object from
  /// being overwritten. Others may change on the way: Google's and Cloudflare's front ends rewrite Accept-Encoding,
  /// caches remove Range and If-Match (nginx). Whether those were heeded is visible in the reply.
  static func signs(_ name: String) -> Bool {
    ["host", "content-type", "content-md5", "if-none-match"].contains(name) || name.hasPrefix("x-amz-")
  }

  static let unsignedPayload = "UNSIGNED-PAYLOAD"
  private static let algorithm = "AWS4-HMAC-SHA256"

  /// Returns the value of the field Authorization.
  func authorization(_ request: Request, _ credentials: S3Credentials, at date: Date) -> Secret {
    let stamp = Self.stamp(date)
    let scope = scope(at: stamp)
    return Secret(
      "\(Self.algorithm) Credential=\(credentials.keyID)/\(scope),SignedHeaders=\(Self.signedNames(request)),"
        + "Signature=\(signature(request, credentials, at: stamp))")
  }

  /// Returns the query that lets anybody who has it send `request` for `seconds`: the request's own, followed by
  /// the signature's.
  func presignedQuery(
    _ request: Request, _ credentials: S3Credentials, at date: Date, seconds: Int
  ) -> String {
    var request = request
    let stamp = Self.stamp(date)
    request.query += [
      ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(credentials.keyID)/\(scope(at: stamp))"),
      ("X-Amz-Date", stamp), ("X-Amz-Expires", "\(seconds)"),
      ("X-Amz-SignedHeaders", Self.signedNames(request)),
    ]
    if let token = credentials.token { request.query.append(("X-Amz-Security-Token", token.revealed)) }
    let signature = signature(request, credentials, at: stamp)
    return Self.canonicalQuery(request.query) + "&X-Amz-Signature=" + signature
  }

  /// Returns the signature: 64 hexadecimal digits.
  func signature(_ request: Request, _ credentials: S3Credentials, at date: Date) -> String {
    signature(request, credentials, at: Self.stamp(date))
  }

  private func signature(_ request: Request, _ credentials: S3Credentials, at stamp: String) -> String {
    let canonical = Hexadecimal.text(SHA256.hash(data: Array(Self.canonical(request).utf8)))
    let scope = scope(at: stamp)
    let toSign = [Self.algorithm, stamp, scope, canonical].joined(separator: "\n")
    return Hexadecimal.text(Self.code(toSign, key: keys.key(for: scope, of: credentials.secret)))
  }

  static func canonical(_ request: Request) -> String {
    let fields = request.fields.sorted { $0.key < $1.key }.map { "\($0.key):\(trimmed($0.value))\n" }
    return [
      request.method, request.path, canonicalQuery(request.query), fields.joined(), signedNames(request),
      request.payload,
    ].joined(separator: "\n")
  }

  /// Returns the query percent-encoded, and sorted by encoded name, then by encoded value.
  static func canonicalQuery(_ query: [(String, String)]) -> String {
    let encoded: [(String, String)] = query.map { (PercentEncoding.all($0.0), PercentEncoding.all($0.1)) }
    let sorted = encoded.sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0 < $1.0 }
    return sorted.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  /// Formats a date as in `20130524T000000Z`.
  static func stamp(_ date: Date) -> String {
    date.formatted(
      Date.ISO8601FormatStyle(
        dateSeparator: .omitted, timeSeparator: .omitted, includingFractionalSeconds: false))
  }

  private func scope(at stamp: String) -> String { "\(stamp.prefix(8))/\(region)/\(service)/aws4_request" }

  fileprivate static func code(_ text: String, key: [UInt8]) -> [UInt8] {
    HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
  }

  private static func signedNames(_ request: Request) -> String {
    request.fields.keys.sorted().joined(separator: ";")
  }

  /// Returns the value without surrounding white space, and with single spaces within.
  private static func trimmed(_ value: String) -> String {
    value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
  }
}

/// The key for a day, a region and a service, which takes four HMACs. The last one derived is kept.
final class SigningKeys: Sendable {
  private struct Known {
    let scope: String
    let secret: Secret
    let key: [UInt8]
  }
  private let last = Mutex<Known?>(nil)

  /// - Parameter scope: such as `20130524/us-east-1/s3/aws4_request`.
  func key(for scope: String, of secret: Secret) -> [UInt8] {
    last.withLock { last in
      if let last, last.scope == scope, last.secret == secret { return last.key }
      let key = scope.split(separator: "/").reduce(Array(("AWS4" + secret.revealed).utf8)) { key, text in
        SignatureV4.code(String(text), key: key)
      }
      last = Known(scope: scope, secret: secret, key: key)
      return key
    }
  }
}
