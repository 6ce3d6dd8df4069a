import ReelCore
import ReelIngest

/// What `reel mend` made of one file, as JSON.
///
/// `{"path": …, "ok": true, "mended": ["faststart"], "file": …}`, `mended` empty and `file` null where there was nothing to
/// mend; or `{"path": …, "ok": false, "error": {"code", "message"}}`. `pathBytes` (base64) beside `path` when that does not
/// carry the bytes.
package struct MendDocument: Encodable, Sendable {
  /// What was done.
  package struct Made: Sendable {
    let done: Set<Mend>
    let file: SourcePath?

    /// - Parameters:
    ///   - done: nothing, where there was nothing to mend.
    ///   - file: where it was written; nil then.
    package init(done: Set<Mend>, file: SourcePath?) {
      self.done = done
      self.file = file
    }
  }
  /// As given.
  package let path: SourcePath
  /// What was done, or why nothing was.
  package let result: Result<Made, FileFailure>

  /// - Parameter path: as given.
  package init(path: SourcePath, result: Result<Made, FileFailure>) {
    self.path = path
    self.result = result
  }

  /// Whether it could not be mended.
  package var isFailure: Bool {
    if case .failure = result { true } else { false }
  }

  package var problem: AnswerProblem? {
    if case .failure(let failure) = result {
      AnswerProblem(failure.code.rawValue, failure.message, path: path)
    } else {
      nil
    }
  }

  private enum CodingKeys: String, CodingKey { case ok, mended, file, error }
  private enum ErrorKeys: String, CodingKey { case code, message }

  /// Throws what the encoder throws.
  package func encode(to encoder: any Encoder) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try path.encode(into: &paths)
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch result {
    case .success(let made):
      try container.encode(true, forKey: .ok)
      try container.encode(made.done.map(\.rawValue).sorted(), forKey: .mended)
      try container.encode(made.file?.text, forKey: .file)
    case .failure(let failure):
      try container.encode(false, forKey: .ok)
      var error = container.nestedContainer(keyedBy: ErrorKeys.self, forKey: .error)
      try error.encode(failure.code, forKey: .code)
      try error.encode(Sentence.naming(path.text, failure.message), forKey: .message)
    }
  }

  /// The same as a line for people.
  package func text(_ traits: TerminalTraits) -> String {
    switch result {
    case .success(let made):
      guard let file = made.file else { return traits.text(["\(path.text): nothing to mend"]) }
      let done = Mend.allCases.filter { made.done.contains($0) }.map(Self.words).joined(separator: ", ")
      return traits.text(["\(path.text): \(file.text): \(done)"])
    case .failure(let failure):
      return ProblemSummary.text(
        ProblemList.Entry(path, failure), traits)
    }
  }

  private static func words(_ mend: Mend) -> String {
    switch mend {
    case .faststart: "index first"
    case .unfragment: "one index for all fragments"
    case .location: "location removed"
    case .privateTags: "private tags removed"
    case .credentials: "Content Credentials removed"
    case .duration: "duration and seek index written"
    case .data: "data tracks removed"
    case .salvage: "playable up to where it was cut off"
    case .rotation: "rotation set"
    case .sampleAspectRatio: "shape of its pixels set"
    case .fileExtension: "extension set right"
    }
  }
}
