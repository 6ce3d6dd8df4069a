import ReelCore

/// A policy made from a good example: its properties become requirements for others, with some margin.
package enum PolicyDraft {
  /// Returns YAML that can be used as it is.
  /// - Parameter name: the name of the example, for a comment.
  package static func text(from media: MediaInfo, name: String) -> String {
    var lines = [
      "# Made by `reel policy init` from \(comment(name)). Look through it: an example says what is, not what must be.",
      "policy: 1", "extends: sanity", "rules:",
    ]
    for (setting, found) in settings(media) {
      lines.append("  " + setting + (found.map { "  # found: \($0)" } ?? ""))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private typealias Line = (setting: String, found: String?)

  private static func settings(_ media: MediaInfo) -> [Line] {
    var lines: [Line] = [("container.allowed: \(media.container.rawValue)", nil)]
    if let seconds = media.duration {
      lines.append(("duration.missing: error", nil))
      lines.append(("duration.max: \(Int((seconds * 1.5).rounded(.up)))s", Decimals.text(seconds) + " s"))
    }
    if media.isISO, media.fragmented == false {
      lines.append(("mp4.fragmented: error", nil))
      if media.fastStart == true { lines.append(("mp4.notFastStart: error", nil)) }
    }
    if let video = media.video { lines += settings(video) }
    lines += settings(media.audio)
    if let rate = media.bitRate {
      lines.append(("bitrate.max: \(rate / 1000 * 3 / 2 + 1)kbps", Decimals.bitRate(rate)))
    }
    lines.append(("bytes.max: \(max(1, media.size / 1000 * 2))kB", Decimals.bytes(media.size)))
    if media.hasLocation == false { lines.append(("privacy.location: error", nil)) }
    return lines
  }

  private static func settings(_ video: VideoFacts) -> [Line] {
    var lines: [Line] = []
    if let codec = named(video.codec) { lines.append(("codec.video: \(codec)", nil)) }
    if let width = video.width, let height = video.height, width > 0, height > 0 {
      let divisor = greatestDivisor(width, height)
      lines.append(("size.max: \(width)x\(height)", nil))
      lines.append(("size.aspect: \"\(width / divisor):\(height / divisor)\"", nil))
    }
    if let rate = video.frameRate {
      lines.append(("fps.max: \(rate)", Decimals.text(rate.value)))
    }
    if video.variableFrameRate == false { lines.append(("fps.variable: error", nil)) }
    if video.sampleAspectRatio?.isSquare == true { lines.append(("sar.nonSquare: error", nil)) }
    if let format = named(video.pixelFormat) { lines.append(("pixel.format: \(format)", nil)) }
    if video.hdr == nil { lines.append(("hdr.present: error", nil)) }
    return lines
  }

  private static func settings(_ audio: [AudioFacts]) -> [Line] {
    guard !audio.isEmpty else { return [] }
    var lines: [Line] = [("audio.none: error", nil)]
    let codecs = Set(audio.compactMap { named($0.codec) }).sorted()
    let channels = Set(audio.compactMap(\.channels)).sorted()
    let rates = Set(audio.compactMap(\.sampleRate)).sorted()
    if !codecs.isEmpty { lines.append(("codec.audio: [\(codecs.joined(separator: ", "))]", nil)) }
    if !channels.isEmpty { lines.append(("audio.channels: \(channels)", nil)) }
    if !rates.isEmpty { lines.append(("audio.sampleRate: \(rates)", nil)) }
    return lines
  }

  /// Returns a name that a policy can contain; any other text from the untrusted file is left out.
  private static func named(_ name: String?) -> String? { name.flatMap { Quantity.name($0) } }

  private static func comment(_ name: String) -> String {
    String(
      String.UnicodeScalarView(
        name.unicodeScalars.map { $0.isASCII && $0.value > 0x1F && $0.value < 0x7F ? $0 : "?" }))
  }

  private static func greatestDivisor(_ left: Int, _ right: Int) -> Int {
    right == 0 ? left : greatestDivisor(right, left % right)
  }
}

/// One policy file as it was read, before the policies that it extends are merged in.
struct PolicyDocument: Sendable {
  struct Base: Sendable {
    let name: String
    let place: PolicyPlace
  }
  var name: String?
  var version: String?
  /// The policies that it extends; nil if it does not say, which stands for the sanity rules.
  var extends: [Base]?
  var settings: [String: RuleSetting] = [:]
  var overrides: [Policy.Override] = []
}
