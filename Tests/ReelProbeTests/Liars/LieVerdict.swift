import ReelCore

/// Compares the answer about a file with changed headers with the truth.
struct LieVerdict {
  /// The facts reported for the unchanged file.
  let truth: MediaInfo
  let answer: MediaInfo

  /// The facts that are silently wrong: neither unknown nor covered by a warning. Facts that only a header can state
  /// are excluded where a field of that subject was changed.
  ///
  /// - Parameter isPair: Whether two fields were changed.
  func silent(after subjects: Set<HeaderField.Subject>, isPair: Bool = false) -> [String] {
    var wrong: [String] = []
    func hold(_ fact: String, _ isTrue: Bool, _ told: Any?, _ truth: Any?) {
      guard !isTrue, !isWarned(of: fact), !isOnlyClaimed(fact, subjects, isPair) else { return }
      wrong.append("\(fact) \(told.map { "\($0)" } ?? "nil"), not \(truth.map { "\($0)" } ?? "nil")")
    }
    // An audio packet in an MPEG multiplex contains many frames and does not state how many.
    let least = [.mpegTS, .m2ts, .mpegPS].contains(answer.container) ? 0.3 : 0.15
    hold("duration", isNear(answer.duration, truth.duration, 0.03, least), answer.duration, truth.duration)
    let (told, video) = (answer.video, truth.video)
    hold("video", (told == nil) == (video == nil), told?.codec, video?.codec)
    if let told, let video {
      hold("codec", told.codec == video.codec || told.codec == nil, told.codec, video.codec)
      hold("storedWidth", isSame(told.storedWidth, video.storedWidth), told.storedWidth, video.storedWidth)
      hold(
        "storedHeight", isSame(told.storedHeight, video.storedHeight), told.storedHeight, video.storedHeight)
      hold(
        "width", isNear(told.width.map(Double.init), video.width.map(Double.init), 0.01, 2), told.width,
        video.width)
      hold(
        "height", isNear(told.height.map(Double.init), video.height.map(Double.init), 0.01, 2), told.height,
        video.height)
      hold(
        "frameRate", isNear(told.frameRate?.value, video.frameRate?.value, 0.02, 0.01), told.frameRate?.value,
        video.frameRate?.value)
      hold(
        "variableFrameRate", isSame(told.variableFrameRate, video.variableFrameRate), told.variableFrameRate,
        video.variableFrameRate)
      hold("rotation", isSame(told.rotation, video.rotation), told.rotation, video.rotation)
      hold("pixelFormat", isSame(told.pixelFormat, video.pixelFormat), told.pixelFormat, video.pixelFormat)
      hold("hdr", told.hdr == video.hdr, told.hdr?.kind, video.hdr?.kind)
    }
    hold("audio", answer.audio.count == truth.audio.count, answer.audio.count, truth.audio.count)
    for (told, sound) in zip(answer.audio, truth.audio) {
      hold("channels", isSame(told.channels, sound.channels), told.channels, sound.channels)
      hold("sampleRate", isSame(told.sampleRate, sound.sampleRate), told.sampleRate, sound.sampleRate)
    }
    hold("createdAt", answer.createdAt == truth.createdAt, answer.createdAt, truth.createdAt)
    return wrong
  }

  private func isSame<Fact: Equatable>(_ told: Fact?, _ truth: Fact?) -> Bool { told == nil || told == truth }

  private func isNear(_ told: Double?, _ truth: Double?, _ share: Double, _ least: Double) -> Bool {
    guard let told else { return true }
    guard let truth else { return false }
    return abs(told - truth) <= max(least, truth * share)
  }

