/// Text from an adapter, made fit for a message.
enum AdapterText {
  /// At most `limit` characters on one line, without control characters and characters that turn text around.
  static func sentence(_ text: some StringProtocol, limit: Int = 300) -> String {
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: " "
      default: scalar
      }
    }
    var line = String(String.UnicodeScalarView(scalars))
      .split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    if line.count > limit { line = line.prefix(limit) + "…" }
    return line
  }

  /// The beginning of something that was not understood. What is secret in it has to be gone before: a secret that was
  /// cut is found by nobody.
  static func quoted(_ text: String) -> String { "\"" + sentence(text, limit: 80) + "\"" }
}
