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

  /// The first bytes of something that was not understood.
  static func quoted(_ bytes: some Collection<UInt8>) -> String {
    "\"" + sentence(String(decoding: bytes.prefix(120), as: UTF8.self), limit: 80) + "\""
  }
}
