import ReelCore

/// What is fixed for each type of event, and what follows from it.
struct EventTraits {
  /// The `type` of the JSON, and what a log calls it.
  let type: String
  /// Nil for what is not logged.
  var level: EventLogEntry.Level?
  /// What somebody has to know of: ``EventFacts/remark`` says it.
  var concern: EventConcern?
  /// Whether it is the one event that ends its file, or the run.
  var ends = false
}

/// Why somebody has to know of an event.
package enum EventConcern: Sendable {
  /// Something is not as it should be, and no file ended by it.
  case warning
  /// The policy does not want the file.
  case refused
  /// The file failed.
  case failed
}

/// Asked of ``IngestEvent/Body/tell(_:)``: one method for the facts of every type.
protocol EventReader<Answer> {
  associatedtype Answer
  associatedtype Failure: Error

  /// - Parameters:
  ///   - file: nil for what is of a run.
  ///   - body: the same event with other facts.
  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) throws(Failure) -> Answer
}

// MARK: The table

extension IngestEvent.Body {
  /// What each event is: a row for each.
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
      // What was only not done is no failure to show.
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

  /// How the facts of each type are read.
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

// MARK: What follows from it

extension IngestEvent.Body {
  /// The file it is about, if it is about one.
  public var file: FileReference? { tell(FileReader()) }

  /// Whether it is the one event that ends its file, or the run.
  public var isTerminal: Bool { traits.ends }

  /// Whether a newer one of its kind (for the same file) makes it worthless.
  public var coalesces: Bool {
    // Asked of every event by every observer: without a look at the facts.
    switch self {
    case .uploadProgress: true
    case .runScanned(let scan): !scan.complete
    default: false
    }
  }

  /// The `type` of the JSON.
  public var type: String { traits.type }

  /// Why somebody has to know of it; nil for most.
  package var concern: EventConcern? { traits.concern }

  private var traits: EventTraits { tell(TraitsReader()) }

  /// What somebody has to know of; nil for most.
  package var problem: EventProblem? { tell(ProblemReader()) }

  /// With settings named by `wording`.
  func worded(_ wording: @escaping (ErrorMessage) -> String) -> IngestEvent.Body {
    tell(WordingReader(wording: wording))
  }
}

/// What somebody has to know of an event.
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
