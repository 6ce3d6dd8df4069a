import ReelCore

/// How many frames in a second?
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
    "Services refuse what moves in jerks. The tolerance is 0.01 % unless the policy gives another, so that 29.97 "
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
    "Services drop frames beyond a rate of their own. The tolerance is 0.01 % unless the policy gives another."
  ) { video, most, tolerance in
    .judging(video.frameRate, unknown: "its frame rate") { rate in
      let fits = rate.value <= most || tolerance.admits(rate.value, for: most, usually: .relative(0.0001))
      guard !fits else { return .passed }
      return .broken(
        "its frame rate is too high: \(text(rate))", expected: "at most \(Decimals.text(most))",
        found: text(rate), mend: "ffmpeg -i FILE -r \(Decimals.text(most)) -c:a copy OUT.mp4")
    }
  }

  private static let variable = Rule.video(
    "fps.variable", "the frame rate is constant",
    "Phones record at a rate that varies; editors then lose the sound's place. Encoding at one constant rate fixes it."
  ) { video in
    .judging(video.variableFrameRate, unknown: "whether its frame rate varies") { varies in
      varies
        ? .broken(
          "its frame rate varies", expected: "a constant frame rate", found: "a variable one",
          mend: "ffmpeg -i FILE -fps_mode cfr -c:a copy OUT.mp4")
        : .passed
    }
  }

  private static func text(_ rate: FrameRate) -> String {
    rate.ratio.denominator == 1 ? "\(rate.ratio.numerator)" : "\(Decimals.text(rate.value)) (\(rate))"
  }
}
