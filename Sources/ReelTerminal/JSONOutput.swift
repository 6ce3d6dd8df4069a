import FoundationEssentials

/// How Reel writes JSON, and reads it again: keys sorted, no escaped slashes, times in UTC as ISO 8601 to the
/// second, or to the millisecond where there are any (`2024-05-01T10:11:12Z`, `2024-05-01T10:11:12.250Z`).
///
/// What a terminal or a CI runner would act on stands as `\uXXXX` in strings.
package enum JSONOutput {
  /// `value` and a newline.
  ///
  /// - Parameter pretty: on several lines, for a person.
  /// - Throws: `EncodingError`, when `value` holds a number that JSON has not (NaN, infinity).
  package static func text(_ value: some Encodable, pretty: Bool = false) throws -> String {
    let json = try encoder(pretty: pretty, times: .secondsOrMilliseconds).encode(value)
    return String(decoding: SanitizedJSON.escaping(Array(json)), as: UTF8.self) + "\n"
  }

  /// Reads what ``text(_:pretty:)`` or ``EventLines`` wrote.
  /// - Throws: `DecodingError`.
  package static func decode<Value: Decodable>(_ type: Value.Type, from json: some Sequence<UInt8>) throws
    -> Value
  {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      let text = try container.decode(String.self)
      guard let date = ISOTime.date(text) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "not a time like 2024-05-01T10:11:12Z")
      }
      return date
    }
    return try decoder.decode(type, from: Data(json))
  }

  static func encoder(pretty: Bool, times: ISOTime.Precision) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(ISOTime.text(date, times))
    }
    return encoder
  }
}

/// A value with a JSON of its own, for `--json`.
package protocol JSONDocument: Encodable {}

extension JSONDocument {
  /// The document and a newline.
  ///
  /// - Parameter pretty: on several lines, for a person.
  /// - Throws: `EncodingError`, when it holds a number that JSON has not (NaN, infinity).
  package func json(pretty: Bool = false) throws -> String {
    try JSONOutput.text(self, pretty: pretty)
  }
}
