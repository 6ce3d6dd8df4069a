/// Names put into commands that a person may copy.
public enum ShellWord {
  /// `path` as one word for a POSIX shell, which takes it for a name and for nothing else; with control characters
  /// or bytes that are not UTF-8 it is bash's `$'…'`.
  public static func quoted(_ path: [UInt8]) -> String {
    let path = path.first == UInt8(ascii: "-") ? Array("./".utf8) + path : path
    if !path.isEmpty, path.allSatisfy(isPlain) { return String(decoding: path, as: UTF8.self) }
    if path.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), let text = String(validating: path, as: UTF8.self) {
      return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
        + "'"
    }
    return "$'" + path.map(escaped).joined() + "'"
  }

  private static func escaped(_ byte: UInt8) -> String {
    if isPlain(byte) || byte == UInt8(ascii: " ") { return String(UnicodeScalar(byte)) }
    let digits = String(byte, radix: 16)
    return #"\x"# + (digits.count == 1 ? "0" : "") + digits
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "/._-+,=@%".utf8.contains(byte)
    }
  }
}

/// An optional that is written as `null` instead of being left out, so that a reader of Reel's JSON
/// can tell "unknown" from "this version does not say". A missing key reads as `nil`.
@propertyWrapper
public struct ExplicitNull<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
  /// The value; nil is "unknown", and is written as `null`.
  public var wrappedValue: Value?

  /// Wraps `wrappedValue`, nil included.
  public init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  /// Reads the value, or nil from `null`.
  /// - Throws: `DecodingError` when what is there is neither.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
  }

  /// Writes the value, or `null` for nil.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue {
      try container.encode(wrappedValue)
    } else {
      try container.encodeNil()
    }
  }
}

extension KeyedDecodingContainer {
  /// Lets synthesized `Decodable` read a missing key as `nil`.
  public func decode<Value>(
    _ type: ExplicitNull<Value>.Type, forKey key: Key
  ) throws -> ExplicitNull<Value> {
    try decodeIfPresent(type, forKey: key) ?? ExplicitNull(wrappedValue: nil)
  }
}

extension KeyedEncodingContainer {
  /// Writes the value itself, or `null`, without a container of its own between: half of the work of writing a
  /// file's facts was these.
  public mutating func encode<Value>(_ value: ExplicitNull<Value>, forKey key: Key) throws {
    if let value = value.wrappedValue {
      try encode(value, forKey: key)
    } else {
      try encodeNil(forKey: key)
    }
  }
}
