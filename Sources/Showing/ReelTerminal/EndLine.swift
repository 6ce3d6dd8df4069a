import ReelCore
import ReelIngest
import ReelSource

/// The result of a file as a line: what `--verbose` shows in addition to problems.
package enum EndLine {
  /// The lines of an event that ends a file, without newlines. None for a problem, which ``ProblemSummary`` shows, and
  /// for a file that was merely not processed.
  package static func lines(for event: IngestEvent, _ traits: TerminalTraits) -> [String] {
    guard event.body.concern == nil, let file = event.body.file,
      let end = end(event.body, of: traits.sanitized(file.path.shown))
    else { return [] }
    return traits.wrapped(end.label, end.style, traits.sanitized(end.text)).map { $0.text(traits) }
  }

  private static func end(
    _ body: IngestEvent.Body, of name: String
  ) -> (label: String, style: StyledLine.TextStyle, text: String)? {
    switch body {
    case .postPublished(_, let post): ("published:", .success, "\(name) as \(post.id)")
    case .fileDuplicate(_, let duplicate):
      ("duplicate:", .dim, "\(name) of \(duplicate.post.map { "\($0.id)" } ?? "a file before it")")
    case .fileRemoved(_, let removed):
      ("removed before:", .dim, Sentence.naming(name, removed.explanation))
    case .filePlanned: ("would be published:", .strong, name)
    case .filePostponed(_, let failure):
      ("postponed:", .dim, "\(Sentence.naming(name, failure.message)) [\(failure.code)]")
    default: nil
    }
  }

  /// The line about a file that a walk passes over, such as `ignored: notes.txt, not a video`.
  /// - Parameter settle: seconds, as in ``WalkOptions/settle``.
  package static func text(_ path: SourcePath, _ reason: PassedBy, settle: Double) -> String {
    switch reason {
    case .changing: "left alone: \(path.shown), changed less than \(HumanNumber.time(settle)) ago"
    default: "ignored: \(path.shown), \(words(reason))"
    }
  }

  private static func words(_ reason: PassedBy) -> String {
    switch reason {
    case .hidden: "a hidden name"
    case .unfinished: "unfinished by its name or by a file beside it, or a camera's small copy"
    case .trash:
      "a trash folder, one of the system's own, or one of second versions (--include-trash enters it)"
    case .excluded: "left out by --include or --exclude"
    case .own: "Reel's own library or destination"
    case .sidecar: "the sidecar of a video"
    case .noVideo: "not a video"
    case .unreachable: "can't be looked into"
    case .changing: "just changed"
    }
  }
}
