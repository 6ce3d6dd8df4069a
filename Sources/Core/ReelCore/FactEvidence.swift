/// What tells a fact, as `reel probe --thorough` says of each.
public struct FactEvidence: Hashable, Sendable, Codable {
  /// Where a fact comes from, the most trustworthy first.
  public enum Source: String, Codable, Sendable, CaseIterable {
    /// The times of all packets.
    case packets
    /// The first picture or the first frame of sound, decoded.
    case decoder
    /// The headers of the codec, in the file's or in the packets.
    case bitstream
    /// The index, by the places of the samples.
    case index
    /// The order and the ends of the file's parts.
    case structure
    /// A header alone: nothing in the content tells, or it could not be read so far.
    case header
  }

  /// The fact, by its path in the document: `duration`, `video.frameRate`, `audio.0.channels`.
  public let fact: String
  /// What tells it.
  public let source: Source

  /// Evidence of one fact.
  public init(fact: String, source: Source) {
    self.fact = fact
    self.source = source
  }
}
