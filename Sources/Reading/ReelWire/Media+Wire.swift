import FoundationEssentials
import ReelCore

extension WireWriter {
  mutating func media(_ media: MediaInfo) throws(WireError) {
    code(media.container)
    number(media.size)
    optional(media.duration) { $0.real($1) }
    optional(media.durationSource) { $0.code($1) }
    optional(media.truncated)
    optional(media.presentDuration) { $0.real($1) }
    optional(media.external)
    optional(media.fastStart)
    optional(media.fragmented)
    optional(media.video) { $0.video($1) }
    try list(media.audio, limit: WireCount.audioStreams) { $0.audio($1) }
    optional(media.title, limit: .tag)
    optional(media.artist, limit: .tag)
    optional(media.createdAt) { $0.real($1.timeIntervalSince1970) }
    optional(media.hasLocation)
    optional(media.contentCredentials)
    optional(media.encrypted)
    optional(media.contentIdentifier, limit: .tag)
    optional(media.bitRate)
    optional(media.hasCover)
    try list(media.warnings, limit: WireCount.warnings) { $0.warning($1) }
  }

  private mutating func warning(_ warning: MediaWarning) {
    code(warning.code)
    text(warning.message, limit: .sentence)
    optional(warning.fact, limit: .name)
    optional(warning.stated) { $0.value($1) }
    optional(warning.measured) { $0.value($1) }
  }

  private mutating func value(_ value: MediaWarning.Value) {
    switch value {
    case .number(let number):
      flag(true)
      real(number)
    case .text(let words):
      flag(false)
      text(words, limit: .value)
    }
  }

  private mutating func audio(_ audio: AudioFacts) {
    optional(audio.codec, limit: .name)
    optional(audio.channels)
    optional(audio.sampleRate)
  }
}

extension WireReader {
  mutating func media() throws(WireError) -> MediaInfo {
    var media = MediaInfo(
      container: try code(MediaContainer.self, "container"), size: try number(in: 0...Int64.max, "size"))
    try duration(of: &media)
    media.truncated = try optionalFlag("truncated")
    media.presentDuration = try optional("presentDuration") { reader throws(WireError) in
      try reader.real(in: PlausibleRange.presentDuration, "presentDuration")
    }
    media.external = try optionalFlag("external")
    media.fastStart = try optionalFlag("fastStart")
    media.fragmented = try optionalFlag("fragmented")
    media.video = try optional("video") { reader throws(WireError) in try reader.video() }
    media.audio = try list(limit: WireCount.audioStreams, "audio") { reader throws(WireError) in
      try reader.audio()
    }
    try tags(of: &media)
    media.bitRate = try optionalNumber(in: PlausibleRange.bitRate, "bitRate")
    media.hasCover = try optionalFlag("hasCover")
    media.warnings = try list(limit: WireCount.warnings, "warnings") { reader throws(WireError) in
      try reader.warning()
    }
    return media
  }

  private mutating func duration(of media: inout MediaInfo) throws(WireError) {
    media.duration = try optional("duration") { reader throws(WireError) in
      try reader.real(in: PlausibleRange.duration, "duration")
    }
    media.durationSource = try optional("durationSource") { reader throws(WireError) in
      try reader.code(DurationSource.self, "durationSource")
    }
    guard (media.duration == nil) == (media.durationSource == nil) else { throw .field("durationSource") }
  }

  private mutating func tags(of media: inout MediaInfo) throws(WireError) {
    media.title = try optionalText(limit: .tag, "title")
    media.artist = try optionalText(limit: .tag, "artist")
    media.createdAt = try optional("createdAt") { reader throws(WireError) in
      Date(timeIntervalSince1970: try reader.real(in: PlausibleRange.date, "createdAt"))
    }
    media.hasLocation = try optionalFlag("hasLocation")
    media.contentCredentials = try optionalFlag("contentCredentials")
    media.encrypted = try optionalFlag("encrypted")
    media.contentIdentifier = try optionalText(limit: .tag, "contentIdentifier")
  }

  private mutating func warning() throws(WireError) -> MediaWarning {
    MediaWarning(
      try code(MediaWarning.Code.self, "warnings"), try text(limit: .sentence, "warnings"),
      fact: try optionalText(limit: .name, "warnings.fact"),
      stated: try optional("warnings.stated") { reader throws(WireError) in
        try reader.value("warnings.stated")
      },
      measured: try optional("warnings.measured") { reader throws(WireError) in
        try reader.value("warnings.measured")
      })
  }

  private mutating func value(_ field: String) throws(WireError) -> MediaWarning.Value {
    guard try flag(field) else { return .text(try text(limit: .value, field)) }
    return .number(try real(in: PlausibleRange.claim, field))
  }

  private mutating func audio() throws(WireError) -> AudioFacts {
    AudioFacts(
      codec: try optionalText(limit: .name, "audio.codec"),
      channels: try optionalInt(in: PlausibleRange.channels, "audio.channels"),
      sampleRate: try optionalInt(in: PlausibleRange.sampleRate, "audio.sampleRate"))
  }
}
