/// An object as the store holds it.
public struct StoredObject: Hashable, Sendable, Codable {
  /// The name under which it is stored.
  public let key: ObjectKey
  /// An address that a viewer can open.
  public let url: String
  /// The size in bytes.
  public let size: Int64
  /// The digest that the store, or the copy into it, has proved; nil if nothing proves it.
  public let digest: ContentDigest?
  /// The digest of the bytes sent by this very upload, each acknowledged by a store that proves no digest: it
  /// describes what was sent, not what is stored. Nil for an object that was found, and where ``digest`` says more.
  public let clientDigest: ContentDigest?

  /// Creates an object as the store describes it.
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
