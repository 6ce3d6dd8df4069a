import ReelCore

/// An event of a run as a logger takes it: a level, a short message, and the rest as metadata.
public struct EventLogEntry: Sendable {
  /// How much an event matters. The raw values are the names that swift-log has for these levels.
  public enum Level: String, Sendable, CaseIterable, Comparable {
    /// Of use to who looks for a fault.
    case debug
    /// What a run does.
    case info
    /// Something is not as it should be, and the run goes on.
    case warning
    /// A file failed, or the run.
    case error

    /// Whether `left` matters less.
    public static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

    private var rank: Int {
      switch self {
      case .debug: 0
      case .info: 1
      case .warning: 2
      case .error: 3
      }
    }
  }

  package typealias Field = (key: String, value: String)

  /// How much it matters.
  public let level: Level
  /// The event's type, such as `post.published`.
  public let message: String
  package let fields: [Field]

  /// What there is to know, by its name in docs/events.md: `path`, `code`, `bytes`, … Values are as they came: a path may hold
  /// any character.
  public var metadata: [String: String] {
    Dictionary(fields.map { ($0.key, $0.value) }) { first, _ in first }
  }
}

extension IngestEvent {
  /// The event as a logger takes it; nil for progress, which is not logged.
  public var logEntry: EventLogEntry? {
    guard let (level, facts) = body.logged else { return nil }
    let file = body.file.map { [("file", "\($0.number)"), ("path", $0.path.text)] } ?? []
    return EventLogEntry(level: level, message: body.type, fields: file + facts)
  }
}

extension IngestEvent.Body {
  fileprivate var logged: (EventLogEntry.Level, [EventLogEntry.Field])? {
    switch self {
    case .runScanned(let scanned) where !scanned.complete: return nil
    case .uploadProgress: return nil
    case .runStarted(let run):
      let reel = run.reel.map { [("reel", $0)] } ?? []
      return (.info, [("destination", run.destination.name), ("dryRun", "\(run.dryRun)")] + reel)
    case .runScanned(let scanned):
      return (
        .debug,
        [("found", "\(scanned.found)"), ("ignored", "\(scanned.ignored)"), ("bytes", "\(scanned.bytes)")]
      )
    case .metadataWarning(let warning):
      return (
        .warning,
        [("path", warning.path.text), ("code", warning.code.rawValue), ("message", warning.message)]
      )
    case .watchNotice(let notice):
      return (
        notice.code.isProblem ? .warning : .info,
        [("path", notice.path.text), ("code", notice.code.rawValue), ("message", notice.message)]
      )
    case .fileStarted(_, let size): return (.debug, size.map { [("bytes", "\($0)")] } ?? [])
    case .fileProbed(_, let report):
      return (
        .debug,
        [("container", report.media.container.rawValue), ("method", report.provenance.method.rawValue)]
      )
    case .posterMade(_, let poster): return (.debug, [("bytes", "\(poster.size)")])
    case .fileNotMended(_, let failure), .posterFailed(_, let failure): return (.warning, Self.facts(failure))
    case .fileNamed(_, let named):
      return (
        named.attempt > 1 ? .info : .debug,
        [("id", named.id.description), ("key", named.key.rawValue), ("attempt", "\(named.attempt)")]
      )
    case .uploadRetrying(_, let progress):
      let reason = progress.retrying.map { [("code", $0.code.rawValue), ("message", $0.message)] } ?? []
      return (.warning, [("attempt", "\(progress.attempt)")] + reason)
    case .postPublished(_, let post):
      return (
        .info,
        [("id", post.id.description), ("key", post.video.rawValue)]
          + (post.size.map { [("bytes", "\($0)")] } ?? [])
      )
    case .fileDuplicate(_, let duplicate):
      return (.info, duplicate.post.map { [("id", $0.id.description)] } ?? [])
    case .filePlanned: return (.info, [])
    case .fileRefused(_, let refusal):
      return (.warning, [("code", refusal.code.rawValue), ("message", refusal.message)])
    case .fileFailed(_, let failure): return (.error, Self.facts(failure))
    case .filePostponed(_, let failure): return (.info, Self.facts(failure))
    case .runFinished(let summary):
      return (summary.outcome == .aborted ? .error : .info, Self.facts(summary))
    }
  }

  private static func facts(_ failure: FileFailure) -> [EventLogEntry.Field] {
    [("code", failure.code.rawValue), ("message", failure.message)]
  }

  private static func facts(_ summary: RunSummary) -> [EventLogEntry.Field] {
    let counts = [
      ("published", summary.published), ("duplicates", summary.duplicates), ("planned", summary.planned),
      ("refused", summary.refused), ("failed", summary.failedOrCancelled), ("ignored", summary.ignored),
    ]
    return [("outcome", summary.outcome.rawValue)] + counts.map { ($0.0, "\($0.1)") }
      + [("bytes", "\(summary.publishedBytes)"), ("seconds", Decimals.text(summary.seconds))]
      + (summary.error.map(facts) ?? [])
  }
}
