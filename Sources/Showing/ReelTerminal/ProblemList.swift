import ReelCore
import ReelIngest

/// The files of a run that were not published, with the reasons, and warnings, such as a video without a poster. Holds
/// up to a given number of each.
package struct ProblemList: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let path: SourcePath
    /// The code of the event.
    package let code: String
    /// One sentence, without the file's path.
    package let message: String
    /// Whether the policy refused the file; otherwise it failed.
    package let refused: Bool
    /// Whether it is a warning, which ended no file.
    package let isWarning: Bool

    package init(path: SourcePath, code: String, message: String, refused: Bool, isWarning: Bool = false) {
      self.path = path
      self.code = code
      self.message = message
      self.refused = refused
      self.isWarning = isWarning
    }
  }
  /// In the order of the events.
  package private(set) var entries: [Entry] = []
  /// In the order of the events.
  package private(set) var warnings: [Entry] = []
  /// The number of warnings that came when the list of warnings was full.
  package private(set) var warningsLeftOut = 0
  /// The number of failures and refusals that came when the list was full.
  package private(set) var leftOut = 0
  private let limit: Int

  package init(limit: Int = 1000) {
    self.limit = max(0, limit)
  }

  /// Notes `event` if people must know of it.
  package mutating func note(_ event: IngestEvent) {
    guard let entry = Entry(event) else { return }
    if entry.isWarning {
      if warnings.count < limit { warnings.append(entry) } else { warningsLeftOut += 1 }
      return
    }
    if entries.count < limit { entries.append(entry) } else { leftOut += 1 }
  }

  /// Inserts an earlier list before this one.
  package mutating func add(earlier: ProblemList) {
    let (all, allWarnings) = (earlier.entries + entries, earlier.warnings + warnings)
    leftOut += earlier.leftOut + max(0, all.count - limit)
    warningsLeftOut += earlier.warningsLeftOut + max(0, allWarnings.count - limit)
    (entries, warnings) = (Array(all.prefix(limit)), Array(allWarnings.prefix(limit)))
  }
}

extension ProblemList.Entry {
  /// The failure of the file at `path`.
  init(_ path: SourcePath, _ failure: FileFailure) {
    self.init(path: path, code: failure.code.rawValue, message: failure.message, refused: false)
  }

  /// Nil for an event that people need not know of.
  init?(_ event: IngestEvent) {
    guard let problem = event.body.problem else { return nil }
    self.init(
      path: problem.path, code: problem.code, message: problem.message,
      refused: problem.concern == .refused, isWarning: problem.concern == .warning)
  }
}

extension ProblemList.Entry: Encodable {
  private enum CodingKeys: String, CodingKey { case code, message, refused }

  package func encode(to encoder: any Encoder) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try path.encode(into: &paths)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(code, forKey: .code)
    try container.encode(message, forKey: .message)
    if !isWarning { try container.encode(refused, forKey: .refused) }
  }
}

/// One file that failed or was refused, or one warning, for people.
package enum ProblemSummary {
  package static func text(_ problem: ProblemList.Entry, _ traits: TerminalTraits) -> String {
    lines(problem, traits).text(traits)
  }

  /// The lines of an event that people must see, without newlines; empty for most events.
  package static func lines(for event: IngestEvent, _ traits: TerminalTraits) -> [String] {
    ProblemList.Entry(event).map { lines($0, traits).map { $0.text(traits) } } ?? []
  }

  /// `failed: notes.mp4 is an HLS playlist, not a video [playlist]`
  static func lines(_ problem: ProblemList.Entry, _ traits: TerminalTraits) -> [StyledLine] {
    let sentence = Sentence.naming(problem.path.shown, problem.message)
    let (label, style): (String, StyledLine.TextStyle) =
      problem.isWarning
      ? ("warning:", .warning) : problem.refused ? ("refused:", .warning) : ("failed:", .failure)
    return traits.wrapped(
      label, style, traits.sanitized("\(sentence) [\(problem.code)]"))
  }
}
