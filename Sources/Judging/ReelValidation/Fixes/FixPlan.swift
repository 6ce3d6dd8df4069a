import ReelCore

/// Plans the one command that makes a file keep all rules that it breaks.
struct FixPlan {
  private let facts: FixtureFacts
  private let rules: [ActiveRule]

  /// Returns nil if no command can do it: one of the rules has no remedy, or it is not known what the file would
  /// become.
  /// - Parameter claim: see ``FixCommand``.
  static func command(
    for fixes: [Fix], _ facts: FixtureFacts, by rules: [ActiveRule], claim: (SourcePath) -> Bool
  ) -> String? {
    for case .ready(let command) in fixes { return command }
    return FixPlan(facts: facts, rules: rules).template(fixes).map {
      FixCommand.text($0, for: facts.path, claim: claim)
    }
  }

  private func template(_ fixes: [Fix]) -> String? {
    for case .command(let command) in fixes { return command }
    guard let media = facts.media else { return fixes == [.wrap] ? wrap() : nil }
    let isSigned = media.contentCredentials == true
    // Any change invalidates the credentials.
    if isSigned, rules.contains(where: { $0.rule.id == "credentials.missing" }) { return nil }
    var (mends, conversion): (Set<Mend>, Conversion?) = ([], nil)
    for fix in fixes {
      switch fix {
      case .command, .ready, .rename, .wrap: break
      case .mend(let mend): mends.insert(mend)
      case .convert(let next):
        conversion = conversion ?? Conversion()
        conversion?.add(next)
      }
    }
    if var conversion {
      // Rewriting the file also does everything else that can be mended.
      if mends.contains(.location) { conversion.dropsMetadata = true }
      return convert(media, conversion)
    }
    let name = media.container.fileExtension
    guard !mends.isEmpty else { return "mv -n -- FILE NAME.\(name)" }
    if isSigned { mends.insert(.credentials) }
    // Both take a single rewrite.
    if mends.contains(.unfragment) { mends.insert(.faststart) }
    let flags = Mend.allCases.filter(mends.contains).map(\.flag)
    return "reel mend FILE \(flags.joined(separator: " ")) -o OUT.\(name)"
  }

  // MARK: ffmpeg

  /// Plans the encoding of a raw stream, of which nothing is known except that FFmpeg reads it. If it were copied,
  /// frames without timestamps would be lost. Returns nil if a rule of severity `error` needs a fact that is unknown.
  private func wrap() -> String? {
    var (media, video) = (MediaInfo(container: .mp4, size: facts.size ?? 0), VideoFacts())
    (video.codec, video.hasSamples, video.rotation, video.variableFrameRate) = ("raw", true, 0, false)
    video.setFormat("yuv420p")
    (media.fastStart, media.fragmented, media.truncated, media.encrypted) = (true, false, false, false)
    (media.hasLocation, media.contentCredentials, media.video) = (false, false, video)
    var encoded = facts
    encoded.reading = .media(ProbeReport(media: media, provenance: Self.provenance))
    var conversion = Conversion { $0.encodesVideo = true }
    for rule in rules {
      switch rule.judge(encoded) {
      case .unverified where rule.severity == .error: return nil
      case .broken(let violation):
        if case .convert(let more) = violation.fix { conversion.add(more) }
      case .unverified, .passed, .notApplicable: break
      }
    }
    return convert(media, conversion)
  }

  private func convert(_ source: MediaInfo, _ conversion: Conversion) -> String? {
    var (media, conversion) = (source, conversion)
    if conversion.addsSilence {
      media.audio = [AudioFacts(codec: "anullsrc", channels: 2, sampleRate: Self.silentRate)]
    }
    if conversion.filters.contains(where: \.isFit), media.video?.sampleAspectRatio?.isSquare == false {
      conversion.filters.insert(.squarePixels)
    }
    if takesOutMessages(conversion), Self.messages[media.video?.codec ?? ""] == nil {
      conversion.encodesVideo = true
    }
    guard media.encrypted != true, media.external != true, let video = media.video,
      let stream = stream(video), let first = target(media, video, conversion)
    else { return nil }
    if first.audio.codec != nil || frames(video, conversion) != nil { conversion.add(cut(media)) }
    guard let target = target(media, video, conversion),
      let pictures = pictures(target, media, video, conversion)
    else { return nil }
    // A program stream does not have a timestamp for each frame.
    var words = ["ffmpeg -n \(media.container == .mpegPS ? "-fflags +genpts " : "")-i FILE"]
    if conversion.addsSilence { words.append("-f lavfi -i anullsrc=r=\(Self.silentRate):cl=stereo") }
    // Leave out covers, and everything that another container can't hold.
    words.append("-map \(stream) -map \(conversion.addsSilence ? "1" : "0"):a?")
    words += length(media, conversion)
    words.append(pictures)
    words.append(sound(target, media, conversion))
    if conversion.dropsMetadata { words.append("-map_metadata -1") }
    if target.container.isISO { words.append("-movflags +faststart") }
    return (words + ["OUT.\(target.container.fileExtension)"]).joined(separator: " ")
  }

