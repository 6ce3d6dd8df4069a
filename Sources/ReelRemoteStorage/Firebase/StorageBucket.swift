import ReelCore

/// A bucket of Cloud Storage, and what stands before each object's name in it.
public struct StorageBucket: Hashable, Sendable {
  /// The bucket's name: it needs no percent-encoding.
  public let name: String
  /// Empty, or what stands before `/` and an object's name; neither begins nor ends with a slash.
  public let prefix: String
  /// An emulator's address; nil for Google's own.
  public let emulator: HTTPOrigin?

  /// Where Google's own answers.
  static let google = HTTPOrigin(isSecure: true, host: "storage.googleapis.com")

  /// A bucket by its name.
  /// - Throws: ``StorageBucketError`` when no bucket or no prefix can be called that.
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

  /// Where requests go.
  var origin: HTTPOrigin { emulator ?? Self.google }

  /// `firebase://bucket/prefix`; an emulator's has its address in it, as it is another store.
  public var destination: Destination {
    let path = prefix.isEmpty ? name : name + "/" + prefix
    guard let emulator else { return Destination("firebase://" + path) }
    return Destination("firebase+\(emulator)/\(path)")
  }

  /// What the object is called in the bucket.
  func objectName(of key: ObjectKey) -> String { prefix.isEmpty ? key.rawValue : prefix + "/" + key.rawValue }

  /// The object's address in the JSON API.
  func target(of key: ObjectKey) -> String { objects + "/" + PercentEncoding.all(objectName(of: key)) }

  /// The address of all objects in the JSON API.
  var objects: String { "/storage/v1/b/\(name)/o" }

  /// Where uploads begin.
  var uploads: String { "/upload/storage/v1/b/\(name)/o" }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "-_.".utf8.contains(byte)
    }
  }
}

/// Why a bucket can't be used.
public struct StorageBucketError: Error, Hashable, Sendable {
  /// What is wrong and what to write instead; the end of a sentence.
  public let reason: String

  init(_ reason: String) { self.reason = reason }
}
