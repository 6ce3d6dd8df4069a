import ReelCore

/// The facts of a file as pairs of text, as a lock keeps them: what is unknown has no pair, and warnings have none,
/// for their wording is not a fact.
enum LockedFacts {
  /// Sorted by key.
  static func facts(of reading: FixtureReading) -> [String: String] {
    switch reading {
    case .media(let report): facts(of: report.media)
    case .unreadable(let error): ["error": error.code.rawValue]
    case .unreachable(let error): ["error": error.code.rawValue]
    case .orphanSidecar: [:]
    }
  }

  private static func facts(of media: MediaInfo) -> [String: String] {
    var facts = Pairs()
    facts["container"] = media.container.rawValue
    facts["duration"] = media.duration.map { Decimals.text($0) }
    facts["durationSource"] = media.durationSource?.rawValue
    facts["truncated"] = media.truncated.map { "\($0)" }
    facts["presentDuration"] = media.presentDuration.map { Decimals.text($0) }
    // Left out where it is not so, which is nearly always: locks of older versions have no line for it.
    facts["external"] = media.external == true ? "true" : nil
    facts["fastStart"] = media.fastStart.map { "\($0)" }
    facts["fragmented"] = media.fragmented.map { "\($0)" }
    facts["encrypted"] = media.encrypted.map { "\($0)" }
    facts["hasLocation"] = media.hasLocation.map { "\($0)" }
    facts["bitRate"] = media.bitRate.map { "\($0)" }
    facts["hasCover"] = media.hasCover.map { "\($0)" }
    facts["title"] = media.title
    facts["artist"] = media.artist
    if let video = media.video { add(video, to: &facts) }
    for (index, audio) in media.audio.enumerated() { add(audio, "audio.\(index)", to: &facts) }
    return facts.values
  }

  private static func add(_ video: VideoFacts, to facts: inout Pairs) {
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

  private static func add(_ audio: AudioFacts, _ name: String, to facts: inout Pairs) {
    facts["\(name).codec"] = audio.codec ?? "unknown"
    facts["\(name).channels"] = audio.channels.map { "\($0)" }
    facts["\(name).sampleRate"] = audio.sampleRate.map { "\($0)" }
  }

  private static func pair(_ width: Int?, _ height: Int?) -> String? {
    guard let width, let height else { return nil }
    return "\(width)x\(height)"
  }

  /// Sets what is known and leaves the rest out.
  private struct Pairs {
    var values: [String: String] = [:]

    subscript(key: String) -> String? {
      get { values[key] }
      set { values[key] = newValue }
    }
  }
}
