import ReelCore

/// Rules about the sound.
enum AudioRules {
  static let all = [none, codec, channels, sampleRate]

  private static let none = Rule.media(
    "audio.none", "there is sound",
    "Some services refuse a video without a sound track; a silent one will do."
  ) { media in
    guard media.audio.isEmpty else { return .passed }
    return .broken(
      "it has no sound", expected: "a sound track", found: "none",
      fix: .convert(Conversion { $0.addsSilence = true }))
  }

  private static let codec = each(
    "codec.audio", "the audio codec is one of those allowed",
    .formats("a codec like aac (FFmpeg's name), or a list of them", ["aac", "opus", "mp3"]),
    "Browsers, phones and services play some codecs only.", unknown: "the codec of its sound", \.codec
  ) { codec, allowed in
    guard !allowed.contains(codec) else { return .passed }
    return .broken(
      "its sound is in \(codec)", expected: allowed.joined(separator: ", "), found: codec,
      fix: .convert(Conversion(.audioCodec)))
  }

  private static let channels = each(
    "audio.channels", "the number of channels is one of those allowed",
    .counts("a number of channels like 2, or a list of them", ["1", "2"]),
    "Feeds play mono and stereo; more channels are mixed down, each time in another way.",
    unknown: "how many channels its sound has", \.channels
  ) { count, allowed in
    guard !allowed.contains(count) else { return .passed }
    return .broken(
      "its sound has \(count) channel\(count == 1 ? "" : "s")", expected: text(allowed), found: "\(count)",
      fix: .convert(Conversion(.channels)))
  }

  private static let sampleRate = each(
    "audio.sampleRate", "the sample rate is one of those allowed",
    .counts("a sample rate in hertz like 48000, or a list of them", ["44100", "48000"]),
    "Other rates are converted by the player or the service, or refused.",
    unknown: "the sample rate of its sound", \.sampleRate
  ) { rate, allowed in
    guard !allowed.contains(rate) else { return .passed }
    return .broken(
      "its sound is sampled at \(rate) Hz", expected: text(allowed) + " Hz", found: "\(rate) Hz",
      fix: .convert(Conversion(.sampleRate)))
  }

  /// A rule that every audio track must keep; the first one that breaks it is reported.
  private static func each<Fact, Value: Sendable>(
    _ id: String, _ title: String, _ parameter: RuleParameter<Value>, _ explanation: String, unknown: String,
    _ fact: KeyPath<AudioFacts, Fact?> & Sendable,
    judge: @escaping @Sendable (Fact, Value) -> RuleOutcome
  ) -> Rule {
    .media(id, title, parameter, explanation) { media, value, _ in
      guard !media.audio.isEmpty else { return .notApplicable }
      let outcomes = media.audio.map { track in
        RuleOutcome.judging(track[keyPath: fact], unknown: unknown) { judge($0, value) }
      }
      return outcomes.first { $0.isBroken } ?? outcomes.first { $0 != .passed } ?? .passed
    }
  }

  private static func text(_ numbers: [Int]) -> String {
    numbers.map(String.init).joined(separator: ", ")
  }
}

extension RuleOutcome {
  var isBroken: Bool {
    if case .broken = self { true } else { false }
  }
}
