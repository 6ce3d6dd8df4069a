import ReelCore

/// A bucket, as `--to` names it: `s3://bucket/prefix`, or with the store's own address `s3+https://host/bucket/prefix`
/// (and `s3+http://…`), which identifies a store that is not Amazon's.
public struct S3Address: Hashable, Sendable {
  /// The bucket's name, which is not validated.
  public let bucket: String
  /// The prefix of each object's name; empty if there is none.
  public let prefix: String
  /// `https://host:port`; nil if the address does not state it.
  public let endpoint: String?

  /// Creates an address from its parts.
  public init(bucket: String, prefix: String, endpoint: String?) {
    (self.bucket, self.prefix, self.endpoint) = (bucket, prefix, endpoint)
  }

  /// - Parameter scheme: the scheme of `text`, in lower case, which `://` follows.
  init(parsing text: String, scheme: String) throws(DestinationAddressError) {
    let rest = text.dropFirst(scheme.count)
    // A password would end up in the catalog, as part of the destination's name.
    guard !rest.contains("@") else {
      throw .notABucket(
        "it contains an @, as if it began with a key or a password: those belong in the environment or in a file"
      )
    }
    guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw .notABucket("it contains a ? or a #: settings are given by options, such as \(setting: .region)")
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
  /// Does not repeat the address, which may hold a password.
  static func notABucket(_ reason: ErrorMessage) -> DestinationAddressError {
    DestinationAddressError(.notABucket, "the destination is not a bucket's address: \(reason)")
  }
}

/// A bucket of Cloud Storage for Firebase, as `--to` names it: `firebase://bucket/prefix`, or with an emulator's
/// address `firebase+http://host:port/bucket/prefix`, which identifies a store that is not Google's.
public struct FirebaseAddress: Hashable, Sendable {
  /// The bucket's name, which is not validated.
  public let bucket: String
  /// The prefix of each object's name; empty if there is none.
  public let prefix: String
  /// An emulator's `http://host:port`; nil if the address does not state one.
  public let emulator: String?

  /// Creates an address from its parts.
  public init(bucket: String, prefix: String, emulator: String?) {
    (self.bucket, self.prefix, self.emulator) = (bucket, prefix, emulator)
  }

  /// - Parameter scheme: the scheme of `text`, in lower case, which `://` follows.
  init(parsing text: String, scheme: String) throws(DestinationAddressError) {
    let rest = text.dropFirst(scheme.count)
    guard !rest.contains("@") else {
      throw .notABucket(
        "it contains an @, as if it began with a key or a password: \(setting: .serviceAccount) names a file")
    }
    guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw .notABucket("it contains a ? or a #: settings are given by options, such as \(setting: .project)")
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

/// The addresses at which viewers find a store's objects.
public struct ObjectAddresses: Sendable {
  /// With or without a slash at its end.
  let base: String

  /// - Parameter base: what stands before an object's name, with or without a slash at its end.
  public init(base: String) { self.base = base }

  /// Returns why viewers can't be given addresses that begin with `base`, as the end of a sentence; nil if they can.
  ///
  /// Only http and https are accepted: a viewer's program may run what follows another scheme (`javascript:`, `data:`),
  /// and a folder's own addresses (`file:`) are used only if there is no base.
  package static func problem(ofBase base: String) -> String? {
    let scheme = ["https://", "http://"].first { base.lowercased().hasPrefix($0) }
    guard let scheme else {
      return "must be an absolute http or https address, such as https://media.example/v/"
    }
    let authority = base.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    guard !authority.isEmpty, authority.first != ":" else {
      return "must name a host, as in https://media.example/v/"
    }
    guard !authority.contains("@") else {
      return "must hold no user and no password: every viewer would get them"
    }
    let isPlain = base.unicodeScalars.allSatisfy { scalar in
      scalar.value > 0x20 && !(0x7F...0xA0).contains(scalar.value)
        && !"\"<>\\^`|".unicodeScalars.contains(scalar)
    }
    return isPlain ? nil : "must hold no blanks, quotes or control characters; write them percent-encoded"
  }

  /// Returns the base and the name. A key needs no percent-encoding, as it holds unreserved characters only.
  public func url(of key: ObjectKey) -> String {
    base.hasSuffix("/") ? base + key.rawValue : base + "/" + key.rawValue
  }
}
