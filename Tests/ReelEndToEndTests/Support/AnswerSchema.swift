import Foundation
import ReelTestSupport
import Testing

/// `docs/answers.schema.json`, against which every JSON answer in any test is validated.
enum AnswerSchema {
  /// The names of the commands in the schema.
  static let commands = Set(HelpTests.commands.map { $0.words.joined(separator: " ") })
    .intersection(definitions.keys)
  static let definitions = schema("answers")["$defs"]?.members ?? [:]

  private static let validator = SchemaValidator(
    root: schema("answers"), others: ["events.schema.json": schema("events")])

  private static func schema(_ name: String) -> JSONValue {
    let file = Checkout.root.appending(path: "docs/\(name).schema.json")
    let value = try? JSONDecoder().decode(JSONValue.self, from: Data(contentsOf: file))
    return value ?? .null
  }

  /// Returns the problems of a command's answer. There are none if it printed no JSON, or was not asked for any.
  /// - Parameter arguments: The arguments that the command got.
  static func problems(of output: String, _ arguments: [String]) -> [String] {
    guard arguments.contains("--json"),
      let answer = try? JSONDecoder().decode(JSONValue.self, from: Data(output.utf8))
    else { return [] }
    // A launcher's own arguments may come first.
    let name =
      arguments.indices.lazy.map { HelpTests.name(of: Array(arguments[$0...])) }.first { !$0.isEmpty } ?? ""
    // The default subcommand.
    let command = name == "cache" ? "cache show" : name
    let isFrameOnly = Set(answer.members.keys) == ["v", "ok", "problems"]
    let definition = isFrameOnly && answer["ok"] == .bool(false) ? "couldNotRun" : command
    do {
      return try validator.validate(answer, as: definition).problems.map { "\(command): \($0)" }
    } catch {
      return ["\(command): \(error)"]
    }
  }
}
