import FoundationEssentials

/// The JSON Schema (draft 2020-12) of policy files, generated from the rules themselves; `docs/policy.schema.json`
/// holds its text.
package enum PolicySchema {
  package static func text() -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    // It contains only texts, lists and objects, which can always be encoded.
    guard let json = try? encoder.encode(schema) else { return "" }
    return String(decoding: json, as: UTF8.self) + "\n"
  }

  private static let severities = Tree.list(Severity.allCases.map { .text($0.rawValue) })

  private static var schema: Tree {
    let rules = RuleRegistry.rules.map { ($0.id, setting($0)) }
    return .object([
      "$schema": .text("https://json-schema.org/draft/2020-12/schema"),
      "title": .text("A policy of reel validate"),
      "type": .text("object"),
      "additionalProperties": .no,
      "properties": .object([
        "policy": .object([
          "description": .text("The version of this format."), "enum": .list([.number(1), .text("1")]),
        ]),
        "name": text("What reports call it."), "version": text("Its own date or number."),
        "about": .object(["description": .text("For people.")]),
        "sources": .object(["description": .text("Where its numbers come from; for people.")]),
        "extends": oneOrMore(
          text("A preset, a policy file (relative to this one), or none. Not said: sanity.")),
        "rules": .object(["$ref": .text("#/$defs/rules")]),
        "overrides": .object([
          "type": .text("array"),
          "description": .text("Other settings for some files; the last that fits counts."),
          "items": .object([
            "type": .text("object"), "additionalProperties": .no, "required": .list([.text("files")]),
            "properties": .object([
              "files": oneOrMore(text("A pattern like *.mov or broken/**.")),
              "rules": .object(["$ref": .text("#/$defs/rules")]),
              "about": .object(["description": .text("For people.")]),
            ]),
          ]),
        ]),
      ]),
      "$defs": .object([
        "rules": .object([
          "type": .text("object"), "additionalProperties": .no,
          "properties": .object(Dictionary(rules) { first, _ in first }),
        ])
      ]),
    ])
  }

  private static func setting(_ rule: Rule) -> Tree {
    let severity = Tree.object(["enum": severities])
    var members: [String: Tree] = ["severity": severity]
    var choices = [severity]
    if let form = rule.operand {
      let value = self.value(form)
      choices.append(value)
      members["value"] = value
      members["tolerance"] = .object([
        "description": .text("Like 0.1s, 1% or 0.05."), "type": .list([.text("string"), .text("number")]),
      ])
    }
    choices.append(
      .object([
        "type": .text("object"), "additionalProperties": .no, "properties": .object(members),
      ]))
    return .object(["description": .text(rule.title), "anyOf": .list(choices)])
  }

  private static func value(_ form: OperandForm) -> Tree {
    let string = Tree.object([
      "type": .text("string"), "pattern": .text(form.pattern),
      "examples": .list(form.examples.map { .text($0) }), "description": .text(form.name),
    ])
    let number = Tree.object(["type": .text("number"), "minimum": .number(0)])
    let one = form.isNumber ? Tree.object(["anyOf": .list([string, number])]) : string
    return form.isList ? oneOrMore(one) : one
  }

  private static func oneOrMore(_ item: Tree) -> Tree {
    .object([
      "anyOf": .list([
        item, .object(["type": .text("array"), "minItems": .number(1), "items": item]),
      ])
    ])
  }

  private static func text(_ description: String) -> Tree {
    .object(["type": .list([.text("string"), .text("number")]), "description": .text(description)])
  }

  private indirect enum Tree: Encodable {
    case text(String)
    case number(Int)
    case no
    case list([Tree])
    case object([String: Tree])

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .number(let number): try container.encode(number)
      case .no: try container.encode(false)
      case .list(let list): try container.encode(list)
      case .object(let object): try container.encode(object)
      }
    }
  }
}
