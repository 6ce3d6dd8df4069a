import ReelCore

/// What a post's `videoURL` is: the address by which a viewer opens an object.
public enum S3Viewing: Hashable, Sendable {
  /// The store's own address: for buckets that everybody may read.
  case address
  /// An address of one's own (a content delivery network, say), with the object's name behind it.
  case publicBase(String)
  /// The store's own address with a signature: whoever has it may read the object for so many seconds, 1 ... 604800.
  case presigned(seconds: Int)

  /// The longest that a signature counts: seven days (AWS, "Authenticating Requests: Using Query Parameters").
  public static let longestPresigned = 604_800
}
