import ReelCore
import ReelIngest

/// The facts of one file, for people.
package enum ProbeSummary {
  package static func text(_ document: ProbedFile, _ traits: TerminalTraits) -> String {
    switch document.result {
    case .success(let report): success(report, document, traits).text(traits)
    case .failure(let failure):
      ProblemSummary.text(ProblemList.Entry(document.path, failure), traits)
    }
  }

  private static func success(
    _ report: ProbeReport, _ document: ProbedFile, _ traits: TerminalTraits
  ) -> [StyledLine] {
    var sheet = FactSheet(traits)
    addFacts(of: report.media, to: &sheet, traits)
    if document.extensionMismatch {
      let claimed = document.path.claimedExtension ?? ""
      sheet.add(
        "warning", "its name says .\(claimed), but it is \(report.media.container.fileExtension)", .warning)
    }
    for warning in report.media.warnings { sheet.add("warning", warning.message, .warning) }
    sheet.add("read by", provenance(report.provenance))
    if let read = document.read {
      sheet.add(
        "read",
        "\(HumanNumber.bytes(read.bytes)) in \(HumanNumber.count(read.requests, "request", "requests"))")
    }
    return traits.wrapped(traits.sanitized(document.path.shown), .strong) + sheet.lines()
  }

  static func addFacts(of media: MediaInfo, to sheet: inout FactSheet, _ traits: TerminalTraits) {
    sheet.add("container", container(media))
    sheet.add("size", HumanNumber.bytes(media.size))
    sheet.add("duration", duration(media))
    sheet.add("picture", media.video.map { picture($0, traits) } ?? noPicture(media))
    sheet.add("video", media.video.map(video))
    sheet.add("colour", media.video.map(colour))
    for audio in media.audio { sheet.add("audio", self.audio(audio)) }
    sheet.add("title", media.title)
    sheet.add("artist", media.artist)
    sheet.add("recorded", media.createdAt.map(ISOTime.second))
    sheet.add("location", media.hasLocation == true ? "it says where it was recorded" : nil)
    sheet.add("credentials", media.contentCredentials == true ? "it carries Content Credentials (C2PA)" : nil)
    sheet.add("live photo", media.contentIdentifier)
    if media.truncated == true {
      sheet.add("truncated", "yes: it was cut off, part of its data is missing", .failure)
    }
    if media.external == true {
      sheet.add("external", "yes: its pictures or sound lie in other files", .failure)
    }
    if media.encrypted == true { sheet.add("encrypted", "yes", .warning) }
  }

  /// `libavformat 59.27.100, header, isolation landlock+seccomp`
  static func provenance(_ probe: ProbeProvenance) -> String {
    "libavformat \(probe.ffmpeg), \(probe.method.rawValue), isolation \(probe.isolation.rawValue)"
  }
}

// One line for each group of facts; unknown facts are left out.
extension ProbeSummary {
  private static func joined(_ parts: [String?]) -> String {
    parts.compactMap(\.self).joined(separator: ", ")
  }

  private static func container(_ media: MediaInfo) -> String {
    joined([
      "\(media.container.fileExtension) (\(media.container.contentType))",
      media.fragmented == true ? "fragmented" : nil,
      media.fastStart.map { $0 ? "index first" : "index last" },
      media.bitRate.map(HumanNumber.bitRate),
    ])
  }

  private static func duration(_ media: MediaInfo) -> String {
    guard let duration = media.duration else { return "unknown" }
    return HumanNumber.duration(duration) + (media.durationSource.map { " (by the \(words(for: $0)))" } ?? "")
  }

  private static func words(for source: DurationSource) -> String {
    switch source {
    case .container: "container"
    case .stream: "longest stream"
    case .packets: "packets"
    case .estimated: "bit rate, an estimate"
    }
  }

  private static func noPicture(_ media: MediaInfo) -> String {
    media.hasCover == true ? "none: its only picture is a cover" : "none: it has no video stream"
  }

  private static func picture(_ video: VideoFacts, _ traits: TerminalTraits) -> String {
    let shown = size(video.width, video.height, traits)
    let stored = size(video.storedWidth, video.storedHeight, traits)
    return joined([
      shown ?? "of unknown size",
      stored == shown ? nil : stored.map { "stored as \($0)" },
      video.rotation.flatMap { $0 == 0 ? nil : "rotated \($0) degrees clockwise" },
      video.mirrored == true ? "mirrored" : nil,
      video.sampleAspectRatio.flatMap { $0.isSquare ? nil : "pixels \($0)" },
    ])
  }

  /// `1080×1920`
  static func size(_ width: Int?, _ height: Int?, _ traits: TerminalTraits) -> String? {
    guard let width, let height else { return nil }
    return "\(width)\(traits.times)\(height)"
  }

  private static func video(_ video: VideoFacts) -> String {
    joined([
      joinedWords(video.codec ?? "of unknown codec", video.profile),
      video.frameRate.map { "\(HumanNumber.decimal($0.value, places: 2)) frames/s" },
      video.variableFrameRate == true ? "variable" : nil,
      video.bitRate.map(HumanNumber.bitRate),
      video.streams.flatMap { $0 > 1 ? "one of \($0) streams" : nil },
      video.hasCover == true ? "with a cover picture" : nil,
      video.hasSamples == false ? "without a single sample" : nil,
    ])
  }

  private static func colour(_ video: VideoFacts) -> String {
    joined([
      video.pixelFormat, video.chroma, video.bitDepth.map { "\($0) bit" },
      video.hdr.map { "HDR " + joinedWords($0.kind.rawValue, $0.profile.map { "profile \($0)" }) },
    ])
  }

