/// A kind of text, known by words in it. All conditions hold, or it is another.
struct TextKind: Sendable {
  /// Words are given in lower case.
  enum Condition: Sendable {
    /// After a byte order mark and white space.
    case begins(String)
    case contains(String)
    /// A line begins with it.
    case hasLine(String)
    /// It begins with an angle bracket.
    case isMarkup
  }
  private let conditions: [Condition]
  /// A noun with its article.
  let found: String

  init(_ conditions: Condition..., found: String) {
    self.conditions = conditions
    self.found = found
  }

  init(_ first: Condition, _ found: String) {
    self.init(first, found: found)
  }

  init(_ first: Condition, _ second: Condition, _ found: String) {
    self.init(first, second, found: found)
  }

  init(_ first: Condition, _ second: Condition, _ third: Condition, _ found: String) {
    self.init(first, second, third, found: found)
  }

  func matches(_ text: LowerCaseText) -> Bool {
    conditions.allSatisfy { condition in
      switch condition {
      case .begins(let words): text.begins(with: words)
      case .contains(let words): text.contains(words)
      case .hasLine(let words): text.hasLine(beginningWith: words)
      case .isMarkup: text.begins(with: "<")
      }
    }
  }
}
