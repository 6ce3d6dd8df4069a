import CYAML

/// libyaml's parser as a sequence of events. The bytes must outlive it.
final class YAMLParser {
  struct Event {
    enum Kind {
      case alias
      case scalar(String, isText: Bool)
      case sequence, mapping
      /// The end of a sequence, a mapping or the stream.
      case end
      case other
    }

    let kind: Kind
    let mark: YAMLMark
    /// The name of an anchor; for an alias, of the anchor to which it refers.
    let anchor: String?
  }

  /// Allocated separately, because libyaml keeps its address.
  private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
  private let bytes: UnsafeBufferPointer<UInt8>

  init(_ bytes: UnsafeBufferPointer<UInt8>) throws(YAMLError) {
    self.bytes = bytes
    parser.initialize(to: yaml_parser_t())
    guard yaml_parser_initialize(parser) == 1 else { throw .memory }
    // Otherwise a text that begins like UTF-16 would be taken for UTF-16.
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  func next() throws(YAMLError) -> Event {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw error }
    defer { yaml_event_delete(&event) }
    return Event(event)
  }

  private var error: YAMLError {
    let parser = parser.pointee
    let problem = parser.problem.map { String(cString: $0) } ?? ""
    let mark = YAMLMark(parser.problem_mark)
    return switch parser.error {
    case YAML_MEMORY_ERROR: .memory
    case YAML_READER_ERROR: YAMLError(self.mark(at: parser.problem_offset), "it is not text: \(problem)")
    // libyaml's own limit, which it may reach while looking ahead.
    case YAML_PARSER_ERROR where problem.hasPrefix("Maximum nesting level"): .tooDeep(mark)
    default: .syntax(problem, mark)
    }
  }

  private func mark(at offset: Int) -> YAMLMark {
    let lines = String(decoding: bytes.prefix(offset), as: UTF8.self)
      .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    return YAMLMark(line: lines.count, column: (lines.last?.unicodeScalars.count ?? 0) + 1)
  }
}

extension YAMLParser.Event {
  fileprivate init(_ event: yaml_event_t) {
    mark = YAMLMark(event.start_mark)
    let data = event.data
    switch event.type {
    case YAML_ALIAS_EVENT:
      kind = .alias
      anchor = Self.text(data.alias.anchor)
    case YAML_SCALAR_EVENT:
      let bytes = UnsafeBufferPointer(start: data.scalar.value, count: data.scalar.length)
      kind = .scalar(
        // A byte order mark is not part of a text.
        String(decoding: bytes.starts(with: "\u{FEFF}".utf8) ? bytes[3...] : bytes[...], as: UTF8.self),
        isText: data.scalar.quoted_implicit == 1 || Self.text(data.scalar.tag) == YAML_STR_TAG)
      anchor = Self.text(data.scalar.anchor)
    case YAML_SEQUENCE_START_EVENT:
      kind = .sequence
      anchor = Self.text(data.sequence_start.anchor)
    case YAML_MAPPING_START_EVENT:
      kind = .mapping
      anchor = Self.text(data.mapping_start.anchor)
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT, YAML_STREAM_END_EVENT:
      kind = .end
      anchor = nil
    default:
      kind = .other
      anchor = nil
    }
  }

  private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    pointer.map { String(cString: $0) }
  }
}

extension YAMLMark {
  fileprivate init(_ mark: yaml_mark_t) {
    self.init(line: mark.line + 1, column: mark.column + 1)
  }
}

/// Parses a text with one YAML document (1.1, as libyaml supports it).
package struct YAMLReader: ~Copyable {
  /// The deepest nesting of a document. No text written by people comes near it, and code that walks the tree can
  /// recurse.
  package static let deepest = 64

  private let parser: YAMLParser
  private let allowsAnchors: Bool
  private var anchors: [String: YAMLNode] = [:]

  /// Returns nil if there is nothing but comments.
  ///
  /// - Parameter allowsAnchors: false for untrusted text, in which a few lines of aliases to aliases make a tree too
  ///   large to walk.
  package static func document(
    in text: String, allowsAnchors: Bool = true
  ) throws(YAMLError) -> YAMLNode? {
    try Array(text.utf8).withUnsafeBufferPointer { bytes throws(YAMLError) in
      var reader = YAMLReader(parser: try YAMLParser(bytes), allowsAnchors: allowsAnchors)
      return try reader.singleDocument()
    }
  }

  private init(parser: YAMLParser, allowsAnchors: Bool) {
    self.parser = parser
    self.allowsAnchors = allowsAnchors
  }

  private mutating func singleDocument() throws(YAMLError) -> YAMLNode? {
    _ = try parser.next()  // The stream's beginning.
    if case .end = try parser.next().kind { return nil }
    let root = try node(from: try parser.next(), depth: 1)
    _ = try parser.next()  // The document's end.
    let event = try parser.next()
    guard case .end = event.kind else {
      throw .syntax("expected a single document in the stream but found another document", event.mark)
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
        throw .syntax("found undefined alias", event.mark)
      }
      return node
    case _ where event.anchor != nil && !allowsAnchors:
      throw YAMLError(
        event.mark,
        "anchors (&name) have no meaning here; write the value out, or put the text in quotes")
    case .scalar(let text, let isMeantAsText):
      content = .scalar(text)
      isText = isMeantAsText
    case .sequence: content = .sequence(try items(depth: depth))
    case .mapping: content = .mapping(try pairs(depth: depth))
    case .end, .other: throw .syntax("there is no value", event.mark)
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
      let named = doubles.prefix(3).map { ($0.scalar ?? "a list or more keys").prefix(60) }
      throw YAMLError(first.mark, "this key appears twice: \(named.joined(separator: ", ")); keep one")
    }
    return pairs
  }
}
