import FoundationEssentials
import ReelCore

extension IngestEvent: Codable {
  fileprivate enum EnvelopeKeys: String, CodingKey {
    case v, seq, at, type, file
  }

  /// Writes one flat object: `v`, `seq`, `at`, `type`, `file`, `path` (and `pathBytes`), and the facts of the type.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var envelope = encoder.container(keyedBy: EnvelopeKeys.self)
    try envelope.encode(Self.version, forKey: .v)
    try envelope.encode(sequence, forKey: .seq)
    try envelope.encode(JSONTime(at), forKey: .at)
    try body.tell(FactsWriter(encoder: encoder))
  }

  /// Reads what ``encode(to:)`` wrote.
  /// - Throws: `DecodingError`, also for another version of the JSON and for an unknown type.
  public init(from decoder: any Decoder) throws {
    let envelope = try decoder.container(keyedBy: EnvelopeKeys.self)
    let version = try envelope.decode(Int.self, forKey: .v)
    guard version == Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .v, in: envelope, debugDescription: "events of version \(version) are not known here")
    }
    sequence = try envelope.decode(Int.self, forKey: .seq)
    at = try envelope.decode(JSONTime.self, forKey: .at).date
    let type = try envelope.decode(String.self, forKey: .type)
    guard let reading = Body.readings[type] else {
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: envelope, debugDescription: "events of type \(type) are not known here")
    }
    body = try reading(decoder)
  }
}

private struct FactsWriter: EventReader {
  let encoder: any Encoder

  func read<Facts: EventFacts>(
    _ traits: EventTraits, _ file: FileReference?, _ facts: Facts, _ body: (Facts) -> IngestEvent.Body
  ) throws {
    var envelope = encoder.container(keyedBy: IngestEvent.EnvelopeKeys.self)
    try envelope.encode(traits.type, forKey: .type)
    if let file {
      try envelope.encode(file.number, forKey: .file)
      var paths = encoder.container(keyedBy: SourcePathCoding.self)
      try file.path.encode(into: &paths)
    }
    try facts.encodeFacts(to: encoder)
  }
}

extension FileReference {
  /// Reads the file of an event.
  init(eventFrom decoder: any Decoder) throws {
    self.init(
      number: try decoder.container(keyedBy: IngestEvent.EnvelopeKeys.self).decode(Int.self, forKey: .file),
      path: try SourcePath(from: try decoder.container(keyedBy: SourcePathCoding.self)))
  }
}
