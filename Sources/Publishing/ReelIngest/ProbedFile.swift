import ReelCore

/// The result of probing one file. Its JSON is what `reel probe` prints (docs/probe.md):
///
/// `{"path": …, "ok": true, "media": {…}, "probe": {…}}` or `{"path": …, "ok": false, "error": {"code", "message"}}`;
/// with `pathBytes` (base64) if `path` can't represent the bytes, and with `read` for a file at an address.
public struct ProbedFile: Hashable, Sendable {
  /// As the user or the walk named it.
  public let path: SourcePath
  /// Its facts, or why there are none.
  public let result: Result<ProbeReport, FileFailure>
  /// How much of it was read, if it is at an address; nil for a local file.
  public let read: SourceTransfer?

  /// Creates the result for one file.
  public init(path: SourcePath, result: Result<ProbeReport, FileFailure>, read: SourceTransfer? = nil) {
    self.path = path
    self.result = result
    self.read = read
  }
}

extension ProbedFile {
  /// Whether the file's name claims a container other than the actual one.
  public var extensionMismatch: Bool {
    guard case .success(let report) = result else { return false }
    return report.media.container.contradicts(claimedExtension: path.claimedExtension)
  }
}

extension ProbedFile: Codable {
  private enum CodingKeys: String, CodingKey { case ok, media, probe, error, read, evidence }
  private enum ErrorKeys: String, CodingKey { case code, message }
  private enum MediaKeys: String, CodingKey {
    case contentType, extensionMismatch
    case fileExtension = "extension"
  }

  /// Writes either the facts, with what follows from them and from the name, or the error, whose message names the
  /// file.
  public func encode(to encoder: any Encoder) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try path.encode(into: &paths)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(read, forKey: .read)
    switch result {
    case .success(let report):
      try container.encode(true, forKey: .ok)
      let media = container.superEncoder(forKey: .media)
      try report.media.encode(to: media)
      var more = media.container(keyedBy: MediaKeys.self)
      try more.encode(report.media.container.fileExtension, forKey: .fileExtension)
      try more.encode(report.media.container.contentType, forKey: .contentType)
      try more.encode(extensionMismatch, forKey: .extensionMismatch)
      try container.encode(report.provenance, forKey: .probe)
      if !report.evidence.isEmpty {
        let sources = report.evidence.map { ($0.fact, $0.source) }
        try container.encode(Dictionary(sources) { first, _ in first }, forKey: .evidence)
      }
    case .failure(let failure):
      try container.encode(false, forKey: .ok)
      var error = container.nestedContainer(keyedBy: ErrorKeys.self, forKey: .error)
      try error.encode(failure.code, forKey: .code)
      try error.encode(Sentence.naming(path.text, failure.message), forKey: .message)
    }
  }

  /// Reads what ``encode(to:)`` wrote.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    path = try SourcePath(from: try decoder.container(keyedBy: SourcePathCoding.self))
    read = try container.decodeIfPresent(SourceTransfer.self, forKey: .read)
    if try container.decode(Bool.self, forKey: .ok) {
      result = .success(
        ProbeReport(
          media: try container.decode(MediaInfo.self, forKey: .media),
          provenance: try container.decode(ProbeProvenance.self, forKey: .probe),
          evidence: try container.decodeIfPresent([String: FactEvidence.Source].self, forKey: .evidence)?
            .sorted { $0.key < $1.key }.map { FactEvidence(fact: $0.key, source: $0.value) } ?? []))
    } else {
      result = .failure(try container.decode(FileFailure.self, forKey: .error))
    }
  }
}
