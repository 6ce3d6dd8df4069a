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
    optional(media.encrypted)
    optional(media.contentIdentifier, limit: .tag)
    optional(media.bitRate)
    optional(media.hasCover)
    try list(media.warnings, limit: WireCount.warnings) { writer, warning in
      writer.code(warning.code)
      writer.text(warning.message, limit: .sentence)
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
      MediaWarning(
        try reader.code(MediaWarning.Code.self, "warnings"), try reader.text(limit: .sentence, "warnings"))
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
    media.encrypted = try optionalFlag("encrypted")
    media.contentIdentifier = try optionalText(limit: .tag, "contentIdentifier")
  }

  private mutating func audio() throws(WireError) -> AudioFacts {
    AudioFacts(
      codec: try optionalText(limit: .name, "audio.codec"),
      channels: try optionalInt(in: PlausibleRange.channels, "audio.channels"),
      sampleRate: try optionalInt(in: PlausibleRange.sampleRate, "audio.sampleRate"))
  }
}
