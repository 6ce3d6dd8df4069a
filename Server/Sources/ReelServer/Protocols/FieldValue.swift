/// A field's value with its parameters: `form-data; name="a;b"; filename=c` (RFC 9110, 5.6.6).
///
/// Parsed as leniently as forms are written: with spaces around `=`, or without the closing quote.
struct FieldValue: Hashable, Sendable {
  /// The text before the parameters, in lower case.
  let word: String
  /// By name in lower case; the first one of each name counts.
  private let parameters: [String: String]

  init(parsing text: some StringProtocol) {
    var rest = ArraySlice(text.utf8)
    word = Self.text(rest.take { $0 != UInt8(ascii: ";") }).lowercased()
    var parameters: [String: String] = [:]
    while rest.popFirst() != nil {
      let name = Self.text(rest.take { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }).lowercased()
      guard rest.first == UInt8(ascii: "=") else { continue }
      rest.removeFirst()
      let value = Self.value(&rest)
      if parameters[name] == nil { parameters[name] = value }
    }
    self.parameters = parameters
  }

  subscript(_ name: String) -> String? { parameters[name] }

  /// The value up to the next semicolon; a quoted string may contain semicolons.
  private static func value(_ rest: inout ArraySlice<UInt8>) -> String {
    _ = rest.take(while: isSpace)
    guard rest.first == UInt8(ascii: "\"") else { return text(rest.take { $0 != UInt8(ascii: ";") }) }
    rest.removeFirst()
    var quoted: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      // RFC 9110, 5.6.4.
      let isEscape = byte == UInt8(ascii: "\\")
      quoted.append(isEscape ? rest.popFirst() ?? byte : byte)
    }
    _ = rest.take { $0 != UInt8(ascii: ";") }
    return String(decoding: quoted, as: UTF8.self)
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(
      decoding: bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func take(while isWanted: (UInt8) -> Bool) -> Self {
    let taken = prefix(while: isWanted)
    removeFirst(taken.count)
    return taken
  }
}
