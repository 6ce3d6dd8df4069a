/// An object as the store holds it.
public struct StoredObject: Hashable, Sendable, Codable {
  /// The name that it is stored under.
  public let key: ObjectKey
  /// An address that a viewer can open.
  public let url: String
  /// Bytes.
  public let size: Int64
  /// The digest that the store, or the copy into it, has proved; nil when nothing proves it.
  public let digest: ContentDigest?
  /// The digest of the bytes that this very upload handed over, each acknowledged by a store that proves no digest: what
  /// was sent, not what is stored. Nil for what was found, and where ``digest`` says more.
  public let clientDigest: ContentDigest?

  /// An object as the store tells it.
  public init(
    key: ObjectKey, url: String, size: Int64, digest: ContentDigest?, clientDigest: ContentDigest? = nil
  ) {
    self.key = key
    self.url = url
    self.size = size
    self.digest = digest
    self.clientDigest = clientDigest
  }
}
