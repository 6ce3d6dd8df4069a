import ReelCore
import ReelIngest

/// What `reel poster` made of one file, as JSON.
///
/// `{"path": …, "ok": true, "poster": {"file", "width", "height", "blurHash", "cover", "time"}}` or `{"path": …,
/// "ok": false, "error": {"code", "message"}}`; `pathBytes` (base64) beside `path` when that does not carry the bytes.
package struct PosterDocument: Encodable, Sendable {
  /// Where a poster is, and what it is.
  package struct Made: Sendable {
    let poster: Poster
    let file: SourcePath

    /// - Parameter file: where it was written.
    package init(poster: Poster, file: SourcePath) {
      self.poster = poster
      self.file = file
    }
  }
  /// As given.
  package let path: SourcePath
  /// What was made, or why nothing was.
  package let result: Result<Made, FileFailure>

  /// - Parameter path: as given.
  package init(path: SourcePath, result: Result<Made, FileFailure>) {
    self.path = path
    self.result = result
  }

  /// Whether there is no poster.
  package var isFailure: Bool {
    if case .failure = result { true } else { false }
  }

  /// Why there is no poster.
  package var problem: AnswerProblem? {
    guard case .failure(let failure) = result else { return nil }
    return AnswerProblem(ProblemList.Entry(path, failure))
  }

  private enum CodingKeys: String, CodingKey { case ok, poster, error }
  private enum ErrorKeys: String, CodingKey { case code, message }
  private enum PosterKeys: String, CodingKey { case file, width, height, blurHash, cover, time }

  /// Throws what the encoder throws.
  package func encode(to encoder: any Encoder) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try path.encode(into: &paths)
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch result {
    case .success(let made):
      try container.encode(true, forKey: .ok)
      var poster = container.nestedContainer(keyedBy: PosterKeys.self, forKey: .poster)
      try poster.encode(made.file.text, forKey: .file)
      try poster.encode(made.poster.width, forKey: .width)
      try poster.encode(made.poster.height, forKey: .height)
      try poster.encode(made.poster.blurHash, forKey: .blurHash)
      try poster.encode(made.poster.isCover, forKey: .cover)
      try poster.encode(made.poster.time, forKey: .time)
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
      let time = ContactSheet.label(seconds: made.poster.time)
      let origin = made.poster.isCover ? ", its cover" : time.isEmpty ? "" : ", at \(time)"
      return traits.text([
        "\(path.text): \(made.file.text), \(made.poster.width)x\(made.poster.height)\(origin)"
      ])
    case .failure(let failure):
      return ProblemSummary.text(
        ProblemList.Entry(path, failure), traits)
    }
  }
}
