/// Tells what a file is by its first bytes, before any demuxer sees it.
///
/// Pure, and total: any bytes have a verdict, and none makes it trap.
package enum Sniffer {
  /// How many of a file's first bytes to give: 64 KiB is the longest run-in that MXF allows before its first
  /// key (SMPTE ST 377-1, 6.5), and no other container needs more; 16 is the length of that key.
  package static let headLength = 65_536 + 16

  /// What the file is that begins with `head`.
  ///
  /// - Parameters:
  ///   - head: the first ``headLength`` bytes, or the whole file when it is shorter. Fewer do, and tell less.
  ///   - size: the whole file's size in bytes.
  package static func verdict(head: [UInt8], size: Int64) -> SniffVerdict {
    guard size > 0 else { return Refusal.empty.verdict }
    let head = FilePrefix(head)
    return LeadingTag.verdict(head, of: verdict) ?? verdict(head)
  }

  /// The stages in the order that decides what a polyglot is. FFmpeg takes the demuxer with the highest
  /// score: a manifest's words beat everything, a box of an ISO file beats the rest, and what only counts
  /// repetitions (transport streams, frames of sound) comes after every signature. Text comes last, because a
  /// run-in of MXF may be text.
  private static let stages: [@Sendable (FilePrefix) -> SniffVerdict?] = [
    Manifest.verdict,
    IsoBaseMedia.verdict,
    Matroska.verdict,
    containerSignatures.verdict,
    ProgramStream.verdict,
    pictureSignatures.verdict,
    streamSignatures.verdict,
    soundSignatures.verdict,
    archiveSignatures.verdict,
    Zip.verdict,
    documentSignatures.verdict,
    programSignatures.verdict,
    dataSignatures.verdict,
    NetworkAbstractionUnits.verdict,
    TransportStream.verdict,
    WideText.verdict,
    AudioFrames.verdict,
    MaterialExchange.verdict,
    PlainText.verdict,
    Zeros.verdict,
    ProgramStream.verdictBehindOther,
    TransportStream.verdictBehindOther,
  ]

  private static func verdict(_ head: FilePrefix) -> SniffVerdict {
    for stage in stages {
      if let verdict = stage(head) { return verdict }
    }
    return .unrecognised
  }
}

/// What the first bytes of a file say.
package enum SniffVerdict: Hashable, Sendable {
  /// They are the beginning of this container. Whether the rest keeps the promise is for a demuxer to say.
  case container(MediaContainer)
  /// They are something that Reel does not take in; the error says what, and what to do.
  case refused(ProbeError)
  /// Neither: no beginning that is known here.
  case unrecognised
}

/// Files of another trade that go by the extension of a container: TypeScript and Qt's translations by `.ts`, Go's
/// modules by `.mod`, PostScript by `.ps`.
package enum AmbiguousExtension {
  /// Lower case, without the dot.
  package static let extensions = Set(kinds.keys)

  /// What else goes by the name, as the sniffer calls it. A web page is not among it: that came in place of a video.
  private static let kinds: [String: Set<String>] = [
    "ts": ["a text file", "an XML document"], "mts": ["a text file"], "mod": ["a text file"],
    "ps": ["a text file", "a PostScript document"],
  ]

  /// Whether the file that begins with `head` is what else goes by the extension `claimed`.
  ///
  /// - Parameters:
  ///   - head: the first ``Sniffer/headLength`` bytes, or the whole file when it is shorter.
  ///   - size: the whole file's size in bytes.
  package static func isOne(head: [UInt8], size: Int64, claimed: String) -> Bool {
    guard let kinds = Self.kinds[claimed], case .refused(let error) = Sniffer.verdict(head: head, size: size),
      error.code == .notMedia, let found = error.found
    else { return false }
    return kinds.contains(found)
  }
}
