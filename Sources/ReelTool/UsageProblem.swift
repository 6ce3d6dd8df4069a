import ReelCore
import ReelTerminal

/// What the argument parser has to say. It quotes the arguments, and those may be a stranger's: of a shell's `*`, a name
/// that begins with `-` is an option.
struct UsageProblem {
  let message: String
  let arguments: [String]

  /// Each argument on one line, whatever is in it.
  var text: String {
    var text = Self.readable(message)
    for argument in arguments.map(Self.readable) {
      let harmless = SanitizedText.line(argument)
      if harmless != argument { text.replace(argument, with: harmless) }
    }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map {
      SanitizedText.line(String($0))
    }
    .joined(separator: "\n") + "\n"
  }

  /// What is not UTF-8 as `\xNN`.
  private static func readable(_ text: String) -> String {
    SourcePath(bytes: RawArguments.bytes(of: text)).text
  }

  func tell() {
    // Nobody may be listening on stderr; the exit code says it then.
    try? OutputStream.standardError.write(text)
  }
}
