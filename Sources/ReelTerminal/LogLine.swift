import FoundationEssentials
import ReelCore
import ReelIngest

/// How much is logged (`--log-level`): this and everything that matters more.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
  case debug, info, warning, error

  package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}

/// A line of the log: `time=… level=… event=… key=value …` (logfmt), harmless on a terminal and in the log of a CI runner.
///
/// A value stands in quotes where it is empty or has anything but letters, digits and `._-/:+%@`; within them `"` and
/// `\` have a backslash before them.
package struct LogLine: Sendable {
  package let level: LogLevel
  private let event: String
  private let fields: [(key: String, value: String)]

  package init(_ level: LogLevel, _ event: String, _ fields: [(key: String, value: String)] = []) {
    self.level = level
    self.event = event
    self.fields = fields
  }

  /// The line and a newline.
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
    // By scalars: a quote with a combining mark behind it is a quote.
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
    let (level, facts): (LogLevel, [(key: String, value: String)])
    switch event.body {
    case .runScanned(let scanned) where !scanned.complete: return nil
    case .uploadProgress: return nil
    case .runStarted(let run):
      (level, facts) = (.info, [("destination", run.destination.name), ("dryRun", "\(run.dryRun)")])
    case .runScanned(let scanned):
      (level, facts) = (
        .debug,
        [("found", "\(scanned.found)"), ("ignored", "\(scanned.ignored)"), ("bytes", "\(scanned.bytes)")]
      )
    case .metadataWarning(let warning):
      (level, facts) = (
        .warning,
        [("path", warning.path.text), ("code", warning.code.rawValue), ("message", warning.message)]
      )
    case .fileStarted(_, let size): (level, facts) = (.debug, size.map { [("bytes", "\($0)")] } ?? [])
    case .fileProbed(_, let report):
      (level, facts) = (
        .debug,
        [("container", report.media.container.rawValue), ("method", report.provenance.method.rawValue)]
      )
    case .posterMade(_, let poster): (level, facts) = (.debug, [("bytes", "\(poster.size)")])
    case .posterFailed(_, let failure): (level, facts) = (.warning, Self.facts(failure))
    case .fileNamed(_, let named):
      (level, facts) = (
        named.attempt > 1 ? .info : .debug,
        [("id", named.id.description), ("key", named.key.rawValue), ("attempt", "\(named.attempt)")]
      )
    case .uploadRetrying(_, let progress):
      let reason = progress.retrying.map { [("code", $0.code.rawValue), ("message", $0.message)] } ?? []
      (level, facts) = (.warning, [("attempt", "\(progress.attempt)")] + reason)
    case .postPublished(_, let post):
      (level, facts) = (
        .info,
        [("id", post.id.description), ("key", post.video.rawValue)]
          + (post.size.map { [("bytes", "\($0)")] } ?? [])
      )
    case .fileDuplicate(_, let duplicate):
      (level, facts) = (.info, duplicate.post.map { [("id", $0.id.description)] } ?? [])
    case .filePlanned: (level, facts) = (.info, [])
    case .fileRefused(_, let refusal):
      (level, facts) = (.warning, [("code", refusal.code.rawValue), ("message", refusal.message)])
    case .fileFailed(_, let failure): (level, facts) = (.error, Self.facts(failure))
    case .runFinished(let summary):
      level = summary.outcome == .aborted ? .error : .info
      facts = Self.facts(summary)
    }
    let file = event.body.file.map { [("file", "\($0.number)"), ("path", $0.path.text)] } ?? []
    self.init(level, event.body.type, file + facts)
  }

  private static func facts(_ failure: FileFailure) -> [(key: String, value: String)] {
    [("code", failure.code.rawValue), ("message", failure.message)]
  }

  private static func facts(_ summary: RunSummary) -> [(key: String, value: String)] {
    let counts = [
      ("published", summary.published), ("duplicates", summary.duplicates), ("planned", summary.planned),
      ("refused", summary.refused), ("failed", summary.failedOrCancelled), ("ignored", summary.ignored),
    ]
    return [("outcome", summary.outcome.rawValue)] + counts.map { ($0.0, "\($0.1)") }
      + [("bytes", "\(summary.publishedBytes)"), ("seconds", Decimals.text(summary.seconds))]
      + (summary.error.map(facts) ?? [])
  }
}
