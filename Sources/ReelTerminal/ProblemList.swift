import ReelCore
import ReelIngest

/// The files of a run that were not published and why, as many as one wants to keep.
package struct ProblemList: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let path: SourcePath
    /// The code of the event.
    package let code: String
    /// One sentence, without the file's path.
    package let message: String
    /// Whether the policy does not want it; else it failed.
    package let refused: Bool

    package init(path: SourcePath, code: String, message: String, refused: Bool) {
      self.path = path
      self.code = code
      self.message = message
      self.refused = refused
    }
  }
  /// In the order of the events.
  package private(set) var entries: [Entry] = []
  /// Files that came when the list was full.
  package private(set) var leftOut = 0
  private let limit: Int

  package init(limit: Int = 1000) {
    self.limit = max(0, limit)
  }

  /// Takes note of `event` if a file failed or was refused.
  package mutating func note(_ event: IngestEvent) {
    guard let entry = Entry(event) else { return }
    if entries.count < limit { entries.append(entry) } else { leftOut += 1 }
  }
}

extension ProblemList.Entry {
  /// Nil for an event by which no file failed or was refused.
  init?(_ event: IngestEvent) {
    switch event.body {
    case .fileFailed(let file, let failure):
      self.init(path: file.path, code: failure.code, message: failure.message, refused: false)
    case .fileRefused(let file, let refusal):
      self.init(path: file.path, code: refusal.code, message: refusal.message, refused: true)
    default: return nil
    }
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
    try container.encode(refused, forKey: .refused)
  }
}

/// One file that failed or was refused, for people.
package enum ProblemSummary {
  package static func text(_ problem: ProblemList.Entry, _ traits: TerminalTraits) -> String {
    lines(problem, traits).text(traits)
  }

  /// The lines of an event that a person must see, without newlines; none for most.
  package static func lines(for event: IngestEvent, _ traits: TerminalTraits) -> [String] {
    ProblemList.Entry(event).map { lines($0, traits).map { $0.text(traits) } } ?? []
  }

  /// `failed: notes.mp4 is an HLS playlist, not a video [playlist]`
  static func lines(_ problem: ProblemList.Entry, _ traits: TerminalTraits) -> [StyledLine] {
    let sentence = Sentence.naming(problem.path.shown, problem.message)
    return traits.wrapped(
      problem.refused ? "refused:" : "failed:", problem.refused ? .warning : .failure,
      traits.sanitized("\(sentence) [\(problem.code)]"))
  }
}
