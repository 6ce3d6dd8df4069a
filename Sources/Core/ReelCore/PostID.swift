import FoundationEssentials

/// A post's identity: a UUID of version 7 (RFC 9562, section 5.7), so that ids sort by creation time.
public struct PostID: Hashable, Sendable {
  /// The UUID, of version 7; one parsed from text may be of any version.
  public let uuid: UUID

  /// Creates a new id for the time `date`.
  public init(at date: Date, random randomness: some Randomness) {
    let milliseconds = UInt64(max(0, Int64(clamping: date.timeIntervalSince1970 * 1000)))
    var bytes = (0..<6).map { UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * UInt64($0))) }
    bytes += randomness.bytes(10)
    bytes[6] = bytes[6] & 0x0F | 0x70
    bytes[8] = bytes[8] & 0x3F | 0x80
    uuid = UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }

  /// Creates an id from its bytes; nil unless there are exactly 16.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// 16 bytes, in the order of ``description``.
  package var bytes: [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }

  /// Parses a UUID; nil if `text` is not one.
  public init?(_ text: String) {
    guard let uuid = UUID(uuidString: text) else { return nil }
    self.uuid = uuid
  }
}

extension PostID: CustomStringConvertible {
  /// 36 lower-case characters.
  public var description: String { uuid.uuidString.lowercased() }
}

extension PostID: Comparable {
  /// Byte order, which for ids that Reel made is the order of their milliseconds.
  public static func < (left: PostID, right: PostID) -> Bool { left.description < right.description }
}

extension PostID: Codable {
  /// Reads a UUID from a string.
  /// - Throws: `DecodingError` if the string is not a UUID.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = PostID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a post id")
    }
    self = id
  }

  /// Writes ``description``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
