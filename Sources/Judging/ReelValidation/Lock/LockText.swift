import ReelCore

/// The text of a lock file: a block for each file and a line for each fact, all sorted, so that a change of one fact
/// changes one line.
///
/// ```
/// reel-lock 2
/// tolerance.duration = 0.05s
/// tolerance.rate = 0.01%
///
/// file clips/faststart.mp4
///   sha256 = 9f86…
///   size = 24757
///   verdict = pass
///   read-by = reel 0.1.0, libavformat 59.27.100
///   container = mp4
///
/// end
/// ```
package enum LockText {
  static let heading = "reel-lock 2"
  /// The heading of locks before 0.3, which have no last line.
  static let headingOfVersion1 = "reel-lock 1"
  /// The last line. Without it, a lock truncated at the end of a line would look like a lock of fewer files.
  static let end = "end"

  package static func text(_ lock: LockFile) -> String {
    var lines = [
      heading, "# Written by `reel lock`. Look at the differences before you commit them.",
      "tolerance.duration = \(Decimals.text(lock.tolerances.duration, places: 6))s",
      "tolerance.rate = \(Decimals.text(lock.tolerances.rate * 100, places: 6))%",
    ]
    for (path, entry) in lock.entries.sorted(by: { $0.key < $1.key }) {
      lines += ["", "file " + Escapes.escaped(path.bytes)]
      lines += self.lines(entry).map { "  " + $0 }
    }
    return (lines + ["", end]).joined(separator: "\n") + "\n"
  }

  static func lines(_ entry: LockEntry) -> [String] {
    let facts = entry.facts.sorted { $0.key < $1.key }
    return [
      "sha256 = " + (entry.digest?.hex ?? "unknown"),
      "size = " + (entry.size.map { "\($0)" } ?? "unknown"),
      "verdict = " + (entry.broken.isEmpty ? "pass" : "broken " + entry.broken.joined(separator: " ")),
      "read-by = reel \(entry.reader.reel), libavformat \(entry.reader.ffmpeg)",
    ] + facts.map { $0.key + " = " + Escapes.escaped(Array($0.value.utf8)) }
  }

  /// Backslash escapes for characters that would break a line, are invisible, or are not UTF-8. The second `#` of
  /// `##[command]` and the second `:` of `::command` are escaped as well: a CI runner obeys these in its log, where a
  /// lock's differences are shown.
  enum Escapes {
    static func escaped(_ bytes: [UInt8]) -> String {
      guard let text = String(validating: bytes, as: UTF8.self) else {
        return zip([0] + bytes, bytes).map { previous, byte in
          let isPlain = (0x21...0x7E).contains(byte) && byte != 0x5C
          return isPlain && !(previous == byte && isPaired(byte)) ? String(UnicodeScalar(byte)) : hex(byte)
        }.joined()
      }
      let edges = (text.unicodeScalars.first == " ", text.unicodeScalars.last == " ")
      let count = text.unicodeScalars.count
      let pairs = zip([Unicode.Scalar(0)] + Array(text.unicodeScalars), text.unicodeScalars)
      return pairs.enumerated().map { index, pair in
        let (previous, scalar) = pair
        let isEdge = index == 0 && edges.0 || index == count - 1 && edges.1
        let isCommand = previous == scalar && scalar.isASCII && isPaired(UInt8(scalar.value))
        if scalar == "\\" || isEdge || isCommand || isHidden(scalar) {
          return Array(String(scalar).utf8).map(hex).joined()
        }
        return String(scalar)
      }.joined()
    }

    /// Decodes escapes. Returns nil if one is incomplete.
    static func bytes(_ text: Substring) -> [UInt8]? {
      var bytes: [UInt8] = []
      var rest = Array(text.utf8)[...]
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "\\") else {
          bytes.append(byte)
          continue
        }
        guard rest.popFirst() == UInt8(ascii: "x"), rest.count >= 2,
          let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(2)
      }
      return bytes
    }

    private static func isPaired(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: "#") || byte == UInt8(ascii: ":")
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: true
      default: false
      }
    }

    private static func hex(_ byte: UInt8) -> String {
      #"\x"# + byte.hex
    }
  }
}

