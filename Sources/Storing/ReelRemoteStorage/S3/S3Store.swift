import ReelCore

/// A bucket, its location, and how its objects are addressed.
public struct S3Store: Hashable, Sendable {
  /// The bucket's name.
  public let bucket: String
  /// The prefix of every object's name; either empty, or ends with a slash.
  public let prefix: String
  /// The endpoint; nil for Amazon's own.
  public let endpoint: HTTPAddress?
  /// The bucket's region, as far as is known.
  public let region: String
  /// Whether URLs have the form `https://host/bucket/key` rather than `https://bucket.host/key`.
  public let usesPaths: Bool

  /// - Parameters:
  ///   - prefix: leading, trailing and repeated slashes are normalized.
  ///   - usesPaths: nil to choose: paths at an endpoint of one's own, whose name servers seldom know every bucket, and
  ///     for a bucket whose name can't be a label of a host name (a dot, which no certificate of Amazon's covers, or
  ///     Amazon's old upper case and underscores); otherwise host names.
  /// - Throws: ``S3StoreError`` if it can't be a bucket.
  public init(
    bucket: String, prefix: String = "", endpoint: HTTPAddress? = nil, region: String = "us-east-1",
    usesPaths: Bool? = nil
  ) throws(S3StoreError) {
    guard !bucket.hasPrefix("arn:") else {
      // An access point without a region spans several buckets.
      let advice = bucket.contains(":s3::") ? "name one of its buckets" : "use the access point's alias"
      throw S3StoreError("an ARN (\"\(bucket)\") is not supported: \(advice)")
    }
    guard endpoint != nil || !bucket.hasSuffix("--x-s3") else {
      throw S3StoreError(
        "\"\(bucket)\" is a directory bucket (S3 Express), which is not supported: name a general purpose bucket"
      )
    }
    guard Self.isBucket(bucket, at: endpoint) else {
      throw S3StoreError(
        "\"\(bucket)\" can't be a bucket's name: it has 3 to 255 letters, digits, dots, dashes and underscores"
      )
    }
    guard Self.isRegion(region, inHost: endpoint == nil) else {
      throw S3StoreError("\"\(region)\" can't be a region's name; it is written like eu-central-1")
    }
    guard endpoint?.path.isEmpty ?? true else {
      throw S3StoreError("the endpoint holds a path: leave it out, the bucket stands in the destination")
    }
    let folders = prefix.split(separator: "/", omittingEmptySubsequences: true)
    guard !folders.contains(where: { $0 == "." || $0 == ".." }),
      !prefix.utf8.contains(where: { $0 < 32 || $0 == 127 })
    else {
      throw S3StoreError(
        "the prefix \"\(prefix)\" can't be used: it holds . or .. as a folder, or a control character")
    }
    self.bucket = bucket
    self.prefix = folders.map { $0 + "/" }.joined()
    self.endpoint = endpoint
    self.region = region
    guard usesPaths != false || bucket.contains(".") && !bucket.contains(":") || Self.isHostLabel(bucket)
    else {
      throw S3StoreError(
        "\"\(bucket)\" can't stand in a host's name, which has lower case letters, digits and dashes: leave out "
          + "\(setting: .noPathStyle)")
    }
    guard usesPaths != false || endpoint?.origin.isAddress != true else {
      throw S3StoreError(
        "the endpoint is an address, before which no bucket's name can stand: leave out \(setting: .noPathStyle)"
      )
    }
    self.usesPaths = usesPaths ?? (endpoint != nil || !Self.isHostLabel(bucket))
  }

  /// `s3://bucket/prefix`, or `s3+https://host/bucket/prefix` at an endpoint of one's own.
  public var destination: Destination {
    let rest = prefix.isEmpty ? bucket : bucket + "/" + prefix.dropLast()
    return Destination(endpoint.map { "s3+\($0.origin)/\(rest)" } ?? "s3://\(rest)")
  }

  /// Whether `text` can be a region: letters, digits and dashes (botocore, `VALID_REGION`), such as `RegionOne`.
  /// - Parameter inHost: whether it is part of a host name, as at Amazon.
  static func isRegion(_ text: String, inHost: Bool = false) -> Bool {
    inHost ? isHostLabel(text) : isLabel(text)
  }

  /// Whether `text` can be a label of a host name (RFC 1123, 2.1), in the lower case that signatures need.
  private static func isHostLabel(_ text: String) -> Bool { isLabel(text) && text == text.lowercased() }

  private static func isLabel(_ text: String) -> Bool {
    (1...63).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
      && text.first != "-" && text.last != "-"
  }

  /// Whether `text` can be a bucket, by Amazon's old rule, the widest one: 255 characters, including upper case and
  /// underscores. At Ceph, another tenant's bucket is named `tenant:bucket` (Ceph, "RGW Multi-tenancy").
  private static func isBucket(_ text: String, at endpoint: HTTPAddress?) -> Bool {
    let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2 else { return isBucket(text) }
    return endpoint != nil && !halves[0].isEmpty
      && halves[0].utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
      && isBucket(halves[1])
  }

  private static func isBucket(_ text: some StringProtocol) -> Bool {
    (3...255).contains(text.utf8.count) && text != "..."
      && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._".utf8.contains($0) } && !text.hasPrefix(".")
      && !text.contains("..")
  }
}

extension S3Store {
  /// Returns a folder of this store as a store of its own.
  /// - Throws: ``S3StoreError`` if `folder` can't be part of a prefix.
  package func folder(_ folder: String) throws(S3StoreError) -> S3Store {
    try S3Store(
      bucket: bucket, prefix: prefix + folder, endpoint: endpoint, region: region, usesPaths: usesPaths)
  }
}

/// The reason why a store can't be addressed in this way; one sentence for people.
public struct S3StoreError: ReelError, Hashable {
  /// What is wrong.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  init(_ message: ErrorMessage) { text = message }
}

/// Where requests for a store go, in one region.
struct S3Addressing: Sendable {
  let store: S3Store
  let region: String

  /// The origin to connect to.
  var origin: HTTPOrigin {
    if let endpoint = store.endpoint {
      return store.usesPaths
        ? endpoint.origin : endpoint.origin.with(host: "\(store.bucket).\(endpoint.origin.host)")
    }
    let host = "s3.\(region).\(Self.domain(of: region))"
    return HTTPOrigin(isSecure: true, host: store.usesPaths ? host : "\(store.bucket).\(host)")
  }

  var bucketPath: String {
    store.usesPaths ? "/" + PercentEncoding.path(store.bucket) : "/"
  }

  func path(of key: ObjectKey) -> String { path(named: key.rawValue) }

  /// - Parameter name: the name of an object, without the store's prefix.
  func path(named name: String) -> String {
    (bucketPath == "/" ? "" : bucketPath) + "/" + PercentEncoding.path(store.prefix + name)
  }

  private static func domain(of region: String) -> String {
    partitions.first { region.hasPrefix($0.beginning) }?.domain ?? "amazonaws.com"
  }

  /// The partitions of Amazon's cloud that have a domain of their own (botocore, partitions.json).
  private static let partitions: [(beginning: String, domain: String)] = [
    ("cn-", "amazonaws.com.cn"), ("eusc-", "amazonaws.eu"), ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"), ("eu-isoe-", "cloud.adc-e.uk"), ("us-isof-", "csp.hci.ic.gov"),
  ]
}
