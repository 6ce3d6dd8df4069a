import ReelCore

/// A worker's answer to a ``ReadRequest``.
package enum ReadReply: Hashable, Sendable {
  /// The facts of the file, how it was read, why no faster method was used, the evidence for each fact, and what is
  /// needed to rewrite the file.
  case facts(
    MediaInfo, ProbeMethod, reason: String? = nil, evidence: [FactEvidence] = [],
    rewriting: RewritingFacts = RewritingFacts())
  /// Why the file could not be read.
  case failure(ProbeError)

  /// Encodes the reply as a frame. Text is truncated to what a frame accepts, and control characters in it become
  /// spaces.
  /// - Throws: ``WireError/length`` if there are more streams or warnings than a frame accepts.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.reply) { writer throws(WireError) in
      switch self {
      case .facts(let media, let method, let reason, let evidence, let rewriting):
        writer.flag(true)
        writer.code(method)
        writer.optional(reason, limit: .sentence)
        try writer.media(media)
        try writer.list(evidence, limit: WireCount.evidence) { writer, evidence in
          writer.text(evidence.fact, limit: .name)
          writer.code(evidence.source)
        }
        writer.optional(rewriting.shownStream)
        writer.flag(rewriting.isPlaceInText)
        writer.flag(rewriting.isPlaceInPictures)
      case .failure(let error):
        writer.flag(false)
        writer.failure(error)
      }
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame, and for impossible facts.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .reply) { reader throws(WireError) in
      if try reader.flag("facts") {
        let method = try reader.code(ProbeMethod.self, "method")
        let reason = try reader.optionalText(limit: .sentence, "reason")
        let media = try reader.media()
        let evidence = try reader.list(limit: WireCount.evidence, "evidence") { reader throws(WireError) in
          FactEvidence(
            fact: try reader.text(limit: .name, "evidence"),
            source: try reader.code(FactEvidence.Source.self, "evidence"))
        }
        let rewriting = RewritingFacts(
          shownStream: try reader.optionalInt(in: PlausibleRange.streams, "shownStream"),
          isPlaceInText: try reader.flag("isPlaceInText"),
          isPlaceInPictures: try reader.flag("isPlaceInPictures"))
        return .facts(media, method, reason: reason, evidence: evidence, rewriting: rewriting)
      }
      return .failure(try reader.failure())
    }
  }
}