  /// Whether a warning covers the fact: it names the fact or what the fact is part of.
  private func isWarned(of fact: String) -> Bool {
    let sizes: Set<String> = ["width", "height", "storedWidth", "storedHeight"]
    let rates: Set<String> = ["frameRate", "variableFrameRate"]
    let sound: Set<String> = ["audio", "channels", "sampleRate"]
    return answer.warnings.contains { warning in
      switch warning.code {
      // The gap between two stretches of a clock is no step between two pictures.
      case .clockJumps: fact == "duration"
      case .durationMismatch, .truncated, .samplesHidden, .indexMismatch:
        fact == "duration" || rates.contains(fact)
      case .claimUnchecked:
        warning.fact.map { $0.hasSuffix(fact) || $0.hasSuffix("frameRate") && rates.contains(fact) } ?? true
      case .frameRateMismatch: rates.contains(fact)
      case .sizeMismatch, .croppingMismatch, .pixelShapeMismatch: sizes.contains(fact)
      case .soundMismatch: sound.contains(fact)
      case .transferMismatch: fact == "hdr"
      case .dateMismatch: fact == "createdAt"
      case .rotationUnknown: fact == "rotation" || sizes.contains(fact)
      case .codecUnknown: fact == "codec" || fact == "video"
      default: false
      }
    }
  }

  /// Whether nothing in the content reveals the fact (docs/probe.md, "Only claimed").
  private func isOnlyClaimed(
    _ fact: String, _ subjects: Set<HeaderField.Subject>, _ isPair: Bool
  ) -> Bool {
    let claims: [HeaderField.Subject: Set<String>] = [
      .matrix: ["rotation", "width", "height"], .shape: ["width", "height"], .date: ["createdAt"],
      .colour: ["hdr"], .edit: ["duration", "frameRate", "variableFrameRate"],
    ]
    // WMA packets do not state their contents.
    if answer.audio.contains(where: { $0.codec?.hasPrefix("wma") == true }),
      !subjects.isDisjoint(with: [.channels, .sampleRate]), ["channels", "sampleRate"].contains(fact)
    {
      return true
    }
    // Without audio only the header states the rate of Theora's pictures.
    if answer.video?.codec == "theora", answer.audio.isEmpty, subjects.contains(.rate),
      ["duration", "frameRate"].contains(fact)
    {
      return true
    }
    // Audio reveals the rate as far as it ends with the pictures: to a fifth of a second.
    if answer.video?.codec == "theora", subjects.contains(.rate), fact == "frameRate",
      let told = answer.video?.frameRate?.value, let actual = truth.video?.frameRate?.value,
      let seconds = truth.duration, abs(actual / told - 1) * seconds <= 0.2
    {
      return true
    }
    // Headers that state a value twice, with the same lie in both places.
    if isPair, answer.container == .avi, answer.audio.isEmpty, subjects == [.rate],
      ["duration", "frameRate"].contains(fact)
    {
      return true
    }
    // The block sizes alone do not determine the duration of a Vorbis packet.
    if isPair, answer.container.isMatroska, answer.audio.allSatisfy({ $0.codec == "vorbis" }),
      subjects.isSubset(of: [.rate, .clock]),
      ["duration", "frameRate"].contains(fact)
    {
      return true
    }
    // Pictures alone in fragments, whose H.264 may state the field rate.
    if answer.container == .mp4, answer.audio.isEmpty, subjects.contains(.clock),
      ["duration", "frameRate"].contains(fact), let told = answer.video?.frameRate?.value,
      let actual = truth.video?.frameRate?.value,
      [0.5, 2].contains(where: { abs(told / actual / $0 - 1) < 0.02 })
    {
      return true
    }
    // The duration of the last picture or audio frame is stated only by its table in the last fragment.
    if answer.container == .mp4, subjects.contains(.index),
      ["duration", "frameRate", "variableFrameRate"].contains(fact), let told = answer.duration,
      let actual = truth.duration, (0...1).contains(told - actual), let video = answer.video,
      video.variableFrameRate == true || video.frameRate == truth.video?.frameRate
    {
      return true
    }
    // A pause before the last cluster, with the duration that would refute it removed.
    if isPair, answer.container.isMatroska, subjects == [.clock, .duration],
      ["duration", "frameRate", "variableFrameRate"].contains(fact)
    {
      return true
    }
    // Theora's rate, together with the audio page that would refute it.
    if isPair, answer.video?.codec == "theora", subjects == [.rate, .duration],
      ["duration", "frameRate"].contains(fact)
    {
      return true
    }
    if isPair, answer.container == .asf, subjects == [.size],
      ["storedWidth", "storedHeight", "width", "height"].contains(fact)
    {
      return true
    }
    return subjects.contains { claims[$0, default: []].contains(fact) }
  }
}
