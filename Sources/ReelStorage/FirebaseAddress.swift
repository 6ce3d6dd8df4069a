/// A bucket of Cloud Storage for Firebase, as `--to` names it: `firebase://bucket/prefix`, or with an emulator's
/// address `firebase+http://host:port/bucket/prefix`, which is how a store that is not Google's settles its name.
public struct FirebaseAddress: Hashable, Sendable {
  /// The bucket's name, not checked any further.
  public let bucket: String
  /// What stands before each object's name; empty when nothing does.
  public let prefix: String
  /// An emulator's `http://host:port`; nil where the address does not say.
  public let emulator: String?

  /// An address by its parts.
  public init(bucket: String, prefix: String, emulator: String?) {
    (self.bucket, self.prefix, self.emulator) = (bucket, prefix, emulator)
  }

  /// - Parameter scheme: that of `text`, in lower case.
  init(parsing text: String, scheme: String) throws(DestinationAddressError) {
    let rest = text.dropFirst(scheme.count)
    guard rest.hasPrefix("://") else { throw .notABucket("it is written like firebase://bucket/prefix") }
    guard !rest.contains("@") else {
      throw .notABucket("it holds an @, as if a key or a password came first: --service-account names a file")
    }
    guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw .notABucket("it holds a ? or a #: settings are given by options, such as --project")
    }
    var parts = rest.dropFirst(3).split(separator: "/", omittingEmptySubsequences: false)
    if scheme == "firebase" {
      emulator = nil
    } else {
      let host = parts.removeFirst()
      guard !host.isEmpty else { throw .notABucket("it names no host: firebase+http://host:port/bucket") }
      emulator = "\(scheme.dropFirst("firebase+".count))://\(host)"
    }
    guard let bucket = parts.first, !bucket.isEmpty else {
      throw .notABucket("it names no bucket: firebase://my-app.appspot.com")
    }
    self.bucket = String(bucket)
    prefix = parts.dropFirst().filter { !$0.isEmpty }.joined(separator: "/")
  }
}
