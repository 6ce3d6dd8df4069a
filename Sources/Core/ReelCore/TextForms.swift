/// Quotes names in commands that a person may copy.
public enum ShellWord {
  /// Explains what is wrong with a path that a shell should have expanded; nil if nothing is.
  public static func unexpandedHome(in path: String) -> String? {
    if path == "~" || path.hasPrefix("~/") {
      return "no shell expanded its ~; write $HOME or the whole path, or ./~ for a folder of that name"
    }
    guard path == "$HOME" || path.hasPrefix("$HOME/") || path.hasPrefix("${") else { return nil }
    return "no shell expanded its $; write the whole path, or ./$ for a name that begins so"
  }

  /// Quotes `path` as one word for a POSIX shell, which takes it as a name and nothing else. Bytes that are not
  /// UTF-8, and characters that are not displayed as they are, require bash's `$'…'`.
  public static func quoted(_ path: [UInt8]) -> String { quoted(path, ascii: false) }

  /// - Parameter ascii: Whether only ASCII can be displayed.
  package static func quoted(_ path: [UInt8], ascii: Bool) -> String {
    word(path.first == UInt8(ascii: "-") ? Array("./".utf8) + path : path, ascii: ascii)
  }

  /// Quotes `value` as the rest of a word, after `--option=`.
  /// - Parameter ascii: Whether only ASCII can be displayed.
  package static func quoted(value: String, ascii: Bool = false) -> String {
    word(Array(value.utf8), ascii: ascii)
  }

  /// Rewrites `command`, whose words these functions have quoted, in ASCII.
  package static func inASCII(_ command: String) -> String {
    var (result, isQuoted) = ("", false)
    // The word as written, and as a shell understands it.
    var (written, meant): ([UInt8], [UInt8]) = ([], [])
    func endWord() {
      let isASCII = written.allSatisfy { $0 < 0x80 }
      result += isASCII ? String(decoding: written, as: UTF8.self) : word(meant, ascii: true)
      (written, meant) = ([], [])
    }
    var rest = command.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: " "), !isQuoted {
        endWord()
        result += " "
        continue
      }
      written.append(byte)
      if byte == UInt8(ascii: "'") {
        isQuoted.toggle()
      } else if byte == UInt8(ascii: "\\"), !isQuoted, let next = rest.popFirst() {
        written.append(next)
        meant.append(next)
      } else {
        meant.append(byte)
      }
    }
    endWord()
    return result
  }

  private static func word(_ path: [UInt8], ascii: Bool) -> String {
    if !path.isEmpty, path.allSatisfy(isPlain) { return String(decoding: path, as: UTF8.self) }
    if let text = String(validating: path, as: UTF8.self),
      SanitizedText.line(text, asciiOnly: ascii) == text
    {
      // Split by bytes: an apostrophe followed by a combining mark is a different character, but a shell still ends
      // the word there.
      let parts = path.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
      return "'" + String(decoding: Array(parts.joined(separator: #"'\''"#.utf8)), as: UTF8.self) + "'"
    }
    return "$'" + path.map(escaped).joined() + "'"
  }

  private static func escaped(_ byte: UInt8) -> String {
    isPlain(byte) || byte == UInt8(ascii: " ") ? String(UnicodeScalar(byte)) : #"\x"# + byte.hex
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || "/._-+,=@%".utf8.contains(byte)
  }
}

/// Puts a file's name into a message. Messages about a file do not name it, and often refer to it as "it".
package enum Sentence {
  /// "it is an HLS playlist" becomes "notes.mp4 is an HLS playlist"; other messages follow the name and a colon.
  package static func naming(_ name: String, _ message: String) -> String {
    if message.hasPrefix("it ") { return name + message.dropFirst(2) }
    return message.hasPrefix(name) ? message : "\(name): \(message)"
  }
}

extension UInt8 {
  package var isASCIIDigit: Bool { (0x30...0x39).contains(self) }

  package var isASCIILowercase: Bool { (0x61...0x7A).contains(self) }

  package var isASCIIAlphanumeric: Bool {
    isASCIIDigit || isASCIILowercase || (0x41...0x5A).contains(self)
  }

  /// Two hexadecimal digits, in lower case.
  package var hex: String { (self < 16 ? "0" : "") + String(self, radix: 16) }
}

extension BidirectionalCollection {
  /// Removes the elements at both ends for which `isGone` is true.
  package func trimming(while isGone: (Element) -> Bool) -> SubSequence {
    let rest = drop(while: isGone)
    return rest.lastIndex { !isGone($0) }.map { rest[...$0] } ?? rest
  }
}

/// Bytes as hexadecimal digits, two for each.
package enum Hexadecimal {
  /// Encodes bytes in lower case.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Decodes digits of either case; nil if `text` is anything other than pairs of hexadecimal digits.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    let digits = text.utf8.compactMap(digit)
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Percent-encoding (RFC 3986, 2.1), in upper-case hexadecimal.
package enum PercentEncoding {
  /// The characters that stay unencoded besides letters and digits (RFC 3986, 2.3).
  package static let unreserved = "-._~"

  /// - Parameter spared: ASCII characters that stay as they are, besides letters and digits.
  package static func encode(_ bytes: some Sequence<UInt8>, sparing spared: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in bytes {
      if byte.isASCIIAlphanumeric || spared.utf8.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Encodes a path, keeping its slashes. Its bytes need not be UTF-8.
  package static func path(_ bytes: some Sequence<UInt8>) -> String {
    encode(bytes, sparing: unreserved + "/")
  }

  /// Decodes `text`; nil if a `%` is not followed by two digits, or if the bytes are not UTF-8.
  package static func decode(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let first = rest.popFirst() {
      guard first == UInt8(ascii: "%") else {
        bytes.append(first)
        continue
      }
      let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      guard digits.count == 2, let byte = UInt8(exactly: digits[0] << 4 | digits[1]) else { return nil }
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// An optional that is written as `null` instead of being omitted, so that a reader of Reel's JSON can tell
/// "unknown" from "not stated by this version". A missing key reads as `nil`.
@propertyWrapper
public struct ExplicitNull<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
  /// The value; nil means unknown, and is written as `null`.
  public var wrappedValue: Value?

  /// Wraps `wrappedValue`, nil included.
  public init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  /// Reads the value, or nil from `null`.
  /// - Throws: `DecodingError` if it finds neither.
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
  /// Writes the value itself, or `null`, without a container of its own in between. Those containers took half of
  /// the time to write a file's facts.
  public mutating func encode<Value>(_ value: ExplicitNull<Value>, forKey key: Key) throws {
    if let value = value.wrappedValue {
      try encode(value, forKey: key)
    } else {
      try encodeNil(forKey: key)
    }
  }
}
