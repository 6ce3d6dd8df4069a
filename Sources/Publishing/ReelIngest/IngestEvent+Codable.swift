import FoundationEssentials
import ReelCore

extension IngestEvent: Codable {
  private enum EnvelopeKeys: String, CodingKey {
    case v, seq, at, type, file, size, error
  }

  private enum PostKeys: String, CodingKey { case post }
  private enum ProbedKeys: String, CodingKey { case media, probe }

  /// Writes one flat object: `v`, `seq`, `at`, `type`, `file`, `path` (and `pathBytes`), and the type's
  /// facts.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var envelope = encoder.container(keyedBy: EnvelopeKeys.self)
    try envelope.encode(Self.version, forKey: .v)
    try envelope.encode(sequence, forKey: .seq)
    try envelope.encode(JSONTime(at), forKey: .at)
    try envelope.encode(body.type, forKey: .type)
    if let file = body.file {
      try envelope.encode(file.number, forKey: .file)
      var paths = encoder.container(keyedBy: SourcePathCoding.self)
      try file.path.encode(into: &paths)
    }
    try encodeFacts(to: encoder)
  }

  /// The facts of the type, in the same object as the envelope.
  private func encodeFacts(to encoder: any Encoder) throws {
    switch body {
    case .runStarted(let facts): try facts.encode(to: encoder)
    case .runScanned(let facts): try facts.encode(to: encoder)
    case .metadataWarning(let warning): try warning.encode(to: encoder)
    case .watchNotice(let notice): try notice.encode(to: encoder)
    case .fileStarted(_, let size):
      var container = encoder.container(keyedBy: EnvelopeKeys.self)
      try container.encode(size, forKey: .size)
    case .fileProbed(_, let report):
      var container = encoder.container(keyedBy: ProbedKeys.self)
      try container.encode(report.media, forKey: .media)
      try container.encode(report.provenance, forKey: .probe)
    case .posterMade(_, let facts): try facts.encode(to: encoder)
    case .fileNamed(_, let facts): try facts.encode(to: encoder)
    case .uploadProgress(_, let facts), .uploadRetrying(_, let facts): try facts.encode(to: encoder)
    case .postPublished(_, let post):
      var container = encoder.container(keyedBy: PostKeys.self)
      try container.encode(post, forKey: .post)
    case .fileDuplicate(_, let facts): try facts.encode(to: encoder)
    case .filePlanned(_, let facts): try facts.encode(to: encoder)
    case .fileRefused(_, let facts): try facts.encode(to: encoder)
    case .fileNotMended(_, let failure), .posterFailed(_, let failure), .fileFailed(_, let failure),
      .filePostponed(_, let failure):
      var container = encoder.container(keyedBy: EnvelopeKeys.self)
      try container.encode(failure, forKey: .error)
    case .runFinished(let facts): try facts.encode(to: encoder)
    }
  }

  /// Reads what ``encode(to:)`` wrote.
  /// - Throws: `DecodingError`, also for another version of the JSON and for a type that is not known here.
  public init(from decoder: any Decoder) throws {
    let envelope = try decoder.container(keyedBy: EnvelopeKeys.self)
    let version = try envelope.decode(Int.self, forKey: .v)
    guard version == Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .v, in: envelope, debugDescription: "events of version \(version) are not known here")
    }
    sequence = try envelope.decode(Int.self, forKey: .seq)
    at = try envelope.decode(JSONTime.self, forKey: .at).date
    body = try Self.body(try envelope.decode(String.self, forKey: .type), envelope, from: decoder)
  }

  private static func body(
    _ type: String, _ envelope: KeyedDecodingContainer<EnvelopeKeys>, from decoder: any Decoder
  ) throws -> Body {
    func file() throws -> FileReference {
      FileReference(
        number: try envelope.decode(Int.self, forKey: .file),
        path: try SourcePath(from: try decoder.container(keyedBy: SourcePathCoding.self)))
    }
    switch type {
    case "run.started": return .runStarted(try RunStarted(from: decoder))
    case "run.scanned": return .runScanned(try RunScanned(from: decoder))
    case "metadata.warning": return .metadataWarning(try MetadataWarning(from: decoder))
    case "watch.notice": return .watchNotice(try WatchNotice(from: decoder))
    case "file.started":
      return .fileStarted(try file(), size: try envelope.decodeIfPresent(Int64.self, forKey: .size))
    case "file.probed":
      let container = try decoder.container(keyedBy: ProbedKeys.self)
      return .fileProbed(
        try file(),
        ProbeReport(
          media: try container.decode(MediaInfo.self, forKey: .media),
          provenance: try container.decode(ProbeProvenance.self, forKey: .probe)))
    case "file.notMended":
      return .fileNotMended(try file(), try envelope.decode(FileFailure.self, forKey: .error))
    case "poster.made": return .posterMade(try file(), try PosterMade(from: decoder))
    case "poster.failed":
      return .posterFailed(try file(), try envelope.decode(FileFailure.self, forKey: .error))
    case "file.named": return .fileNamed(try file(), try FileNamed(from: decoder))
    case "upload.progress": return .uploadProgress(try file(), try TransferProgress(from: decoder))
    case "upload.retrying": return .uploadRetrying(try file(), try TransferProgress(from: decoder))
    case "post.published":
      let container = try decoder.container(keyedBy: PostKeys.self)
      return .postPublished(try file(), try container.decode(Post.self, forKey: .post))
    case "file.duplicate": return .fileDuplicate(try file(), try FileDuplicate(from: decoder))
    case "file.planned": return .filePlanned(try file(), try FilePlanned(from: decoder))
    case "file.refused": return .fileRefused(try file(), try FileRefused(from: decoder))
    case "file.failed":
      return .fileFailed(try file(), try envelope.decode(FileFailure.self, forKey: .error))
    case "file.postponed":
      return .filePostponed(try file(), try envelope.decode(FileFailure.self, forKey: .error))
    case "run.finished": return .runFinished(try RunSummary(from: decoder))
    default:
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: envelope, debugDescription: "events of type \(type) are not known here")
    }
  }
}
