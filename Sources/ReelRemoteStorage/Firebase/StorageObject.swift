import FoundationEssentials
import ReelCore

/// What the JSON API says of an object (https://cloud.google.com/storage/docs/json_api/v1/objects#resource).
struct StorageObject: Decodable, Hashable, Sendable {
  let name: String
  /// Changes whenever the object is written; a number that may not fit 63 bits.
  let generation: String?
  /// Base64, the highest byte first.
  let crc32c: String?
  /// Base64; none for an object that was composed of others.
  let md5Hash: String?
  let metadata: [String: String]?
  private let size: String

  /// Bytes.
  var length: Int64? { Int64(size) }

  /// The SHA-256 that was written down with the object, if the object's bytes still have the checksum that belongs to
  /// it: the store refused any others when the upload ended.
  var digest: ContentDigest? {
    guard let crc32c, metadata?[Custom.checksum] == crc32c else { return nil }
    return metadata?[Custom.digest].flatMap { ContentDigest(hex: $0) }
  }

  /// What viewers open the object with: the first one, if there are several.
  var downloadToken: String? {
    metadata?[Custom.tokens]?.split(separator: ",").first.map(String.init)
  }

  /// Names of custom metadata.
  enum Custom {
    /// The SHA-256 in hex.
    static let digest = "sha256"
    /// The CRC-32C of the bytes that have that SHA-256.
    static let checksum = "sha256-crc32c"
    /// Where Firebase's own apps look for download tokens.
    static let tokens = "firebaseStorageDownloadTokens"
  }
}

/// What an object is to be, said before its first byte.
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
  }
  let items: [Item]?
  let nextPageToken: String?
}
