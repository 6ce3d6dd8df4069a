/// A bucket, as `--to` names it: `s3://bucket/prefix`, or with the store's own address `s3+https://host/bucket/prefix`
/// (and `s3+http://…`), which is how a store that is not Amazon's settles its name.
public struct S3Address: Hashable, Sendable {
  /// The bucket's name, not checked any further.
  public let bucket: String
  /// What stands before each object's name; empty when nothing does.
  public let prefix: String
  /// `https://host:port`; nil where the address does not say.
  public let endpoint: String?

  /// An address by its parts.
  public init(bucket: String, prefix: String, endpoint: String?) {
    (self.bucket, self.prefix, self.endpoint) = (bucket, prefix, endpoint)
  }

  /// - Parameter scheme: that of `text`, in lower case.
  init(parsing text: String, scheme: String) throws(DestinationAddressError) {
    let rest = text.dropFirst(scheme.count)
    guard rest.hasPrefix("://") else { throw .notABucket("it is written like s3://bucket/prefix") }
    // A password would be written into the catalog, as part of the destination's name.
    guard !rest.contains("@") else {
      throw .notABucket(
        "it holds an @, as if a key or a password came first: those stand in the environment or in a file")
    }
    guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw .notABucket("it holds a ? or a #: settings are given by options, such as --region")
    }
    var parts = rest.dropFirst(3).split(separator: "/", omittingEmptySubsequences: false)
    if scheme == "s3" {
      endpoint = nil
    } else {
      let host = parts.removeFirst()
      guard !host.isEmpty else { throw .notABucket("it names no host: s3+https://host/bucket/prefix") }
      endpoint = "\(scheme.dropFirst(3))://\(host)"
    }
    guard let bucket = parts.first, !bucket.isEmpty else {
      throw .notABucket(
        "it names no bucket: \(scheme == "s3" ? "s3://bucket/prefix" : "s3+https://host/bucket/prefix")")
    }
    self.bucket = String(bucket)
    prefix = parts.dropFirst().filter { !$0.isEmpty }.joined(separator: "/")
  }
}

extension DestinationAddressError {
  /// The address itself is not repeated: it may hold a password.
  static func notABucket(_ reason: String) -> DestinationAddressError {
    DestinationAddressError(.notABucket, "the destination is not a bucket's address: \(reason)")
  }
}
