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

  /// Nil when it is not a scalar.
  package var scalar: String? {
    if case .scalar(let text) = content { text } else { nil }
  }

  /// Nil when it is not a sequence.
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
