import FoundationEssentials

/// A key pair of a store, and what belongs to it.
public struct S3Credentials: Hashable, Sendable {
  /// The access key's id; no secret, but nobody's business either.
  public let keyID: String
  /// The secret access key.
  public let secret: Secret
  /// The session token of credentials that end.
  public let token: Secret?
  /// When they end; nil when they don't.
  public let expires: Date?

  /// Credentials.
  public init(keyID: String, secret: Secret, token: Secret? = nil, expires: Date? = nil) {
    self.keyID = keyID
    self.secret = secret
    self.token = token
    self.expires = expires
  }
}
