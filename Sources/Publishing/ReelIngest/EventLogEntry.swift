import ReelCore

/// An event of a run in the form a logger takes: a level, a short message, and the rest as metadata.
public struct EventLogEntry: Sendable {
  /// How much an event matters. The raw values are the names that swift-log has for these levels.
  public enum Level: String, Sendable, CaseIterable, Comparable {
    /// Useful for finding a fault.
    case debug
    /// The normal progress of a run.
    case info
    /// Something is wrong, and the run continues.
    case warning
    /// A file or the run failed.
    case error

    /// Whether `left` is the less severe level.
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

  /// The severity of the event.
  public let level: Level
  /// The event's type, such as `post.published`.
  public let message: String
  package let fields: [Field]

  /// The facts by their names in docs/events.md: `path`, `code`, `bytes`, … Values are unmodified, so a path may
  /// contain any character.
  public var metadata: [String: String] {
    Dictionary(fields.map { ($0.key, $0.value) }) { first, _ in first }
  }
}

extension IngestEvent {
  /// The event in the form a logger takes; nil for progress, which is not logged.
  public var logEntry: EventLogEntry? { body.tell(LogReader()) }
}

private struct LogReader: EventReader {
  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) -> EventLogEntry? {
    traits.level.map { level in
      let place = file.map { [("file", "\($0.number)"), ("path", $0.path.text)] } ?? []
      return EventLogEntry(level: level, message: traits.type, fields: place + facts.logged)
    }
  }
}
