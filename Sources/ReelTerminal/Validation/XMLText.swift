/// XML 1.0 elements with harmless text. Control characters, which XML cannot carry at all, are shown as escapes.
struct XMLText {
  private(set) var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
  private var depth = 0

  /// An element with content.
  mutating func element(
    _ name: String, _ attributes: [(String, String)], _ content: (inout XMLText) -> Void
  ) {
    text += indent + "<\(name)\(Self.list(attributes))>\n"
    depth += 1
    content(&self)
    depth -= 1
    text += indent + "</\(name)>\n"
  }

  /// An element with text, or without any content.
  mutating func element(_ name: String, _ attributes: [(String, String)], _ lines: [String] = []) {
    let start = indent + "<\(name)\(Self.list(attributes))"
    text +=
      lines.isEmpty
      ? start + "/>\n" : start + ">" + lines.map(Self.escaped).joined(separator: "\n") + "</\(name)>\n"
  }

  private var indent: String { String(repeating: "  ", count: depth) }

  private static func list(_ attributes: [(String, String)]) -> String {
    attributes.map { " \($0.0)=\"\(escaped($0.1))\"" }.joined()
  }

  /// For attributes and text alike.
  static func escaped(_ text: String) -> String {
    SanitizedText.line(text).unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&apos;"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}
