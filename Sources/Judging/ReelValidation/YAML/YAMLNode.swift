/// A position in a text, in characters (Unicode scalars) as libyaml counts them; line and column start at 1.
package struct YAMLMark: Hashable, Sendable {
  package let line: Int
  package let column: Int
}

/// A value in a YAML document. Two values are equal if their contents are, wherever they are.
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
  /// Whether it is marked as text, by quotes or by the tag `!!str`, rather than a number, `true` and the like.
  package let isText: Bool
  /// Where it begins; for an alias, where its anchor is.
  package let mark: YAMLMark

  package var scalar: String? {
    if case .scalar(let text) = content { text } else { nil }
  }

  /// Whether it is null (YAML 1.2, 10.2.1.1).
  package var isNull: Bool {
    scalar.map { !isText && ["", "~", "null", "Null", "NULL"].contains($0) } ?? false
  }

  package var sequence: [YAMLNode]? {
    if case .sequence(let items) = content { items } else { nil }
  }

  /// Nil if it is not a mapping. No key occurs twice.
  package var mapping: [Pair]? {
    if case .mapping(let pairs) = content { pairs } else { nil }
  }
}

extension YAMLNode: Hashable {
  package static func == (left: YAMLNode, right: YAMLNode) -> Bool { left.content == right.content }

  package func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

/// Why a text is not usable YAML.
package struct YAMLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Nil if the position is unknown.
  package let mark: YAMLMark?
  /// What is wrong, with "it" for the text; one sentence.
  package let message: String

  init(_ mark: YAMLMark?, _ message: String) {
    self.mark = mark
    self.message = message
  }

  /// `2:1: it is not YAML: …`
  package var description: String { (mark.map { "\($0.line):\($0.column): " } ?? "") + message }

  static func syntax(_ problem: String, _ mark: YAMLMark) -> YAMLError {
    let hint = "; a pattern that begins with * stands in quotes: \"*.mov\""
    return YAMLError(mark, "it is not YAML: \(problem)" + (problem.contains("alias") ? hint : ""))
  }

  static func tooDeep(_ mark: YAMLMark) -> YAMLError {
    YAMLError(mark, "it is nested more than \(YAMLReader.deepest) levels deep; is it another file?")
  }

  static let memory = YAMLError(nil, "there is no memory to read it")
}
