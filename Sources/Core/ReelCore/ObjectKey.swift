/// The name of an object in a store: a single path component that cannot escape any store.
///
/// It consists of 1 to 200 ASCII letters, digits, `-`, `_` and `.`, and does not begin with a dot or a dash.
public struct ObjectKey: Hashable, Sendable {
  /// The key as stored; it obeys the rule above.
  public let rawValue: String

  /// Creates a key; nil if `rawValue` breaks the rule above.
  public init?(_ rawValue: String) {
    guard (1...200).contains(rawValue.utf8.count), let first = rawValue.utf8.first,
      first != UInt8(ascii: "."), first != UInt8(ascii: "-"), rawValue.utf8.allSatisfy(Self.isAllowed)
    else { return nil }
    self.rawValue = rawValue
  }

  /// Draws an unguessable name with the container's own extension.
  /// - Parameter length: The number of characters before the dot, clamped to 16 ... 64.
  public init(random randomness: some Randomness, container: MediaContainer, length: Int = 22) {
    self.init(random: randomness, fileExtension: container.fileExtension, length: length)
  }

  /// Draws a name for a poster, which is a JPEG.
  package init(posterNamedBy randomness: some Randomness, length: Int = 22) {
    self.init(random: randomness, fileExtension: Self.posterExtension, length: length)
  }

  /// Whether it is the key of a poster: no video's key has this extension.
  package var isPoster: Bool { rawValue.hasSuffix("." + Self.posterExtension) }

  private static let posterExtension = "jpg"

  private init(random randomness: some Randomness, fileExtension: String, length: Int) {
    rawValue = randomness.name(length: min(max(length, 16), 64)) + "." + fileExtension
  }

  /// Whether `name` has the form that ``init(random:container:length:)`` creates.
  package static func isDrawn(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, (16...64).contains(parts[0].utf8.count), (1...8).contains(parts[1].utf8.count)
    else { return false }
    return parts.allSatisfy { $0.utf8.allSatisfy(\.isASCIIAlphanumeric) }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || "-_.".utf8.contains(byte)
  }
}

extension ObjectKey: CustomStringConvertible {
  /// The key itself.
  public var description: String { rawValue }
}

extension ObjectKey: Codable {
  /// Reads a string, and checks the rule above.
  /// - Throws: `DecodingError` if the string breaks it.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let key = ObjectKey(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an object key")
    }
    self = key
  }

  /// Writes the key as one string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension ObjectKey {
  /// The media type for its extension: the container's, or a poster's.
  package var contentType: String {
    let container = MediaContainer.allCases.first { rawValue.hasSuffix("." + $0.fileExtension) }
    return container?.contentType ?? (rawValue.hasSuffix(".jpg") ? "image/jpeg" : "application/octet-stream")
  }
}
