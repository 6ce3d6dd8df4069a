/// The evidence for a fact, as `reel probe --thorough` lists it.
public struct FactEvidence: Hashable, Sendable, Codable {
  /// Where a fact comes from, the most reliable source first.
  public enum Source: String, Codable, Sendable, CaseIterable {
    /// The timestamps of all packets.
    case packets
    /// The first picture or the first audio frame, decoded.
    case decoder
    /// The codec's headers, in the container or in the packets.
    case bitstream
    /// The index, by the positions of the samples.
    case index
    /// The order and the ends of the parts of the file.
    case structure
    /// A header alone: the content does not show the fact, or could not be read that far.
    case header
  }

  /// The fact, by its path in the document: `duration`, `video.frameRate`, `audio.0.channels`.
  public let fact: String
  /// The evidence for it.
  public let source: Source

  /// Creates the evidence for one fact.
  public init(fact: String, source: Source) {
    self.fact = fact
    self.source = source
  }
}
