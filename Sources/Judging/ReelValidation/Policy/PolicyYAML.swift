import ReelCore

/// Parses one policy file. Accepts any bytes: returns a document, or says what is wrong with them.
struct PolicyYAML {
  /// The largest size in bytes. People write policies by hand.
  static let largest = 256 * 1024

  static let keys = ["policy", "name", "version", "about", "sources", "extends", "rules", "overrides"]
  static let overrideKeys = ["files", "rules", "about"]
  static let settingKeys = ["value", "severity", "tolerance"]

  private let source: String
  private var problems: [PolicyProblem] = []

  /// - Throws: ``PolicyError``, with everything that is wrong with it.
  static func read(_ bytes: [UInt8], source: String) throws(PolicyError) -> PolicyDocument {
    var reader = PolicyYAML(source: source)
    let document = reader.document(bytes)
    guard reader.problems.isEmpty else {
      throw PolicyError(
        reader.problems.sorted { ($0.line ?? 0, $0.column ?? 0) < ($1.line ?? 0, $1.column ?? 0) })
    }
    return document
  }

  private init(source: String) {
    self.source = source
  }

  private mutating func document(_ bytes: [UInt8]) -> PolicyDocument {
    var document = PolicyDocument()
    guard let root = root(of: bytes) else { return document }
    for (key, node) in pairs(of: root, "a policy", keys: Self.keys) {
      switch key {
      case "policy": checkFormat(node)
      case "name": document.name = text(node, "the name")
      case "version": document.version = text(node, "the version")
      case "extends":
        document.extends = texts(node, "extends").map { PolicyDocument.Base(name: $0, place: place(node)) }
      case "rules": document.settings = settings(node)
      case "overrides": document.overrides = items(node).compactMap { override($0) }
      default: break
      }
    }
    return document
  }

  // MARK: The tree

  private mutating func root(of bytes: [UInt8]) -> YAMLNode? {
    guard bytes.count <= Self.largest else {
      return complain(
        nil, "it is larger than \(Self.largest / 1024) KiB, and a policy is not; is it another file?")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return complain(nil, "it is not UTF-8; save it as UTF-8")
    }
    do throws(YAMLError) {
      return try YAMLReader.document(in: text, allowsAnchors: false) ?? complain(nil, "it is empty")
    } catch {
      problems.append(
        PolicyProblem(
          source: source, line: error.mark?.line, column: error.mark?.column, message: error.message))
      return nil
    }
  }

  /// Returns the pairs of a mapping with known keys.
  private mutating func pairs(of node: YAMLNode, _ what: String, keys: [String]) -> [(String, YAMLNode)] {
    guard let mapping = node.mapping else {
      complain(node, "\(what) must be keys and values, like `\(keys[0]): …`")
      return []
    }
    var pairs: [(String, YAMLNode)] = []
    for pair in mapping {
      guard let key = pair.key.scalar else {
        complain(pair.key, "a key is a word")
        continue
      }
      if keys.contains(key) {
        pairs.append((key, pair.value))
      } else {
        complain(pair.key, "there is no key \"\(Self.shown(key))\" in \(what)" + Self.hint(key, among: keys))
      }
    }
    return pairs
  }

  private mutating func checkFormat(_ node: YAMLNode) {
    guard let text = text(node, "policy") else { return }
    if text != "1" {
      complain(node, "this reel knows policies of format 1, and this one is of format \(Self.shown(text))")
    }
  }

  // MARK: Rules

  private mutating func settings(_ node: YAMLNode) -> [String: RuleSetting] {
    guard let mapping = node.mapping else {
      complain(node, "rules must be keys and values, like `duration.max: 60s`")
      return [:]
    }
    var settings: [String: RuleSetting] = [:]
    for pair in mapping {
      let id = pair.key.scalar ?? ""
      guard let rule = RuleRegistry.rule(id) else {
        complain(
          pair.key,
          "there is no rule \"\(Self.shown(id))\"" + Self.hint(id, among: RuleRegistry.rules.map(\.id)))
        continue
      }
      settings[id] = setting(of: rule, pair.value)
    }
    return settings
  }

