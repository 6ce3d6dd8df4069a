import ReelCore

/// Rules about the duration.
enum DurationRules {
  static let all = [missing, unstated, minimum, maximum, expected, mismatch]

  private static let missing = Rule.media(
    "duration.missing", "the duration is known",
    "Neither the container nor its streams nor its packets tell how long it is, so that players show no time "
      + "bar. Writing the file anew puts the duration in."
  ) { media in
    // A stream without samples can have no duration; it breaks `video.empty`.
    if media.video?.hasSamples == false { return .notApplicable }
    guard media.duration == nil else { return .passed }
    return .broken(
      "nothing in it tells how long it is", expected: "a duration", found: "none",
      fix: rewriting(media))
  }

  private static let unstated = Rule.media(
    "duration.unstated", "a WebM or Matroska file states how long it is",
    "Browsers record WebM without a duration and without an index. Players show no time bar until they have read all "
      + "of it, and can't seek in it."
  ) { media in
    guard media.isMatroska, let source = media.durationSource else { return .notApplicable }
    guard source != .container else { return .passed }
    return .broken(
      "it does not state how long it is, so players can't seek in it",
      expected: "a duration in its header",
      found: "none", fix: .mend(.duration))
  }

  private static let minimum = Rule.media(
    "duration.min", "the video is not too short", .duration,
    "Services refuse clips below their minimum length."
  ) { media, limit, _ in
    .judging(media.duration, unknown: "its duration") { seconds in
      guard seconds < limit else { return .passed }
      return .beyond("it is too short", seconds, .least, limit, text, exactly)
    }
  }

  private static let maximum = Rule.media(
    "duration.max", "the video is not too long", .duration,
    "Services refuse, or cut, clips above their maximum length; a fixture that is long makes tests slow. Cut "
      + "it to length; without encoding the cut is at a key frame."
  ) { media, limit, tolerance in
    .judging(media.duration, unknown: "its duration") { seconds in
      let fits = seconds <= limit || tolerance.admits(seconds, for: limit, usually: .usual)
      guard !fits else { return .passed }
      return .beyond(
        "it is too long", seconds, .most, limit, text, exactly,
        fix: .convert(Conversion { $0.seconds = limit }))
    }
  }

  private static let expected = Rule.media(
    "duration.expected", "the video lasts as long as it should", .duration,
    "For overrides: a certain file has a certain length. The tolerance is 0.1 s unless the policy gives another."
  ) { media, wanted, tolerance in
    .judging(media.duration, unknown: "its duration") { seconds in
      guard !tolerance.admits(seconds, for: wanted, usually: .absolute(0.1)) else { return .passed }
      return .broken("it lasts \(text(seconds))", expected: text(wanted), found: text(seconds))
    }
  }

  private static let mismatch = Rule.media(
    "duration.mismatch", "the header and the content agree on the duration",
    "The header states one duration, the content has another. Players that trust the header show a wrong time "
      + "bar, or stop early. Writing the file anew sets the header right."
  ) { media in
    guard let warning = media.warnings.first(where: { $0.code == .durationMismatch }) else { return .passed }
    return .broken(
      warning.message, expected: "one duration", found: media.duration.map { text($0) } ?? "none",
      fix: rewriting(media))
  }

  /// The fix that makes the header agree with the content; for a truncated file, the one that saves the rest.
  private static func rewriting(_ media: MediaInfo) -> Fix? {
    if media.truncated == true { return media.isISO || media.isMatroska ? .mend(.salvage) : nil }
    if media.isMatroska { return .mend(.duration) }
    return media.isISO && media.fragmented == true ? .mend(.unfragment) : .convert(Conversion())
  }

  private static func text(_ seconds: Double) -> String { Decimals.text(seconds) + " s" }

  private static func exactly(_ seconds: Double) -> String { "\(seconds) s" }
}

/// Rules about the frame rate.
enum RateRules {
  static let all = [unknown, minimum, maximum, variable]

  private static let unknown = Rule.video(
    "fps.unknown", "the frame rate is known",
    "Nothing in the file tells its frame rate."
  ) { video in
    guard video.frameRate == nil else { return .passed }
    return .broken("its frame rate is unknown", expected: "a frame rate", found: "none")
  }

  private static let minimum = Rule.video(
    "fps.min", "the frame rate is not too low", .rate,
    "Services reject jerky video. The tolerance is 0.01 % unless the policy gives another, so that 29.97 "
      + "and 30000/1001 are one."
  ) { video, least, tolerance in
    .judging(video.frameRate, unknown: "its frame rate") { rate in
      let fits = rate.value >= least || tolerance.admits(rate.value, for: least, usually: .relative(0.0001))
      guard !fits else { return .passed }
      return .broken(
        "its frame rate is too low: \(text(rate))", expected: "at least \(Decimals.text(least))",
        found: text(rate))
    }
  }

  private static let maximum = Rule.video(
    "fps.max", "the frame rate is not too high", .rate,
    "Services drop frames above their maximum rate. The tolerance is 0.01 % unless the policy gives another."
  ) { video, most, tolerance in
    .judging(video.frameRate, unknown: "its frame rate") { rate in
      let fits = rate.value <= most || tolerance.admits(rate.value, for: most, usually: .relative(0.0001))
      guard !fits else { return .passed }
      return .broken(
        "its frame rate is too high: \(text(rate))", expected: "at most \(Decimals.text(most))",
        found: text(rate), fix: .convert(Conversion { $0.rate = most }))
    }
  }

  private static let variable = Rule.video(
    "fps.variable", "the frame rate is constant",
    "Phones record at a rate that varies; editors then lose audio sync. Encoding at one constant rate fixes it."
  ) { video in
    .judging(video.variableFrameRate, unknown: "whether its frame rate varies") { varies in
      varies
        ? .broken(
          "its frame rate varies", expected: "a constant frame rate", found: "a variable one",
          fix: .convert(Conversion { $0.hasConstantRate = true }))
        : .passed
    }
  }

  private static func text(_ rate: FrameRate) -> String {
    rate.ratio.denominator == 1 ? "\(rate.ratio.numerator)" : "\(Decimals.text(rate.value)) (\(rate))"
  }
}
