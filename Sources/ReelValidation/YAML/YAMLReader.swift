/// Reads a text of one YAML document (1.1, as libyaml knows it).
package struct YAMLReader: ~Copyable {
  /// How deep a document may be nested: nothing that people write comes near, and whoever walks the tree may recurse.
  package static let deepest = 64

  private let parser: YAMLParser
  private var anchors: [String: YAMLNode] = [:]

  /// Nil when there is nothing but comments.
  package static func document(in text: String) throws(YAMLError) -> YAMLNode? {
    try Array(text.utf8).withUnsafeBufferPointer { bytes throws(YAMLError) in
      var reader = YAMLReader(parser: try YAMLParser(bytes))
      return try reader.singleDocument()
    }
  }

  private init(parser: YAMLParser) {
    self.parser = parser
  }

  private mutating func singleDocument() throws(YAMLError) -> YAMLNode? {
    _ = try parser.next()  // The stream's beginning.
    if case .end = try parser.next().kind { return nil }
    let root = try node(from: try parser.next(), depth: 1)
    _ = try parser.next()  // The document's end.
    let event = try parser.next()
    guard case .end = event.kind else {
      throw .syntax(
        .composer, problem: "but found another document", event.mark,
        context: .init(
          text: "expected a single document in the stream", mark: YAMLMark(line: 1, column: 1)))
    }
    return root
  }

  private mutating func node(from event: YAMLParser.Event, depth: Int) throws(YAMLError) -> YAMLNode {
    guard depth <= Self.deepest else { throw .tooDeep(event.mark) }
    let content: YAMLNode.Content
    var isText = false
    switch event.kind {
    case .alias:
      guard let node = event.anchor.flatMap({ anchors[$0] }) else {
        throw .syntax(.composer, problem: "found undefined alias", event.mark, context: nil)
      }
      return node
    case .scalar(let text, let isMeantAsText):
      content = .scalar(text)
      isText = isMeantAsText
    case .sequence: content = .sequence(try items(depth: depth))
    case .mapping: content = .mapping(try pairs(depth: depth))
    case .end, .other: throw .syntax(.parser, problem: "there is no value", event.mark, context: nil)
    }
    let node = YAMLNode(content: content, isText: isText, mark: event.mark)
    if let anchor = event.anchor { anchors[anchor] = node }
    return node
  }

  private mutating func items(depth: Int) throws(YAMLError) -> [YAMLNode] {
    var items: [YAMLNode] = []
    while true {
      let event = try parser.next()
      if case .end = event.kind { return items }
      items.append(try node(from: event, depth: depth + 1))
    }
  }

  private mutating func pairs(depth: Int) throws(YAMLError) -> [YAMLNode.Pair] {
    var pairs: [YAMLNode.Pair] = []
    while true {
      let event = try parser.next()
      if case .end = event.kind { break }
      let key = try node(from: event, depth: depth + 1)
      pairs.append(.init(key: key, value: try node(from: try parser.next(), depth: depth + 1)))
    }
    let doubles = Dictionary(grouping: pairs.map(\.key)) { $0 }.filter { $1.count > 1 }.keys
      .sorted { ($0.scalar ?? "") < ($1.scalar ?? "") }
    if let first = doubles.first {
      throw .duplicateKeys(doubles.map { $0.scalar ?? "<uncovertable>" }, first.mark)
    }
    return pairs
  }
}