  private mutating func setting(of rule: Rule, _ node: YAMLNode) -> RuleSetting? {
    var setting = RuleSetting(severity: nil, operand: nil, place: place(node))
    if let text = node.scalar, let severity = Severity(rawValue: text) {
      setting.severity = severity
      return setting
    }
    guard node.mapping != nil else {
      setting.operand = operand(of: rule, node, tolerance: .usual)
      return setting.operand == nil ? nil : setting
    }
    var value: YAMLNode?
    var tolerance = Tolerance.usual
    for (key, node) in pairs(of: node, "the setting of a rule", keys: Self.settingKeys) {
      switch key {
      case "severity": setting.severity = severity(node)
      case "tolerance": tolerance = self.tolerance(node)
      default: value = node
      }
    }
    if let value { setting.operand = operand(of: rule, value, tolerance: tolerance) }
    return setting
  }

  private mutating func operand(of rule: Rule, _ node: YAMLNode, tolerance: Tolerance) -> Operand? {
    guard let form = rule.operand else {
      complain(node, "\(rule.id) can only be off, warn or error")
      return nil
    }
    let operand = Operand(
      node.sequence == nil ? [node.scalar ?? ""] : texts(node, rule.id), tolerance: tolerance)
    guard !node.isNull, rule.bind(operand) != nil else {
      let given = Self.shown(operand.texts.joined(separator: ", "))
      complain(node, "\(rule.id) must be \(form.name), or off, warn or error, not \"\(given)\"")
      return nil
    }
    return operand
  }

  private mutating func severity(_ node: YAMLNode) -> Severity? {
    guard let text = text(node, "severity") else { return nil }
    guard let severity = Severity(rawValue: text) else {
      complain(
        node, "a severity must be off, warn or error" + Self.hint(text, among: ["off", "warn", "error"]))
      return nil
    }
    return severity
  }

  private mutating func tolerance(_ node: YAMLNode) -> Tolerance {
    guard let text = text(node, "tolerance") else { return .usual }
    guard let tolerance = Quantity.tolerance(text) else {
      complain(node, "a tolerance must be like 0.1s, 1% or 0.05, not \"\(Self.shown(text))\"")
      return .usual
    }
    return tolerance
  }

  private mutating func override(_ node: YAMLNode) -> Policy.Override? {
    var patterns: [GlobPattern] = []
    var settings: [String: RuleSetting] = [:]
    for (key, value) in pairs(of: node, "an override", keys: Self.overrideKeys) {
      if key == "files" { patterns = self.patterns(value) }
      if key == "rules" { settings = self.settings(value) }
    }
    if patterns.isEmpty, problems.isEmpty {
      complain(node, "an override says which files it is for, like `files: \"broken/**\"`")
    }
    return Policy.Override(place: place(node), patterns: patterns, settings: settings)
  }

  private mutating func patterns(_ node: YAMLNode) -> [GlobPattern] {
    texts(node, "files").compactMap { text in
      if let pattern = GlobPattern(text) { return pattern }
      complain(node, "\"\(Self.shown(text))\" is not a pattern; it is like \"*.mov\" or \"broken/**\"")
      return nil
    }
  }

  // MARK: Texts

  private mutating func items(_ node: YAMLNode) -> [YAMLNode] {
    guard let sequence = node.sequence else {
      complain(node, "this must be a list, with a dash before each item")
      return []
    }
    return sequence
  }

  private mutating func text(_ node: YAMLNode, _ what: String) -> String? {
    guard let text = node.scalar, !text.isEmpty, !node.isNull else {
      complain(node, "\(what) must be a single text")
      return nil
    }
    return text
  }

  private mutating func texts(_ node: YAMLNode, _ what: String) -> [String] {
    if node.sequence == nil { return text(node, what).map { [$0] } ?? [] }
    return items(node).compactMap { text($0, "each item of \(what)") }
  }

  private func place(_ node: YAMLNode?) -> PolicyPlace {
    PolicyPlace(source: source, line: node?.mark.line, column: node?.mark.column)
  }

  @discardableResult
  private mutating func complain(_ node: YAMLNode?, _ message: String) -> YAMLNode? {
    problems.append(place(node).problem(message))
    return nil
  }

  private static func hint(_ word: String, among words: [String]) -> String {
    NearestWord.nearest(to: word, among: words).map { "; did you mean \($0)?" } ?? ""
  }

  /// Shortens untrusted text to what a person reads.
  private static func shown(_ text: String) -> String {
    text.count <= 60 ? text : text.prefix(60) + "…"
  }
}
