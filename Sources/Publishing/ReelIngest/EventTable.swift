import ReelCore

/// The fixed properties of a type of event.
struct EventTraits {
  /// The `type` in the JSON, and the message in a log.
  let type: String
  /// The log level; nil if the event is not logged.
  var level: EventLogEntry.Level?
  /// Why people must know of it, in which case ``EventFacts/remark`` has the message.
  var concern: EventConcern?
  /// Whether it is the one event that ends its file, or the run.
  var ends = false
}

/// Why people must know of an event.
package enum EventConcern: Sendable {
  /// Something is wrong, but no file ended because of it.
  case warning
  /// The policy does not want the file.
  case refused
  /// The file failed.
  case failed
}

/// Reads an event through ``IngestEvent/Body/tell(_:)``, with one method for the facts of every type.
protocol EventReader<Answer> {
  associatedtype Answer
  associatedtype Failure: Error

  /// - Parameters:
  ///   - file: nil for an event of the run.
  ///   - body: makes the same event from other facts.
  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) throws(Failure) -> Answer
}

// MARK: The table

extension IngestEvent.Body {
  /// Passes the event to `reader`: one row for each type of event.
  func tell<Reader: EventReader>(_ reader: Reader) throws(Reader.Failure) -> Reader.Answer {
    func row<Facts: EventFacts>(
      _ type: String, _ level: EventLogEntry.Level?, _ file: FileReference?, _ facts: Facts,
      concern: EventConcern? = nil, ends: Bool = false,
      _ body: (Facts) -> IngestEvent.Body
    ) throws(Reader.Failure) -> Reader.Answer {
      let traits = EventTraits(type: type, level: level, concern: concern, ends: ends)
      return try reader.read(traits, file, facts, body)
    }
    switch self {
    case .runStarted(let run): return try row("run.started", .info, nil, run) { .runStarted($0) }
    case .runScanned(let scan):
      return try row("run.scanned", scan.complete ? .debug : nil, nil, scan) {
        .runScanned($0)
      }
    case .metadataWarning(let warning):
      return try row("metadata.warning", .warning, nil, warning, concern: .warning) { .metadataWarning($0) }
    case .watchNotice(let notice):
      let isProblem = notice.code.isProblem
      return try row(
        "watch.notice", isProblem ? .warning : .info, nil, notice, concern: isProblem ? .warning : nil
      ) { .watchNotice($0) }
    case .fileStarted(let file, let size):
      return try row("file.started", .debug, file, FileSize(size: size)) { .fileStarted(file, size: $0.size) }
    case .fileProbed(let file, let report):
      return try row("file.probed", .debug, file, report) { .fileProbed(file, $0) }
    case .fileNotMended(let file, let failure):
      return try row("file.notMended", .warning, file, failure, concern: .warning) {
        .fileNotMended(file, $0)
      }
    case .posterMade(let file, let poster):
      return try row("poster.made", .debug, file, poster) { .posterMade(file, $0) }
    case .posterFailed(let file, let failure):
      return try row("poster.failed", .warning, file, failure, concern: .warning) { .posterFailed(file, $0) }
    case .fileNamed(let file, let named):
      return try row("file.named", named.attempt > 1 ? .info : .debug, file, named) { .fileNamed(file, $0) }
    case .uploadProgress(let file, let progress):
      return try row("upload.progress", nil, file, progress) { .uploadProgress(file, $0) }
    case .uploadRetrying(let file, let progress):
      return try row("upload.retrying", .warning, file, progress) { .uploadRetrying(file, $0) }
    case .postPublished(let file, let post):
      return try row("post.published", .info, file, post, ends: true) { .postPublished(file, $0) }
    case .fileDuplicate(let file, let duplicate):
      return try row("file.duplicate", .info, file, duplicate, ends: true) { .fileDuplicate(file, $0) }
    case .fileRemoved(let file, let removed):
      return try row("file.removed", .info, file, removed, ends: true) { .fileRemoved(file, $0) }
    case .filePlanned(let file, let plan):
      return try row("file.planned", .info, file, plan, ends: true) { .filePlanned(file, $0) }
    case .fileRefused(let file, let refusal):
      return try row("file.refused", .warning, file, refusal, concern: .refused, ends: true) {
        .fileRefused(file, $0)
      }
    case .fileFailed(let file, let failure):
      // A file that was merely not processed is no failure to show.
      return try row(
        "file.failed", failure.isCancellation ? .info : .error, file, failure,
        concern: failure.isCancellation ? nil : .failed, ends: true
      ) { .fileFailed(file, $0) }
    case .filePostponed(let file, let failure):
      return try row("file.postponed", .info, file, failure, ends: true) { .filePostponed(file, $0) }
    case .postRemoved(let removed):
      return try row("post.removed", .info, nil, removed) { .postRemoved($0) }
    case .postRestored(let post): return try row("post.restored", .info, nil, post) { .postRestored($0) }
    case .postEdited(let edited): return try row("post.edited", .info, nil, edited) { .postEdited($0) }
    case .postMoved(let moved): return try row("post.moved", .info, nil, moved) { .postMoved($0) }
    case .runFinished(let summary):
      return try row("run.finished", summary.outcome == .aborted ? .error : .info, nil, summary, ends: true) {
        .runFinished($0)
      }
    }
  }

