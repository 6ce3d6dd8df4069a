import ReelCore

/// The facts of one file, and the way they were found.
package struct Reading: Hashable, Sendable {
  /// What the file says about itself.
  package var media: MediaInfo
  /// How much of it had to be read.
  package var method: ProbeMethod
  /// Why no shorter way was taken; nil if it was read by its header.
  package var reason: String?
  /// The evidence for each fact, if every packet was read.
  package var evidence: [FactEvidence] = []
  /// What commands that rewrite the file need to know.
  package var rewriting: RewritingFacts

  /// - Parameters: as the properties.
  package init(
    media: MediaInfo, method: ProbeMethod, reason: String? = nil, evidence: [FactEvidence] = [],
    rewriting: RewritingFacts = RewritingFacts()
  ) {
    self.media = media
    self.method = method
    self.reason = reason
    self.evidence = evidence
    self.rewriting = rewriting
  }
}