  private static func audio(_ audio: AudioFacts) -> String {
    joined([
      audio.codec ?? "of unknown codec",
      audio.channels.map { HumanNumber.count($0, "channel", "channels") },
      audio.sampleRate.map { HumanNumber.decimal(Double($0) / 1000, places: 3) + " kHz" },
    ])
  }

  private static func joinedWords(_ words: String?...) -> String {
    words.compactMap(\.self).joined(separator: " ")
  }
}

/// Facts for people, one per line: labels on the left, values on the right, each value wrapped to fit.
struct FactSheet {
  private struct Fact {
    let label: String
    let value: String
    let style: StyledLine.TextStyle?
  }
  private var facts: [Fact] = []
  private let traits: TerminalTraits

  init(_ traits: TerminalTraits) { self.traits = traits }

  /// Adds a fact whose value may be untrusted text; an unknown one is left out.
  mutating func add(_ label: String, _ value: String?, _ style: StyledLine.TextStyle? = nil) {
    guard let value, !value.isEmpty else { return }
    facts.append(Fact(label: label, value: traits.sanitized(value), style: style))
  }

  /// - Parameter indent: the number of spaces before each line.
  func lines(indent: Int = 2) -> [StyledLine] {
    let labelColumns = facts.map { DisplayWidth.columns(of: $0.label) }.max() ?? 0
    guard let columns = traits.columns else {
      return facts.flatMap { beside($0, labelColumns, indent: indent, room: nil) }
    }
    let room = columns - indent - labelColumns - 2
    return facts.flatMap { fact in
      // An identifier that fits on a line is not broken, so that it can be copied.
      let longest = fact.value.split(separator: " ").map { DisplayWidth.columns(of: String($0)) }.max() ?? 0
      let fitsBelow = longest > room && longest <= columns - 2
      return room < 16 || fitsBelow
        ? below(fact, columns: columns) : beside(fact, labelColumns, indent: indent, room: room)
    }
  }

  private func beside(_ fact: Fact, _ labelColumns: Int, indent: Int, room: Int?) -> [StyledLine] {
    let margin = String(repeating: " ", count: indent)
    return TextFlow.lines(fact.value, columns: room).enumerated().map { index, text in
      let label = DisplayWidth.padded(index == 0 ? fact.label : "", to: labelColumns)
      return StyledLine(margin) + StyledLine(label, .dim) + "  " + StyledLine(text, fact.style)
    }
  }

  /// The fact below its label, if there is no room for two columns.
  private func below(_ fact: Fact, columns: Int) -> [StyledLine] {
    let label = StyledLine(DisplayWidth.cuttingEnd(fact.label, to: columns, mark: traits.ellipsis), .dim)
    guard columns > 4 else { return [label] + wrapped(fact, columns: columns, margin: "") }
    return [label] + wrapped(fact, columns: columns - 2, margin: "  ")
  }

  private func wrapped(_ fact: Fact, columns: Int, margin: String) -> [StyledLine] {
    TextFlow.lines(fact.value, columns: columns).map { StyledLine(margin) + StyledLine($0, fact.style) }
  }
}

extension TerminalTraits {
  /// `sentences`, sanitized, each wrapped onto as many lines as it needs; without newlines.
  package func lines(_ sentences: [String]) -> [String] {
    sentences.flatMap { flow(sanitized($0), columns: columns) }
  }

  /// The same with a newline after each line.
  package func text(_ sentences: [String]) -> String {
    lines(sentences).map { $0 + "\n" }.joined()
  }

  /// The `lines` of an error, sanitized as for a log, each wrapped onto as many lines as it needs.
  package func complaint(_ lines: [String]) -> String {
    lines.flatMap { flow(SanitizedText.line($0), columns: columns) }.map { $0 + "\n" }.joined()
  }

  /// `lines`, sanitized, each wrapped onto as many lines as it needs. A line's indentation also applies where it
  /// continues.
  package func indented(_ lines: [String]) -> String {
    lines.map { line in
      let margin = String(line.prefix { $0 == " " })
      let more = margin + "    "
      let room = columns.map { max(16, $0 - more.count) }
      let pieces = flow(sanitized(String(line.dropFirst(margin.count))), columns: room)
      return pieces.enumerated().map { ($0 == 0 ? margin : more) + $1 + "\n" }.joined()
    }.joined()
  }

  /// `text`, already sanitized, wrapped onto as many lines as it needs.
  func wrapped(_ text: String, _ style: StyledLine.TextStyle? = nil) -> [StyledLine] {
    flow(text, columns: columns).map { StyledLine($0, style) }
  }

  /// `sentence`, followed by a command, which is never broken, so that it can be copied. The command gets a line of its
  /// own if both do not fit on one. Both are already sanitized.
  func wrapped(_ sentence: String, command: String, _ style: StyledLine.TextStyle? = nil) -> [StyledLine] {
    let lines = TextFlow.lines(sentence + " " + command, columns: columns)
    if lines.count == 1 { return [StyledLine(lines[0], style)] }
    return wrapped(sentence, style) + [StyledLine(command, style)]
  }

  /// A colored word, followed by a text that is already sanitized, wrapped onto as many lines as it needs.
  func wrapped(_ lead: String, _ style: StyledLine.TextStyle?, _ text: String) -> [StyledLine] {
    var lines = flow(lead + " " + text, columns: columns)
    guard let first = lines.first, first.hasPrefix(lead) else { return lines.map { StyledLine($0) } }
    lines.removeFirst()
    return [StyledLine(lead, style) + String(first.dropFirst(lead.count))] + lines.map { StyledLine($0) }
  }

  private func flow(_ text: String, columns: Int?) -> [String] {
    TextFlow.lines(text, columns: columns, keepingCommands: true)
  }
}
