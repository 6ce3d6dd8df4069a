/// The name of an object in a store: one component that cannot climb out of it, whatever the store.
///
/// ASCII letters, digits, `-`, `_` and `.`; it does not begin with a dot or a dash, and has 1 to 200
/// characters.
public struct ObjectKey: Hashable, Sendable {
  /// The key as the store has it; it keeps the rule above.
  public let rawValue: String

  /// Nil when `rawValue` breaks the rule above.
  public init?(_ rawValue: String) {
    guard (1...200).contains(rawValue.utf8.count), let first = rawValue.utf8.first,
      first != UInt8(ascii: "."), first != UInt8(ascii: "-"), rawValue.utf8.allSatisfy(Self.isAllowed)
    else { return nil }
    self.rawValue = rawValue
  }

  /// A name nobody can guess, with the container's real extension.
  /// - Parameter length: characters before the dot, 16 ... 64; others are brought into that range.
  public init(random randomness: some Randomness, container: MediaContainer, length: Int = 22) {
    self.init(random: randomness, fileExtension: container.fileExtension, length: length)
  }

  /// The same for a poster, which is a JPEG.
  package init(posterNamedBy randomness: some Randomness, length: Int = 22) {
    self.init(random: randomness, fileExtension: Self.posterExtension, length: length)
  }

  /// Whether it is a poster's: no video's ends like that.
  package var isPoster: Bool { rawValue.hasSuffix("." + Self.posterExtension) }

  private static let posterExtension = "jpg"

  private init(random randomness: some Randomness, fileExtension: String, length: Int) {
    rawValue = randomness.name(length: min(max(length, 16), 64)) + "." + fileExtension
  }

  /// Whether `name` is of the form that ``init(random:container:length:)`` makes.
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
  /// Reads a string, and checks the rule again.
  /// - Throws: `DecodingError` when it breaks it.
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
  /// What its extension says: the container's own, or a poster's.
  package var contentType: String {
    let container = MediaContainer.allCases.first { rawValue.hasSuffix("." + $0.fileExtension) }
    return container?.contentType ?? (rawValue.hasSuffix(".jpg") ? "image/jpeg" : "application/octet-stream")
  }
}
