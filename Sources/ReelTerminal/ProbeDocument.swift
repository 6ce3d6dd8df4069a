import ReelCore
import ReelIngest

/// What `reel probe` found in one file: its JSON, and what ``ProbeSummary`` draws.
///
/// `{"path": …, "ok": true, "media": {…}, "probe": {…}}` or `{"path": …, "ok": false, "error": {"code", "message"}}`;
/// `pathBytes` (base64) beside `path` when that does not carry the bytes.
package struct ProbeDocument: Encodable, Sendable {
  package let path: SourcePath
  package let result: Result<ProbeReport, FileFailure>

  package init(path: SourcePath, result: Result<ProbeReport, FileFailure>) {
    self.path = path
    self.result = result
  }

  /// Whether the name claims another container than the file has.
  var extensionMismatch: Bool {
    guard case .success(let report) = result else { return false }
    return report.media.container.contradicts(claimedExtension: path.claimedExtension)
  }

  /// The document on one line, and a newline: as ``json(pretty:)`` has it.
  package func jsonLine() throws -> String {
    try PlainProbeLine.text(of: self) ?? json()
  }

  private enum CodingKeys: String, CodingKey { case ok, media, probe, error }
  private enum ErrorKeys: String, CodingKey { case code, message }

  package func encode(to encoder: any Encoder) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try path.encode(into: &paths)
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch result {
    case .success(let report):
      try container.encode(true, forKey: .ok)
      try container.encode(
        MediaDocument(media: report.media, extensionMismatch: extensionMismatch), forKey: .media)
      try container.encode(report.provenance, forKey: .probe)
    case .failure(let failure):
      try container.encode(false, forKey: .ok)
      var error = container.nestedContainer(keyedBy: ErrorKeys.self, forKey: .error)
      try error.encode(failure.code, forKey: .code)
      try error.encode(Sentence.naming(path.text, failure.message), forKey: .message)
    }
  }
}

/// Several files: `{"v": 1, "files": […]}`.
package struct ProbeListDocument: Encodable, Sendable {
  private let v = 1
  private let files: [ProbeDocument]

  /// - Parameter files: in the order of the question.
  package init(_ files: [ProbeDocument]) {
    self.files = files
  }
}

/// The facts of a file, and what follows from them and from its name.
private struct MediaDocument: Encodable {
  let media: MediaInfo
  let extensionMismatch: Bool

  private enum CodingKeys: String, CodingKey {
    case contentType, extensionMismatch
    case fileExtension = "extension"
  }

  func encode(to encoder: any Encoder) throws {
    try media.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(media.container.fileExtension, forKey: .fileExtension)
    try container.encode(media.container.contentType, forKey: .contentType)
    try container.encode(extensionMismatch, forKey: .extensionMismatch)
  }
}