  private static let silentRate = 48000

  /// The stream that the rules have judged; nil if there are several and it is unknown which one that is.
  private func stream(_ video: VideoFacts) -> String? {
    guard let count = video.streams, count > 1 else { return "0:V:0" }
    return facts.rewriting.shownStream.map { "0:\($0)" }
  }

  /// Whether a location has to be removed that is in the video stream itself.
  private func takesOutMessages(_ conversion: Conversion) -> Bool {
    conversion.dropsMetadata && facts.rewriting.isPlaceInPictures
  }

  /// The NAL unit types of SEI messages (ITU-T H.264 and H.265, table 7-1). ffmpeg removes all of them or none.
  private static let messages = ["h264": "6", "hevc": "39-40"]

  /// A file becomes slightly longer at another frame rate, or when its sound is re-encoded. If that would make it too
  /// long, it is cut.
  private func cut(_ media: MediaInfo) -> Conversion {
    var conversion = Conversion()
    for case .convert(let change) in violations(
      of: ["duration.max"], media, { $0.duration = $0.duration.map { $0 + Self.room } }
    ).map(\.fix) { conversion.add(change) }
    return conversion
  }

  /// In seconds: the most by which it becomes longer, and how much earlier it is cut.
  private static let room = 0.25

  /// Frames last beyond the point of a cut, and silence has no end of its own.
  private func length(_ media: MediaInfo, _ conversion: Conversion) -> [String] {
    if let most = conversion.seconds { return ["-t \(Decimals.text(most - min(Self.room, most / 4)))"] }
    guard conversion.addsSilence else { return [] }
    return [media.duration.map { "-t \(Decimals.text($0))" } ?? "-shortest"]
  }

  private enum Choice {
    case copied
    case encoded(EncodedCodec)

    var codec: EncodedCodec? { if case .encoded(let codec) = self { codec } else { nil } }
  }

  /// The file to be written.
  private struct Target {
    let container: MediaContainer
    let video: Choice
    let audio: Choice

    var cost: Int { (video.codec == nil ? 0 : 4) + (audio.codec == nil ? 0 : 2) }
  }

  /// Among the ways that the rules allow, returns the one that encodes least, with preference for what the file has.
  private func target(_ media: MediaInfo, _ video: VideoFacts, _ conversion: Conversion) -> Target? {
    let able = { (codec: EncodedCodec) in canEncode(codec, media, conversion) }
    var best: Target?
    for container in [media.container] + MediaContainer.usualForConversion
    where !breaks(.container, media, { $0.container = container }) {
      let fitting = container.expectedCodecs
      let isKept = { (codec: String) in container == media.container && container.keeps(codec) }
      let pictures = choice([video.codec], EncodedCodec.video, conversion.changesPictures, by: able) { name in
        (name == video.codec && isKept(name) || fitting.video.contains(name)) && !breaksVideo(name, media)
      }
      let sound = choice(media.audio.map(\.codec), EncodedCodec.audio, conversion.changesSound, by: able) {
        name in
        (media.audio.contains { $0.codec == name } && isKept(name) || fitting.audio.contains(name))
          && !breaksSound(name, media)
      }
      guard let pictures, let sound else { continue }
      let target = Target(container: container, video: pictures, audio: sound)
      // Rarer containers accept only some rates.
      if target.cost > 0, !MediaContainer.usualForConversion.contains(container) { continue }
      if best.map({ target.cost < $0.cost }) ?? true { best = target }
    }
    return best
  }

