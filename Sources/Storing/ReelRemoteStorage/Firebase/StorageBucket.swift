import FoundationEssentials
import ReelCore

/// A bucket of Cloud Storage, and the prefix of its objects' names.
public struct StorageBucket: Hashable, Sendable {
  /// The bucket's name: it needs no percent-encoding.
  public let name: String
  /// The prefix, which is followed by `/` and an object's name. Either empty, or neither begins nor ends with a slash.
  public let prefix: String
  /// The emulator's address; nil for Google's own.
  public let emulator: HTTPOrigin?

  /// The origin of Google's own service.
  static let google = HTTPOrigin(isSecure: true, host: "storage.googleapis.com")

  /// Creates a bucket from its name.
  /// - Throws: ``StorageBucketError`` if no bucket or prefix can have that name.
  public init(_ name: String, prefix: String = "", emulator: HTTPOrigin? = nil) throws(StorageBucketError) {
    // https://cloud.google.com/storage/docs/buckets#naming
    guard (3...222).contains(name.utf8.count), name.utf8.allSatisfy(Self.isAllowed) else {
      throw StorageBucketError(
        "no bucket is named like that: a name has 3 to 222 lower-case letters, digits, dashes, underscores and "
          + "dots, such as my-app.appspot.com")
    }
    let parts = prefix.split(separator: "/", omittingEmptySubsequences: true)
    guard prefix.utf8.count <= 500, !parts.contains(where: { $0 == "." || $0 == ".." }),
      prefix.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else {
      throw StorageBucketError(
        "what follows the bucket can't stand before objects' names: up to 500 bytes, no control characters, "
          + "and no . or .. between slashes")
    }
    self.name = name
    self.prefix = parts.joined(separator: "/")
    self.emulator = emulator
  }

  /// The origin to which requests go.
  var origin: HTTPOrigin { emulator ?? Self.google }

  /// `firebase://bucket/prefix`; an emulator's contains its address, as it is another store.
  public var destination: Destination {
    let path = prefix.isEmpty ? name : name + "/" + prefix
    guard let emulator else { return Destination("firebase://" + path) }
    return Destination("firebase+\(emulator)/\(path)")
  }

  func objectName(of key: ObjectKey) -> String { prefix.isEmpty ? key.rawValue : prefix + "/" + key.rawValue }

  func target(of key: ObjectKey) -> String { objects + "/" + PercentEncoding.all(objectName(of: key)) }

  var objects: String { "/storage/v1/b/\(name)/o" }

  /// The target at which uploads begin.
  var uploads: String { "/upload/storage/v1/b/\(name)/o" }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    byte.isASCIILowercase || byte.isASCIIDigit || "-_.".utf8.contains(byte)
  }
}

/// The reason why a bucket can't be used.
public struct StorageBucketError: Error, Hashable, Sendable {
  /// What is wrong and what to write instead; the end of a sentence.
  public let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// What the JSON API reports about an object (https://cloud.google.com/storage/docs/json_api/v1/objects#resource).
struct StorageObject: Decodable, Hashable, Sendable {
  let name: String
  /// A number that changes whenever the object is written, and may not fit into 63 bits.
  let generation: String?
  /// In Base64, the most significant byte first.
  let crc32c: String?
  /// In Base64; nil for an object composed of others.
  let md5Hash: String?
  let metadata: [String: String]?
  private let size: String

  /// The length in bytes.
  var length: Int64? { Int64(digits: size) }

  /// The SHA-256 recorded with the object, if its bytes still have the checksum recorded with that: the store refused
  /// any others when the upload ended.
  var digest: ContentDigest? {
    guard let crc32c, metadata?[Custom.checksum] == crc32c else { return nil }
    return metadata?[Custom.digest].flatMap { ContentDigest(hex: $0) }
  }

  /// The token with which viewers open the object; the first one if there are several.
  var downloadToken: String? {
    metadata?[Custom.tokens]?.split(separator: ",").first.map(String.init)
  }

  /// The names of custom metadata.
  enum Custom {
    /// The SHA-256 in hexadecimal.
    static let digest = "sha256"
    /// The CRC-32C of the bytes that have that SHA-256.
    static let checksum = "sha256-crc32c"
    /// The key under which Firebase's own apps look for download tokens.
    static let tokens = "firebaseStorageDownloadTokens"
  }
}

/// The description of an object, sent before its first byte.
struct NewStorageObject: Encodable, Sendable {
  let name: String
  let contentType: String
  /// The store refuses bytes of another checksum
  /// (https://cloud.google.com/storage/docs/data-validation#server-validated).
  let crc32c: String
  let metadata: [String: String]

  init(
    _ key: ObjectKey, in bucket: StorageBucket, source: UploadSource, crc32c: CRC32C, downloadToken: String
  ) {
    name = bucket.objectName(of: key)
    contentType = source.contentType
    self.crc32c = crc32c.text
    metadata = [
      StorageObject.Custom.digest: source.digest.hex, StorageObject.Custom.checksum: crc32c.text,
      StorageObject.Custom.tokens: downloadToken,
    ]
  }
}

/// One page of a list.
struct StorageObjectPage: Decodable, Sendable {
  struct Item: Decodable, Sendable {
    let name: String
    let generation: String?
    /// When a version of a bucket with versions was replaced or deleted.
    let timeDeleted: String?
    /// When an object of a bucket with soft deletion was deleted, and when it will be gone.
    let softDeleteTime: String?
    let hardDeleteTime: String?
  }
  let items: [Item]?
  let nextPageToken: String?
}

/// An unfinished upload: its request target at the store's own origin. Whoever knows it may write to the upload, so it
/// is used only in requests and in the checkpoint.
struct StorageSession: Hashable, Sendable {
  /// The path and query, percent-encoded.
  let target: String
  /// The checksum of all the object's bytes, which the store was told before the first: it accepts no others.
  let crc32c: String

  private init(target: String, crc32c: String) { (self.target, self.crc32c) = (target, crc32c) }

  /// Reads a Location (RFC 9110, 10.2.2). Nil if it is not an address at `origin`, as bytes are sent nowhere else.
  init?(location: String, at origin: HTTPOrigin, crc32c: String) {
    guard location.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !location.contains("#") else {
      return nil
    }
    if location.hasPrefix("/"), !location.hasPrefix("//") {
      self.init(target: location, crc32c: crc32c)
      return
    }
    guard let scheme = location.firstRange(of: "://") else { return nil }
    let rest = location[scheme.upperBound...]
    let end = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = location[..<scheme.upperBound] + rest[..<end]
    guard end < rest.endIndex, let there = try? HTTPAddress(parsing: String(authority)),
      there.origin == origin
    else { return nil }
    self.init(target: String(rest[end...]), crc32c: crc32c)
  }

  /// Parses what ``text`` returned; nil for anything else.
  init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[0] == Self.mark, Base64.bytes(String(words[1]))?.count == 4,
      words[2].hasPrefix("/"), words[2].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    self.init(target: String(words[2]), crc32c: String(words[1]))
  }

  /// The session in one line.
  var text: String { "\(Self.mark) \(crc32c) \(target)" }

  private static let mark = "gcs1"
}

extension StorageSession: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A placeholder without the address.
  var description: String { "‹session›" }
  /// As ``description``.
  var debugDescription: String { description }
  /// No children, so that `dump` does not show the address.
  var customMirror: Mirror { Mirror(self, children: [:]) }
}
