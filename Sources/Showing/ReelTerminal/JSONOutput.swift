import FoundationEssentials
import ReelCore
import ReelIngest

/// Writes and reads Reel's JSON: keys are sorted, slashes are not escaped, and times are in UTC as ISO 8601, to the
/// second, or to the millisecond if there are any (`2024-05-01T10:11:12Z`, `2024-05-01T10:11:12.250Z`).
///
/// Characters in strings that a terminal or a CI runner would act on are written as `\uXXXX`.
package enum JSONOutput {
  /// Returns `value` as JSON, followed by a newline.
  ///
  /// - Parameter pretty: whether to use several lines, for people.
  /// - Throws: `EncodingError` if `value` contains a number that JSON can't represent (NaN, infinity).
  package static func text(_ value: some Encodable, pretty: Bool = false) throws -> String {
    let json = try encoder(pretty: pretty, times: .secondsOrMilliseconds).encode(value)
    return String(decoding: SanitizedJSON.escaping(Array(json)), as: UTF8.self) + "\n"
  }

  /// Reads what ``text(_:pretty:)`` or ``EventLines`` wrote.
  /// - Throws: `DecodingError`.
  package static func decode<Value: Decodable>(_ type: Value.Type, from json: some Sequence<UInt8>) throws
    -> Value
  {
    try JSONDecoder().decode(type, from: Data(json))
  }

  static func encoder(pretty: Bool, times: ISOTime.Precision) -> JSONEncoder {
    let encoder = JSONEncoder(times: .text(times))
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return encoder
  }
}

extension Encodable {
  /// Its JSON followed by a newline, for `--json`.
  ///
  /// - Parameter pretty: whether to use several lines, for people.
  /// - Throws: `EncodingError` if it contains a number that JSON can't represent (NaN, infinity).
  package func json(pretty: Bool = false) throws -> String {
    try JSONOutput.text(self, pretty: pretty)
  }
}

/// Events as JSON Lines (`--events`): one object and a newline each, according to `docs/events.schema.json`.
///
/// Keys are sorted; times are UTC with milliseconds. A line can do no harm in a terminal or in the log of a CI runner,
/// and reads back as the same event.
package struct EventLines: Sendable {
  private let encoder: JSONEncoder

  /// Keep one for a whole run: creating an encoder costs more than a line.
  package init() {
    encoder = JSONOutput.encoder(pretty: false, times: .milliseconds)
  }

  /// The line of `event` in UTF-8, ending in a newline.
  /// - Throws: `EncodingError` if the event contains a number that JSON can't represent (NaN, infinity).
  package func line(_ event: IngestEvent) throws -> [UInt8] {
    var line = SanitizedJSON.escaping(Array(try encoder.encode(event)))
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// The concatenated lines of `events`; cheaper than one by one.
  package func lines(_ events: [IngestEvent]) throws -> [UInt8] {
    var lines: [UInt8] = []
    var time = LastTime()
    for event in events where !PlainEventLine.append(event, at: time.text(of: event.at), to: &lines) {
      lines += try line(event)
    }
    return lines
  }

  /// Reads the event of one line.
  /// - Throws: `DecodingError`, also for an event of another version or of an unknown type.
  package func event(_ line: some Sequence<UInt8>) throws -> IngestEvent {
    try JSONOutput.decode(IngestEvent.self, from: line)
  }
}

/// Caches the text of the last time: events emitted together have the same time.
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

/// The end of a run as JSON (`reel ingest --json`).
///
/// `{"destination": …, "dryRun": …, "summary": {as in run.finished}, "unfinished": …, "problemsLeftOut": 0, …}`;
/// `troubles` and `troublesLeftOut` are the names that `problems` and `problemsLeftOut` had up to 0.2, kept for one
/// version.
package struct RunDocument: Encodable, Sendable {
  @ExplicitNull private var destination: Destination?
  private let dryRun: Bool
  private let summary: RunSummary
  @ExplicitNull private var unfinished: Int?
  private let troubles: [ProblemList.Entry]
  private let troublesLeftOut: Int
  private let problemsLeftOut: Int
  private let warnings: [ProblemList.Entry]
  private let elsewhere: Int?
  private let ofOtherAuthors: Int?
  private let waiting: Int?

  package init(_ report: RunReport) {
    _destination = ExplicitNull(wrappedValue: report.destination)
    dryRun = report.dryRun
    summary = report.summary
    _unfinished = ExplicitNull(wrappedValue: report.unfinished)
    (troubles, troublesLeftOut) = (report.troubles.entries, report.troubles.leftOut)
    problemsLeftOut = troublesLeftOut
    warnings = report.troubles.warnings
    elsewhere = report.seconds?.elsewhere
    ofOtherAuthors = report.seconds?.ofOthers
    waiting = report.origin == .watch ? report.waiting : nil
  }

  /// - Parameter ok: whether the command's exit code is 0.
  package func answer(ok: Bool) -> AnswerDocument<Self> {
    var problems = troubles.map { AnswerProblem($0) }
    if let error = summary.error { problems.append(AnswerProblem(error.code.rawValue, error.message)) }
    if !ok, problems.isEmpty || summary.outcome == .cancelled { problems.append(.interrupted) }
    return AnswerDocument(self, problems: problems, ok: ok)
  }
}