  /// Returns nil if no codec is acceptable, or if ffmpeg would have to decode an unknown one.
  /// - Parameter own: the codecs of the streams.
  private func choice(
    _ own: [String?], _ all: [EncodedCodec], _ isEncoded: Bool, by canEncode: (EncodedCodec) -> Bool,
    _ willDo: (String) -> Bool
  ) -> Choice? {
    let names = own.compactMap(\.self)
    guard names.count == own.count else { return nil }
    if names.isEmpty || !isEncoded && names.allSatisfy(willDo) { return .copied }
    // The codec that the file has comes first.
    let ordered = all.filter { names.contains($0.name) } + all.filter { !names.contains($0.name) }
    return ordered.first { canEncode($0) && willDo($0.name) }.map { .encoded($0) }
  }

  private func canEncode(_ codec: EncodedCodec, _ media: MediaInfo, _ conversion: Conversion) -> Bool {
    if conversion.isLimited, !codec.keepsToLimits { return false }
    guard let rates = codec.rates else { return true }
    return rates.contains { rate in !breaks(.sampleRate, media) { $0.setSound { $0.sampleRate = rate } } }
  }

  private func breaksVideo(_ codec: String, _ media: MediaInfo) -> Bool {
    breaks(.videoCodec, media) { $0.video?.codec = codec }
  }

  private func breaksSound(_ codec: String, _ media: MediaInfo) -> Bool {
    breaks(.audioCodec, media) { $0.setSound { $0.codec = codec } }
  }

  private func pictures(
    _ target: Target, _ media: MediaInfo, _ video: VideoFacts, _ conversion: Conversion
  ) -> String? {
    guard let codec = target.video.codec else { return copied(video, into: target.container, conversion) }
    if video.hdr?.hasColoursOfItsOwn == true { return nil }
    var (filters, options) = (conversion.filters, "-c:v \(codec.encoder)")
    if target.container.isISO, codec.name == "hevc" { options += " -tag:v hvc1" }
    var isWide = video.hdr != nil && !filters.contains(.toStandardRange)
    if isWide, !codec.hasTenBits {
      filters.insert(.toStandardRange)
      isWide = false
    }
    let formats = (isWide ? ["yuv420p10le"] : []) + ["yuv420p", "yuv420p10le", "yuv422p", "yuv444p"]
    guard
      let format = formats.first(where: { format in !breaks(.pixels, media) { $0.video?.setFormat(format) } })
    else { return nil }
    let isOdd = [video.storedWidth, video.storedHeight].contains { ($0 ?? 0) % 2 == 1 }
    if isOdd, !filters.contains(.squarePixels), !filters.contains(where: \.isFit) {
      filters.insert(.evenSides)
    }
    if !filters.isEmpty {
      let texts = filters.sorted().map { $0.text(video.hdr) }
      options += " -vf '\(texts.joined(separator: ","))'"
    }
    options += " -pix_fmt \(format)"
    if let rate = frames(video, conversion) { options += " -r \(rate)" }
    if let bits = bits(media, conversion) {
      let own = bits.all - bits.sound * Int64(media.audio.count)
      guard own >= Self.leastBits else { return nil }
      // What the buffer holds comes on top of the rate: with a full buffer, a short film would be nearly twice as
      // large.
      let buffer = max(1, Int64(clamping: Double(own) * min(1, (media.duration ?? 4) / 4)))
      options += " -b:v \(own) -maxrate \(own) -bufsize \(buffer)"
    }
    return options
  }

  private func copied(
    _ video: VideoFacts, into container: MediaContainer, _ conversion: Conversion
  ) -> String {
    let tag = container.isISO && video.codec == "hevc" ? " -tag:v hvc1" : ""
    guard takesOutMessages(conversion), let types = Self.messages[video.codec ?? ""] else {
      return "-c:v copy" + tag
    }
    return "-c:v copy\(tag) -bsf:v filter_units=remove_types=\(types)"
  }

  /// A common constant frame rate; nil if the frames may keep their timing.
  private func frames(_ video: VideoFacts, _ conversion: Conversion) -> String? {
    guard conversion.rate != nil || conversion.hasConstantRate else { return nil }
    let own = video.frameRate?.value ?? 30
    let fitting = Self.rates.filter { $0.value <= (conversion.rate ?? .infinity) * 1.00005 }
    guard let nearest = fitting.min(by: { abs($0.value - own) < abs($1.value - own) }) else {
      return conversion.rate.map { Decimals.text($0) }
    }
    return nearest.text
  }

