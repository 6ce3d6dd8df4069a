import FoundationEssentials
import ReelIngest

/// Events as JSON Lines (`--events`): one object and a newline each, as `docs/events.schema.json` says.
///
/// Keys are sorted; times are UTC with milliseconds. A line is harmless in a terminal and in the log of a CI
/// runner, and reads back as the same event.
package struct EventLines: Sendable {
  private let encoder: JSONEncoder

  /// Keep it for a whole run: making an encoder costs more than a line.
  package init() {
    encoder = JSONOutput.encoder(pretty: false, times: .milliseconds)
  }

  /// The line of `event`, in UTF-8, ending in a newline.
  /// - Throws: `EncodingError`, when it holds a number that JSON has not (NaN, infinity).
  package func line(_ event: IngestEvent) throws -> [UInt8] {
    var line = SanitizedJSON.escaping(Array(try encoder.encode(event)))
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// The lines of `events`, one behind the other; cheaper than one by one.
  /// - Throws: as ``line(_:)``.
  package func lines(_ events: [IngestEvent]) throws -> [UInt8] {
    var lines: [UInt8] = []
    var time = LastTime()
    for event in events where !PlainEventLine.append(event, at: time.text(of: event.at), to: &lines) {
      lines += try line(event)
    }
    return lines
  }

  /// The event of one line.
  /// - Throws: `DecodingError`, also for an event of another version or of a type that is not known here.
  package func event(_ line: some Sequence<UInt8>) throws -> IngestEvent {
    try JSONOutput.decode(IngestEvent.self, from: line)
  }
}

/// Events that are told together have the same time, which is written once.
private struct LastTime {
  private var at: Date?
  private var text = ""

  mutating func text(of date: Date) -> String {
    if at != date {
      at = date
      text = ISOTime.text(date, .milliseconds)
    }
    return text
  }
}
