import FoundationEssentials
import ReelCore
import ReelIngest

/// The log level (`--log-level`): what is logged is this and everything more severe.
package typealias LogLevel = EventLogEntry.Level

/// A line of the log: `time=… level=… event=… key=value …` (logfmt), safe for a terminal and for the log of a CI
/// runner.
///
/// A value is quoted if it is empty or contains anything but letters, digits and `._-/:+%@`; within quotes, `"` and `\`
/// are preceded by a backslash.
package struct LogLine: Sendable {
  package let level: LogLevel
  private let event: String
  private let fields: [(key: String, value: String)]

  package init(_ level: LogLevel, _ event: String, _ fields: [(key: String, value: String)] = []) {
    self.level = level
    self.event = event
    self.fields = fields
  }

  /// The line, ending in a newline.
  package func text(at time: Date) -> String {
    var text = "time=\(ISOTime.text(time, .milliseconds)) level=\(level.rawValue) event=\(event)"
    for field in fields { text += " \(field.key)=\(Self.quoted(field.value))" }
    return text + "\n"
  }

  private static func quoted(_ value: String) -> String {
    let value = SanitizedText.line(value)
    let isPlain =
      !value.isEmpty
      && value.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-/:+%@".utf8.contains($0) }
    if isPlain { return value }
    // By scalars, because a quote followed by a combining mark is still a quote.
    let escaped = value.unicodeScalars.reduce(into: String.UnicodeScalarView()) { text, scalar in
      if scalar == "\"" || scalar == "\\" { text.append("\\") }
      text.append(scalar)
    }
    return "\"" + String(escaped) + "\""
  }
}

extension LogLine {
  /// The line of an event; nil for progress, which is not logged.
  package init?(_ event: IngestEvent) {
    guard let entry = event.logEntry else { return nil }
    self.init(entry.level, entry.message, entry.fields)
  }
}