  private static let rates: [(value: Double, text: String)] = [
    (1, "1"), (5, "5"), (10, "10"), (15, "15"), (20, "20"), (24000.0 / 1001, "24000/1001"), (24, "24"),
    (25, "25"),
    (30000.0 / 1001, "30000/1001"), (30, "30"), (50, "50"), (60000.0 / 1001, "60000/1001"), (60, "60"),
  ]

  /// The bits per second for everything, with some margin, and for one sound track.
  private func bits(_ media: MediaInfo, _ conversion: Conversion) -> (all: Int64, sound: Int64)? {
    var most = conversion.bitRate
    if let bytes = conversion.bytes {
      guard let own = media.duration, own > 0 else { return (0, 0) }
      let bits = Double(bytes) * 8 / min(own, conversion.seconds ?? own)
      most = min(most ?? .max, bits < 1e15 ? Int64(bits) : 1_000_000_000_000_000)
    }
    return most.map { ($0 / 10 * 7, min(128_000, $0 / 4)) }
  }

  /// Less does not make a recognizable picture.
  private static let leastBits: Int64 = 50_000

  private func sound(_ target: Target, _ media: MediaInfo, _ conversion: Conversion) -> String {
    guard let codec = target.audio.codec else { return "-c:a copy" }
    var options = "-c:a \(codec.encoder)"
    if let bits = bits(media, conversion) { options += " -b:a \(bits.sound)" }
    func isRefused(_ part: Conversion.Part) -> Bool {
      conversion.parts.contains(part) || conversion.addsSilence && breaks(part, media) { _ in }
    }
    if isRefused(.channels) {
      let fitting = [2, 1, 6].first { (count: Int) in
        !breaks(.channels, media) { $0.setSound { $0.channels = count } }
      }
      if let fitting { options += " -ac \(fitting)" }
    }
    if isRefused(.sampleRate) || !codec.takes(media.audio.first?.sampleRate) {
      let fitting = [48000, 44100, 32000, 24000, 22050, 96000].first { (rate: Int) in
        codec.takes(rate) && !breaks(.sampleRate, media) { $0.setSound { $0.sampleRate = rate } }
      }
      if let fitting { options += " -ar \(fitting)" }
    }
    return options
  }

  // MARK: The rules

  /// Whether a rule about `part` would be broken if what the file has were replaced.
  private func breaks(_ part: Conversion.Part, _ media: MediaInfo, _ change: (inout MediaInfo) -> Void)
    -> Bool
  {
    !violations(of: part.rules, media, change).isEmpty
  }

  /// How `media` would break the rules `ids` after the change.
  private func violations(of ids: Set<String>, _ media: MediaInfo, _ change: (inout MediaInfo) -> Void)
    -> [Violation]
  {
    var (changed, other) = (media, facts)
    change(&changed)
    other.reading = .media(ProbeReport(media: changed, provenance: Self.provenance))
    return rules.filter { ids.contains($0.rule.id) }.compactMap {
      if case .broken(let violation) = $0.judge(other) { violation } else { nil }
    }
  }

  private static let provenance = ProbeProvenance(method: .full, isolation: .none, ffmpeg: "")
}

extension Conversion.Part {
  fileprivate var rules: Set<String> {
    switch self {
    case .container: ["container.allowed"]
    case .videoCodec: ["codec.video"]
    case .pixels: ["pixel.format", "pixel.depth", "pixel.chroma"]
    case .audioCodec: ["codec.audio"]
    case .channels: ["audio.channels"]
    case .sampleRate: ["audio.sampleRate"]
    }
  }
}

extension Conversion.Filter {
  fileprivate var isFit: Bool { if case .fit = self { true } else { false } }
}

extension VideoFacts {
  /// Sets the facts that follow from a pixel format, as an encoder writes it.
  fileprivate mutating func setFormat(_ format: String) {
    pixelFormat = format
    bitDepth = format.hasSuffix("10le") ? 10 : 8
    chroma = format.contains("444") ? "4:4:4" : format.contains("422") ? "4:2:2" : "4:2:0"
  }
}

extension MediaInfo {
  fileprivate mutating func setSound(_ change: (inout AudioFacts) -> Void) {
    for place in audio.indices { change(&audio[place]) }
  }
}
