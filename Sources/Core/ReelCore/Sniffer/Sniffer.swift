/// Identifies a file by its first bytes, before any demuxer sees it.
///
/// Pure and total: every sequence of bytes has a verdict, and none causes a trap.
package enum Sniffer {
  /// How many of a file's first bytes to pass: 64 KiB is the longest run-in that MXF allows before its first key
  /// (SMPTE ST 377-1, 6.5), and no other container needs more; 16 is the length of that key.
  package static let headLength = 65_536 + 16

  /// Identifies the file that begins with `head`.
  ///
  /// - Parameters:
  ///   - head: The first ``headLength`` bytes, or the whole file if it is shorter. Fewer are accepted, but reveal
  ///     less.
  ///   - size: The size of the whole file in bytes.
  package static func verdict(head: [UInt8], size: Int64) -> SniffVerdict {
    guard size > 0 else { return Refusal.empty.verdict }
    let head = FilePrefix(head)
    return LeadingTag.verdict(head, of: verdict) ?? verdict(head)
  }

  /// The stages, in the order that decides how a polyglot file is classified. FFmpeg chooses the demuxer with the
  /// highest score: the words of a manifest outrank everything, a box of an ISO file outranks the rest, and formats
  /// recognized only by repetition (transport streams, audio frames) come after every signature. Text comes last,
  /// because an MXF run-in may be text.
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

/// What the first bytes of a file indicate.
package enum SniffVerdict: Hashable, Sendable {
  /// They are the beginning of this container. Whether the rest is valid is for a demuxer to determine.
  case container(MediaContainer)
  /// They belong to something that Reel does not ingest; the error says what it is, and what to do.
  case refused(ProbeError)
  /// They are no beginning that is known here.
  case unrecognised
}

/// Non-video files that share an extension with a container: TypeScript and Qt translations with `.ts`, Go modules
/// with `.mod`, PostScript with `.ps`.
package enum AmbiguousExtension {
  /// The extensions in lower case, without the dot.
  package static let extensions = Set(kinds.keys)

  /// What else has the extension, in the sniffer's words. A web page is not included, because it was saved in place
  /// of a video.
  private static let kinds: [String: Set<String>] = [
    "ts": ["a text file", "an XML document"], "mts": ["a text file"], "mod": ["a text file"],
    "ps": ["a text file", "a PostScript document"],
  ]

  /// Whether the file that begins with `head` is such a non-video file with the extension `claimed`.
  ///
  /// - Parameters:
  ///   - head: The first ``Sniffer/headLength`` bytes, or the whole file if it is shorter.
  ///   - size: The size of the whole file in bytes.
  package static func isOne(head: [UInt8], size: Int64, claimed: String) -> Bool {
    guard let kinds = Self.kinds[claimed], case .refused(let error) = Sniffer.verdict(head: head, size: size),
      error.code == .notMedia, let found = error.found
    else { return false }
    return kinds.contains(found)
  }
}
