import ReelCore
import ReelIngest

/// What a command made of one file, as JSON.
///
/// `{"path": …, "ok": true, …}` with the keys of what was made, or `{"path": …, "ok": false, "error": {"code",
/// "message"}}`; with `pathBytes` (base64) if `path` can't represent the bytes.
package struct MadeDocument<Content: MadeContent>: Encodable, Sendable {
  package typealias Made = Content

  /// The path as given.
  package let path: SourcePath
  /// What was made, or why nothing was.
  package let result: Result<Made, FileFailure>

  /// - Parameter path: the path as given.
  package init(path: SourcePath, result: Result<Made, FileFailure>) {
    self.path = path
    self.result = result
  }

  /// Whether nothing was made because of a failure.
  package var isFailure: Bool { entry != nil }

  /// Why nothing was made.
  package var problem: AnswerProblem? { entry.map(AnswerProblem.init) }

  private var entry: ProblemList.Entry? {
    if case .failure(let failure) = result { ProblemList.Entry(path, failure) } else { nil }
  }

  private enum CodingKeys: String, CodingKey { case ok, error }
  private enum ErrorKeys: String, CodingKey { case code, message }

  package func encode(to encoder: any Encoder) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try path.encode(into: &paths)
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch result {
    case .success(let made):
      try container.encode(true, forKey: .ok)
      try made.encode(to: encoder)
    case .failure(let failure):
      try container.encode(false, forKey: .ok)
      var error = container.nestedContainer(keyedBy: ErrorKeys.self, forKey: .error)
      try error.encode(failure.code, forKey: .code)
      try error.encode(Sentence.naming(path.text, failure.message), forKey: .message)
    }
  }

  /// The result as a line for people.
  package func text(_ traits: TerminalTraits) -> String {
    switch result {
    case .success(let made): traits.text(["\(path.text): \(made.words)"])
    case .failure(let failure): ProblemSummary.text(ProblemList.Entry(path, failure), traits)
    }
  }
}

/// What was made; it encodes only its own keys.
package protocol MadeContent: Encodable, Sendable {
  /// What was made, for people, to follow the file's path.
  var words: String { get }
}
