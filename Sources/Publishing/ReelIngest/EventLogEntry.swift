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