/// The facts of a file as pairs of text, as a lock stores them. Unknown facts are left out, and so are warnings, as
/// their wording is not a fact.
enum LockedFacts {
  /// Returns the facts by their keys; for a file that could not be read, the error.
  static func facts(of reading: FixtureReading) -> [String: String] {
    switch reading {
    case .media(let report): facts(of: report.media)
    case .unreadable(let error): ["error": error.code.rawValue]
    case .unreachable(let error): ["error": error.code.rawValue]
    case .orphanSidecar: [:]
    }
  }

  private static func facts(of media: MediaInfo) -> [String: String] {
    var facts: [String: String] = [:]
    facts["container"] = media.container.rawValue
    facts["duration"] = media.duration.map { Decimals.text($0) }
    facts["durationSource"] = media.durationSource?.rawValue
    facts["truncated"] = media.truncated.map { "\($0)" }
    facts["presentDuration"] = media.presentDuration.map { Decimals.text($0) }
    // Left out when false, which is almost always: locks of older versions have no line for it.
    facts["external"] = media.external == true ? "true" : nil
    facts["fastStart"] = media.fastStart.map { "\($0)" }
    facts["fragmented"] = media.fragmented.map { "\($0)" }
    facts["encrypted"] = media.encrypted.map { "\($0)" }
    facts["hasLocation"] = media.hasLocation.map { "\($0)" }
    // As for `external`.
    facts["contentCredentials"] = media.contentCredentials == true ? "true" : nil
    facts["bitRate"] = media.bitRate.map { "\($0)" }
    facts["hasCover"] = media.hasCover.map { "\($0)" }
    facts["title"] = media.title
    facts["artist"] = media.artist
    if let video = media.video { add(video, to: &facts) }
    for (index, audio) in media.audio.enumerated() { add(audio, "audio.\(index)", to: &facts) }
    return facts
  }

  private static func add(_ video: VideoFacts, to facts: inout [String: String]) {
    facts["video.codec"] = video.codec ?? "unknown"
    facts["video.profile"] = video.profile
    facts["video.size"] = pair(video.width, video.height)
    facts["video.storedSize"] = pair(video.storedWidth, video.storedHeight)
    facts["video.rotation"] = video.rotation.map { "\($0)" }
    facts["video.mirrored"] = video.mirrored.map { "\($0)" }
    facts["video.sampleAspectRatio"] = video.sampleAspectRatio?.description
    facts["video.frameRate"] = video.frameRate?.description
    facts["video.variableFrameRate"] = video.variableFrameRate.map { "\($0)" }
    facts["video.pixelFormat"] = video.pixelFormat
    facts["video.bitDepth"] = video.bitDepth.map { "\($0)" }
    facts["video.chroma"] = video.chroma
    facts["video.bitRate"] = video.bitRate.map { "\($0)" }
    facts["video.hdr"] = video.hdr?.kind.rawValue
    facts["video.streams"] = video.streams.map { "\($0)" }
    facts["video.hasCover"] = video.hasCover.map { "\($0)" }
    facts["video.hasSamples"] = video.hasSamples.map { "\($0)" }
  }

  private static func add(_ audio: AudioFacts, _ name: String, to facts: inout [String: String]) {
    facts["\(name).codec"] = audio.codec ?? "unknown"
    facts["\(name).channels"] = audio.channels.map { "\($0)" }
    facts["\(name).sampleRate"] = audio.sampleRate.map { "\($0)" }
  }

  private static func pair(_ width: Int?, _ height: Int?) -> String? {
    guard let width, let height else { return nil }
    return "\(width)x\(height)"
  }
}
