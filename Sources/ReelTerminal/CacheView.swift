import ReelCore

/// What is remembered of files and readings, or was until `reel cache clear`.
package struct CacheView: JSONDocument, Sendable {
  private enum CodingKeys: String, CodingKey { case files, readings, bytes, cleared }
  private let status: CacheStatus
  private let cleared: Bool

  /// - Parameter cleared: whether `status` is what was freed.
  package init(_ status: CacheStatus, cleared: Bool = false) {
    self.status = status
    self.cleared = cleared
  }

  /// A newline after each line.
  package func text(_ traits: TerminalTraits) -> String {
    let size = HumanNumber.bytes(status.bytes)
    let files = HumanNumber.count(status.files, "file", "files")
    let readings = HumanNumber.count(status.readings, "probe result", "probe results")
    let sentence =
      cleared
      ? "freed \(size): the digests of \(files) and \(readings) are forgotten; posts stay"
      : "the cache takes \(size): the digests of \(files) and \(readings)"
    return traits.wrapped(sentence).text(traits)
  }

  /// Throws what the encoder throws.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(status.files, forKey: .files)
    try container.encode(status.readings, forKey: .readings)
    try container.encode(status.bytes, forKey: .bytes)
    try container.encode(cleared, forKey: .cleared)
  }
}
