import ArgumentParser
import ReelTerminal

/// The options of commands that answer in text for people, or in one JSON document.
struct AnswerOptions: ParsableArguments {
  @Flag(help: "Print JSON.")
  var json = false

  /// Prints `document` where JSON was asked for, else `text`.
  func tell<Body: Encodable>(
    _ document: @autoclosure () throws -> AnswerDocument<Body>, text: (TerminalTraits) throws -> String
  ) throws {
    try OutputStream.standardOutput.answer(json: json, try document(), text: text)
  }
}
