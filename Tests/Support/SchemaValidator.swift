/// The part of JSON Schema (2020-12) that the schemas in `docs` use. A keyword that it does not know is an
/// error, so that no rule of the schema goes unchecked.
package struct SchemaValidator {
  private let root: JSONValue
  /// Other schemas that it refers to, by their file names.
  private let others: [String: JSONValue]

  package init(root: JSONValue, others: [String: JSONValue] = [:]) {
    (self.root, self.others) = (root, others)
  }

  /// The result of a validation.
  package struct Verdict {
    package var problems: [String] = []
    /// The keys of the value that the schema declares, as `/a/b`.
    var declared: Set<String> = []
    /// The property rules that a key of the value matched, by their place in the schema.
    package var used: Set<String> = []

    mutating func add(_ other: Verdict) {
      problems += other.problems
      declared.formUnion(other.declared)
      used.formUnion(other.used)
    }
  }

  private static let annotations: Set<String> = ["$schema", "$id", "$defs", "title", "description"]

  /// - Parameter definition: one of the schema's `$defs`; nil for the schema itself.
  package func validate(_ value: JSONValue, as definition: String? = nil) throws -> Verdict {
    var verdict =
      try definition.map { try validate(value, named: "#/$defs/" + $0) }
      ?? validate(value, root, at: "", rule: "#")
    for key in Self.keys(of: value, at: "") where !verdict.declared.contains(key) {
      verdict.problems.append("\(key) is not in the schema")
    }
    return verdict
  }

  /// Every property rule of the schema, by its place.
  package var propertyRules: Set<String> { Self.propertyRules(root, at: "#") }

  private static func propertyRules(_ schema: JSONValue, at place: String) -> Set<String> {
    switch schema {
    case .object(let members):
      members.reduce(into: []) { rules, member in
        let inner = "\(place)/\(member.key)"
        if place.hasSuffix("/properties") { rules.insert(inner) }
        rules.formUnion(propertyRules(member.value, at: inner))
      }
    case .array(let elements):
      elements.enumerated().reduce(into: []) {
        $0.formUnion(propertyRules($1.element, at: "\(place)/\($1.offset)"))
      }
    default: []
    }
  }

  private static func keys(of value: JSONValue, at path: String) -> Set<String> {
    switch value {
    case .object(let members):
      members.reduce(into: []) {
        $0.formUnion(keys(of: $1.value, at: "\(path)/\($1.key)").union(["\(path)/\($1.key)"]))
      }
    case .array(let elements): elements.reduce(into: []) { $0.formUnion(keys(of: $1, at: "\(path)[]")) }
    default: []
    }
  }

  private func validate(
    _ value: JSONValue, _ schema: JSONValue, at path: String, rule: String
  ) throws -> Verdict {
    var verdict = Verdict()
    for (keyword, operand) in schema.members where !Self.annotations.contains(keyword) {
      verdict.add(try check(keyword, operand, value, at: path, rule: "\(rule)/\(keyword)"))
    }
    return verdict
  }

  private func check(
    _ keyword: String, _ operand: JSONValue, _ value: JSONValue, at path: String, rule: String
  ) throws -> Verdict {
    switch keyword {
    case "$ref":
      return try validate(value, named: operand.text ?? "", at: path)
    case "allOf", "anyOf", "oneOf": return try combine(keyword, operand.elements, value, at: path, rule: rule)
    case "properties": return try properties(operand.members, value, at: path, rule: rule)
    case "additionalProperties": return try additional(operand, value, at: path, rule: rule)
    case "items":
      return try value.elements.reduce(into: Verdict()) {
        $0.add(try validate($1, operand, at: "\(path)[]", rule: rule))
      }
    default:
      guard let holds = try holds(keyword, operand, value) else { return problem("unknown keyword \(rule)") }
      return holds ? Verdict() : problem("\(path) breaks \(rule): \(value)")
    }
  }

  /// - Parameter reference: `#/$defs/NAME`, or `FILE#/$defs/NAME`.
  private func validate(_ value: JSONValue, named reference: String, at path: String = "") throws -> Verdict {
    let parts = reference.split(separator: "#", omittingEmptySubsequences: false).map(String.init)
    let schema = parts[0].isEmpty ? root : others[parts[0]]
    let name = reference.split(separator: "/").last.map(String.init) ?? ""
    guard let schema, let target = schema["$defs"]?[name] else {
      return problem("no definition \(reference)")
    }
    // Its own references are to the same file.
    let validator = parts[0].isEmpty ? self : SchemaValidator(root: schema)
    return try validator.validate(value, target, at: path, rule: "\(reference)")
  }

  private func combine(
    _ keyword: String, _ schemas: [JSONValue], _ value: JSONValue, at path: String, rule: String
  ) throws -> Verdict {
    let verdicts = try schemas.enumerated().map {
      try validate(value, $0.element, at: path, rule: "\(rule)/\($0.offset)")
    }
    if keyword == "allOf" { return verdicts.reduce(into: Verdict()) { $0.add($1) } }
    let passing = verdicts.filter(\.problems.isEmpty)
    guard passing.count == 1 || (keyword == "anyOf" && !passing.isEmpty) else {
      return problem("\(path) fits \(passing.count) of \(rule): \(verdicts.map(\.problems.first))")
    }
    return passing.reduce(into: Verdict()) { $0.add($1) }
  }

  private func properties(
    _ rules: [String: JSONValue], _ value: JSONValue, at path: String, rule: String
  ) throws -> Verdict {
    try value.members.reduce(into: Verdict()) { verdict, member in
      guard let schema = rules[member.key] else { return }
      verdict.declared.insert("\(path)/\(member.key)")
      verdict.used.insert("\(rule)/\(member.key)")
      verdict.add(
        try validate(member.value, schema, at: "\(path)/\(member.key)", rule: "\(rule)/\(member.key)"))
    }
  }

  private func additional(
    _ schema: JSONValue, _ value: JSONValue, at path: String, rule: String
  ) throws -> Verdict {
    try value.members.reduce(into: Verdict()) { verdict, member in
      verdict.declared.insert("\(path)/\(member.key)")
      verdict.add(try validate(member.value, schema, at: "\(path)/\(member.key)", rule: rule))
    }
  }

  /// Nil for an unknown keyword. A rule about another type of value holds (RFC draft, 7.6.1).
  private func holds(_ keyword: String, _ operand: JSONValue, _ value: JSONValue) throws -> Bool? {
    switch keyword {
    case "const": value == operand
    case "enum": operand.elements.contains(value)
    case "type":
      (operand.text.map { [$0] } ?? operand.elements.compactMap(\.text)).contains { isOf($0, value) }
    case "required":
      operand.elements.compactMap(\.text).allSatisfy { value[$0] != nil }
    case "minItems": Double(value.elements.count) >= operand.double ?? .infinity
    case "minimum": value.double.map { $0 >= operand.double ?? .infinity } ?? true
    case "exclusiveMinimum": value.double.map { $0 > operand.double ?? .infinity } ?? true
    case "maximum": value.double.map { $0 <= operand.double ?? -.infinity } ?? true
    case "pattern": try value.text.map { try $0.firstMatch(of: Regex(operand.text ?? "(?!)")) != nil } ?? true
    default: nil
    }
  }

  private func isOf(_ type: String, _ value: JSONValue) -> Bool {
    switch (type, value) {
    case ("null", .null), ("boolean", .bool), ("integer", .integer), ("string", .string), ("array", .array),
      ("object", .object), ("number", .integer), ("number", .number):
      true
    default: false
    }
  }

  private func problem(_ text: String) -> Verdict { Verdict(problems: [text]) }
}
