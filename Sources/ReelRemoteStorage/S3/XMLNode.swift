import CExpat

/// An element of a small XML document: a store's reply.
struct XMLNode: Sendable, Hashable {
  /// Without its namespace's prefix.
  let name: String
  var text = ""
  var children: [XMLNode] = []

  /// The text of the first child of that name, without white space around it; nil when there is none.
  subscript(_ name: String) -> String? {
    children.first { $0.name == name }.map { $0.text.trimmingWhiteSpace() }
  }

  /// All children of that name.
  func all(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }

  /// Reads a whole document with expat. Nil when it is none, is nested deeper than a reply ever is, or declares
  /// entities of its own: no store does, and nothing is to be expanded or fetched for it.
  init?(parsing bytes: [UInt8]) {
    let builder = TreeBuilder()
    guard builder.parse(bytes), let root = builder.root else { return nil }
    self = root
  }

  fileprivate init(name: String) { self.name = name }
}

/// Builds the tree from expat's calls. It lives for one parse, on one thread.
private final class TreeBuilder {
  private(set) var root: XMLNode?
  private var open: [XMLNode] = []
  private var isRefused = false
  private static let deepest = 32

  func parse(_ bytes: [UInt8]) -> Bool {
    guard let parser = XML_ParserCreate("UTF-8") else { return false }
    defer { XML_ParserFree(parser) }
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      parser,
      { me, name, _ in TreeBuilder.of(me)?.start(name.map { String(cString: $0) } ?? "") },
      { me, _ in TreeBuilder.of(me)?.end() })
    XML_SetCharacterDataHandler(parser) { me, text, count in
      guard let text else { return }
      TreeBuilder.of(me)?.add(
        String(decoding: UnsafeRawBufferPointer(start: text, count: Int(count)), as: UTF8.self))
    }
    XML_SetStartDoctypeDeclHandler(parser) { me, _, _, _, _ in TreeBuilder.of(me)?.isRefused = true }
    let status = bytes.withUnsafeBytes { buffer in
      XML_Parse(parser, buffer.bindMemory(to: CChar.self).baseAddress, Int32(clamping: buffer.count), 1)
    }
    return status == XML_STATUS_OK && !isRefused
  }

  private static func of(_ me: UnsafeMutableRawPointer?) -> TreeBuilder? {
    me.map { Unmanaged<TreeBuilder>.fromOpaque($0).takeUnretainedValue() }
  }

  private func start(_ qualified: String) {
    if open.count >= Self.deepest { isRefused = true }
    guard !isRefused else { return }
    open.append(XMLNode(name: qualified.split(separator: ":").last.map(String.init) ?? qualified))
  }

  private func end() {
    guard !isRefused, let node = open.popLast() else { return }
    if open.isEmpty {
      root = node
    } else {
      open[open.count - 1].children.append(node)
    }
  }

  private func add(_ text: String) {
    guard !isRefused, !open.isEmpty else { return }
    open[open.count - 1].text += text
  }
}

/// Text as it stands in an element.
func xmlEscaped(_ text: String) -> String {
  text.reduce(into: "") { escaped, character in
    switch character {
    case "&": escaped += "&amp;"
    case "<": escaped += "&lt;"
    case ">": escaped += "&gt;"
    case "\"": escaped += "&quot;"
    default: escaped.append(character)
    }
  }
}

extension StringProtocol {
  /// Without white space at its ends.
  func trimmingWhiteSpace() -> String {
    guard let first = firstIndex(where: { !$0.isWhitespace }),
      let last = lastIndex(where: { !$0.isWhitespace })
    else {
      return ""
    }
    return String(self[first...last])
  }
}
