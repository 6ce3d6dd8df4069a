import Foundation
import ReelCore
import ReelTerminal
import ReelValidation
import Testing
import ReelTestSupport

/// The published schema of policies, and other published schemas that reports must match.
@Suite("schemas") struct SchemaTests {
  static let project = Checkout.root

  @Test("docs/policy.schema.json matches the rules; if not: reel policy schema > docs/policy.schema.json")
  func published() throws {
    let text = try String(
      contentsOf: Self.project.appending(path: "docs/policy.schema.json"), encoding: .utf8)
    #expect(text == PolicySchema.text())
  }

  @Test("every notation of a value in the schema is accepted and matches its own pattern")
  func examples() throws {
    for rule in RuleRegistry.rules {
      for example in rule.operand?.examples ?? [] {
        _ = try policy("extends: none\nrules: {\(rule.id): \"\(example)\"}")
        let pattern = try Regex(rule.operand?.pattern ?? "")
        #expect(try pattern.firstMatch(in: example) != nil, "\(rule.id): \(example)")
      }
    }
  }

  @Test("docs/validate.md has the table made from the rules")
  func table() throws {
    let sanity = try PolicyLibrary { name, _ throws(PolicyError) in
      throw PolicyError([PolicyProblem(source: name, message: "no file is read")])
    }.policy(PolicyLibrary.sanity)
    let severities = Dictionary(
      uniqueKeysWithValues: sanity.rules(for: SourcePath("a.mp4")).map { ($0.rule.id, $0.severity.rawValue) })
    var lines = [
      "| rule | what it asks | value | for example | in `sanity` |", "| --- | --- | --- | --- | --- |",
    ]
    for rule in RuleRegistry.rules {
      let examples = (rule.operand?.yamlExamples ?? []).map { "`\($0)`" }.joined(separator: " ")
      lines.append(
        "| `\(rule.id)` | \(rule.title) | \(rule.operand?.name ?? "") | \(examples) | "
          + "\(severities[rule.id] ?? "") |")
    }
    let table = lines.joined(separator: "\n") + "\n"
    let page = try String(contentsOf: Self.project.appending(path: "docs/validate.md"), encoding: .utf8)
    #expect(page.contains("\n" + table + "\n"), "the table is:\n\(table)")
    for lock in RuleRegistry.infos.map(\.id) where lock.hasPrefix("lock.") {
      #expect(page.contains("`\(lock)`"))
    }
  }

  @Test("an example of a rule can be pasted into a policy, for readers of YAML 1.1, too")
  func pasted() throws {
    for rule in RuleRegistry.rules {
      for example in rule.operand?.yamlExamples ?? [] {
        _ = try policy("extends: none\nrules: {\(rule.id): \(example)}")
        // Base 60: what looks like a time of day is a number in YAML 1.1.
        #expect(try #/^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/#.firstMatch(in: example) == nil)
      }
    }
    #expect(RuleRegistry.rule("size.aspect")?.operand?.yaml == "\"9:16\"")
  }

  @Test(
    "the presets match the published schema",
    .enabled(if: PythonSchema.isThere, "python3 with jsonschema and yaml"))
  func presets() throws {
    for preset in Preset.all {
      let problems = try PythonSchema.problems(
        in: preset.text, schema: Self.project.appending(path: "docs/policy.schema.json"))
      #expect(problems == "", "\(preset.name)")
    }
    let wrong = try PythonSchema.problems(
      in: "rules: {duratoin.max: 5}", schema: Self.project.appending(path: "docs/policy.schema.json"))
    #expect(wrong != "")
  }
}

/// Python's jsonschema, if it is installed.
enum PythonSchema {
  static let isThere = (try? run("import jsonschema, yaml", input: ""))?.status == 0

  /// The violations of the schema; empty if there are none.
  static func problems(in yaml: String, schema: URL) throws -> String {
    let program = """
      import json, sys, yaml, jsonschema
      class Loader(yaml.SafeLoader): pass
      Loader.yaml_implicit_resolvers = {}
      Loader.add_implicit_resolver('tag:yaml.org,2002:int', __import__('re').compile(r'^[0-9]+$'), list('0123456789'))
      schema = json.load(open('\(schema.path)'))
      jsonschema.Draft202012Validator.check_schema(schema)
      value = yaml.load(sys.stdin.read(), Loader)
      for problem in jsonschema.Draft202012Validator(schema).iter_errors(value): print(problem.message)
      """
    let result = try run(program, input: yaml)
    return result.status == 0 ? result.output : "python3 failed"
  }

  private static func run(_ program: String, input: String) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", program]
    let (stdin, stdout) = (Pipe(), Pipe())
    process.standardInput = stdin
    process.standardOutput = stdout
    process.standardError = FileHandle.nullDevice
    try process.run()
    try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try stdin.fileHandleForWriting.close()
    let output = stdout.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
