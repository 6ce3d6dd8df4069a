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
