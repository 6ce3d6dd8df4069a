/// A place in a text, in characters (Unicode scalars) as libyaml counts them; both from 1.
package struct YAMLMark: Hashable, Sendable {
  package let line: Int
  package let column: Int

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }
}

/// A value of a YAML document. Two are equal when they hold the same, wherever they stand.
package struct YAMLNode: Sendable {
  package indirect enum Content: Hashable, Sendable {
    case scalar(String)
    case sequence([YAMLNode])
    case mapping([Pair])
  }

  package struct Pair: Hashable, Sendable {
    package let key: YAMLNode
    package let value: YAMLNode
  }

  package let content: Content
  /// Whether its author says that it is text, by quotes or by the tag `!!str`: no number, no `true`.
  package let isText: Bool
  /// Where it begins; an alias is where its anchor is.
  package let mark: YAMLMark

  package var scalar: String? {
    if case .scalar(let text) = content { text } else { nil }
  }

  package var sequence: [YAMLNode]? {
    if case .sequence(let items) = content { items } else { nil }
  }

  /// Nil when it is not a mapping. No key is in it twice.
  package var mapping: [Pair]? {
    if case .mapping(let pairs) = content { pairs } else { nil }
  }
}

extension YAMLNode: Hashable {
  package static func == (left: YAMLNode, right: YAMLNode) -> Bool { left.content == right.content }

  package func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

/// Why a text is not YAML that can be used.
package enum YAMLError: Error, Hashable, Sendable {
  /// A character that YAML has not. `offset` is in bytes, from 0.
  case character(problem: String, offset: Int)
  case syntax(Stage, problem: String, YAMLMark, context: Context?)
  /// In order; the mark is of the first one's first place.
  case duplicateKeys([String], YAMLMark)
  case tooDeep(YAMLMark)
  case memory

  /// Which part of a YAML reader found it.
  package enum Stage: String, Sendable {
    case scanner, parser, composer
  }

  /// What was being read, and where that began.
  package struct Context: Hashable, Sendable {
    package let text: String
    package let mark: YAMLMark
  }
}

extension YAMLError {
  /// For people who see `source`, with the line and the place in it.
  package func description(in source: String) -> String {
    switch self {
    case .character(let problem, let offset):
      let mark = Self.mark(at: offset, in: source)
      return Self.pointing(at: mark, in: source, "reader: \(problem)")
    case .syntax(let stage, let problem, let mark, let context):
      let context = context.map { "\($0.text) in line \($0.mark.line), column \($0.mark.column)\n" } ?? ""
      return Self.pointing(at: mark, in: source, "\(stage.rawValue): \(context)\(problem)")
    case .duplicateKeys(let keys, let mark):
      let named = keys.map { "'\($0)'" }.joined(separator: ", ")
      return "Parser: expected all keys to be unique but found the following duplicated key(s): \(named).\n"
        + "Context:\n\(source) in line \(mark.line), column \(mark.column)\n"
    case .tooDeep(let mark):
      return Self.pointing(at: mark, in: source, "composer: \(Self.depthProblem)")
    case .memory:
      return "Memory error"
    }
  }

  package static var depthProblem: String { "it is nested more than \(YAMLReader.deepest) levels deep" }

  private static func pointing(at mark: YAMLMark, in source: String, _ problem: String) -> String {
    let lines = source.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    // What ends too early ends behind the last line break, where no line is.
    let last = lines.count > 1 && lines.last == "" ? lines.count - 1 : lines.count
    let line = lines[min(mark.line, last) - 1]
    let before = line.unicodeScalars.prefix(mark.column - 1)
    return "\(mark.line):\(mark.column): error: \(problem):\n\(line)\n"
      + String(repeating: " ", count: String(before).utf16.count) + "^"
  }

  private static func mark(at offset: Int, in source: String) -> YAMLMark {
    let before = String(decoding: source.utf8.prefix(offset), as: UTF8.self)
    let lines = before.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    return YAMLMark(line: lines.count, column: (lines.last?.unicodeScalars.count ?? 0) + 1)
  }
}