  /// The function that reads the facts, for each type of event.
  static let readings: [String: @Sendable (any Decoder) throws -> IngestEvent.Body] = [
    "run.started": run(IngestEvent.Body.runStarted),
    "run.scanned": run(IngestEvent.Body.runScanned),
    "metadata.warning": run(IngestEvent.Body.metadataWarning),
    "watch.notice": run(IngestEvent.Body.watchNotice),
    "file.started": file { (file, facts: FileSize) in .fileStarted(file, size: facts.size) },
    "file.probed": file(IngestEvent.Body.fileProbed),
    "file.notMended": file(IngestEvent.Body.fileNotMended),
    "poster.made": file(IngestEvent.Body.posterMade),
    "poster.failed": file(IngestEvent.Body.posterFailed),
    "file.named": file(IngestEvent.Body.fileNamed),
    "upload.progress": file(IngestEvent.Body.uploadProgress),
    "upload.retrying": file(IngestEvent.Body.uploadRetrying),
    "post.published": file(IngestEvent.Body.postPublished),
    "file.duplicate": file(IngestEvent.Body.fileDuplicate),
    "file.removed": file(IngestEvent.Body.fileRemoved),
    "file.planned": file(IngestEvent.Body.filePlanned),
    "file.refused": file(IngestEvent.Body.fileRefused),
    "file.failed": file(IngestEvent.Body.fileFailed),
    "file.postponed": file(IngestEvent.Body.filePostponed),
    "post.removed": run(IngestEvent.Body.postRemoved),
    "post.restored": run(IngestEvent.Body.postRestored),
    "post.edited": run(IngestEvent.Body.postEdited),
    "post.moved": run(IngestEvent.Body.postMoved),
    "run.finished": run(IngestEvent.Body.runFinished),
  ]

  private static func run<Facts: EventFacts>(
    _ body: @escaping @Sendable (Facts) -> IngestEvent.Body
  ) -> @Sendable (any Decoder) throws -> IngestEvent.Body {
    { body(try Facts(factsOf: $0)) }
  }

  private static func file<Facts: EventFacts>(
    _ body: @escaping @Sendable (FileReference, Facts) -> IngestEvent.Body
  ) -> @Sendable (any Decoder) throws -> IngestEvent.Body {
    { body(try FileReference(eventFrom: $0), try Facts(factsOf: $0)) }
  }
}

// MARK: Derived from the table

extension IngestEvent.Body {
  /// The file that the event is about, if any.
  public var file: FileReference? { tell(FileReader()) }

  /// Whether it is the one event that ends its file, or the run.
  public var isTerminal: Bool { traits.ends }

  /// Whether a newer event of its kind (for the same file) replaces it.
  public var coalesces: Bool {
    // Every observer asks this of every event, so it must not go through the facts.
    switch self {
    case .uploadProgress: true
    case .runScanned(let scan): !scan.complete
    default: false
    }
  }

  /// The `type` of the JSON.
  public var type: String { traits.type }

  /// Why people must know of it; nil for most events.
  package var concern: EventConcern? { traits.concern }

  private var traits: EventTraits { tell(TraitsReader()) }

  /// What people must know of; nil for most events.
  package var problem: EventProblem? { tell(ProblemReader()) }

  /// The event with settings named by `wording`.
  func worded(_ wording: @escaping (ErrorMessage) -> String) -> IngestEvent.Body {
    tell(WordingReader(wording: wording))
  }
}

/// What people must know of an event.
package struct EventProblem: Sendable {
  package let concern: EventConcern
  package let path: SourcePath
  package let code: String
  /// One sentence, without the path.
  package let message: String
}

private struct TraitsReader: EventReader {
  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) -> EventTraits { traits }
}

private struct FileReader: EventReader {
  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) -> FileReference? { file }
}

private struct ProblemReader: EventReader {
  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) -> EventProblem? {
    guard let concern = traits.concern, let remark = facts.remark, let path = file?.path ?? remark.path else {
      return nil
    }
    return EventProblem(concern: concern, path: path, code: remark.code, message: remark.message)
  }
}

private struct WordingReader: EventReader {
  let wording: (ErrorMessage) -> String

  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) -> IngestEvent.Body { body(facts.worded(wording)) }
}
