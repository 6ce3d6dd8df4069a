import FoundationEssentials
import ReelCore
import ReelWire
import Testing

/// A well-formed frame with impossible contents.
@Suite struct WireLieTests {
  struct Lie: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let field: String
    let tell: @Sendable (inout MediaInfo, inout VideoFacts) -> Void

    init(
      _ name: String, _ field: String, _ tell: @escaping @Sendable (inout MediaInfo, inout VideoFacts) -> Void
    ) {
      (testDescription, self.field, self.tell) = (name, field, tell)
    }
  }

  static let lies: [Lie] = [
    Lie("NaN seconds", "duration") { media, _ in (media.duration, media.durationSource) = (.nan, .container)
    },
    Lie("for ever", "duration") { media, _ in (media.duration, media.durationSource) = (.infinity, .container)
    },
    Lie("no time", "duration") { media, _ in (media.duration, media.durationSource) = (0, .container) },
    Lie("back in time", "duration") { media, _ in (media.duration, media.durationSource) = (-3, .stream) },
    Lie("10^12 s", "duration") { media, _ in (media.duration, media.durationSource) = (1e12, .packets) },
    Lie("a year", "duration") { media, _ in (media.duration, media.durationSource) = (31_536_000, .container)
    },
    Lie("a duration from nowhere", "durationSource") { media, _ in media.duration = 3 },
    Lie("a source of nothing", "durationSource") { media, _ in media.durationSource = .container },
    Lie("less than no bytes", "size") { media, _ in media.size = -1 },
    Lie("no bit rate", "bitRate") { media, _ in media.bitRate = 0 },
    Lie("a date beyond dates", "createdAt") { media, _ in media.createdAt = Date(timeIntervalSince1970: 1e300)
    },
    Lie("a date that is none", "createdAt") { media, _ in media.createdAt = Date(timeIntervalSince1970: .nan)
    },
    Lie("0×0", "video.width") { _, video in (video.width, video.height) = (0, 0) },
    Lie("negative", "video.width") { _, video in (video.width, video.height) = (-1, 2) },
    Lie("a very wide picture", "video.width") { _, video in (video.width, video.height) = (Int.max, 2) },
    Lie("width alone", "video.width") { _, video in video.width = 2 },
    Lie("stored height alone", "video.storedWidth") { _, video in video.storedHeight = 2 },
    Lie("a whole turn", "video.rotation") { _, video in video.rotation = 360 },
    Lie("half a turn back", "video.rotation") { _, video in video.rotation = -180 },
    Lie("bits", "video.bitDepth") { _, video in video.bitDepth = 0 },
    Lie("a great ratio", "video.frameRate") { _, video in
      video.frameRate = Rational(Int.max, 1).map(FrameRate.init)
    },
    Lie("streams", "video.streams") { _, video in video.streams = -1 },
    Lie("a codec of Unicode", "video.codec") { _, video in video.codec = "h264\u{202E}" },
    Lie("no channels", "audio.channels") { media, _ in media.audio = [AudioFacts(channels: 0)] },
    Lie("no sample rate", "audio.sampleRate") { media, _ in media.audio = [AudioFacts(sampleRate: 0)] },
  ]

  @Test(arguments: lies)
  func isRefused(_ lie: Lie) throws {
    var media = MediaInfo(container: .mp4, size: 7)
    var video = VideoFacts()
    lie.tell(&media, &video)
    media.video = video
    let frame = try ReadReply.facts(media, .full).encoded()
    #expect(throws: WireError.field(lie.field)) { try ReadReply(decoding: frame) }
  }

  /// A worker may not report codes that would end the run or blame the worker.
  @Test(arguments: [
    ProbeError.Code.lfsPointer, .crashed, .sandboxViolation, .workerMissing, .workerBroken,
    .isolationUnavailable, .cancelled, .tooManyOpenFiles, .noReader,
  ])
  func isNotForAWorkerToSay(_ code: ProbeError.Code) throws {
    let frame = try ReadReply.failure(ProbeError(code, "!")).encoded()
    #expect(throws: WireError.field("code")) { try ReadReply(decoding: frame) }
  }

  @Test func controlCharactersAreWrittenAsSpacesAndNeverRead() throws {
    var media = MediaInfo(container: .mp4, size: 7)
    media.title = "a\u{1B}[2Jb\r\nc\u{9B}d\u{2028}e"
    let reply = try ReadReply(decoding: ReadReply.facts(media, .full).encoded())
    guard case .facts(let read, _, _, _, _) = reply else { return #expect(Bool(false)) }
    #expect(read.title == "a [2Jb  c d e")

    media.title = "0123456789"
    var frame = try ReadReply.facts(media, .full).encoded()
    let place = try #require(frame.firstIndex(of: UInt8(ascii: "3")))
    for control in [0x00, 0x0A, 0x1B, 0x7F] as [UInt8] {
      frame[place] = control
      #expect(throws: WireError.field("title")) { try ReadReply(decoding: frame) }
    }
    frame[place] = 0xC3
    #expect(throws: WireError.field("title")) { try ReadReply(decoding: frame) }
  }

  @Test func longTextIsCutBetweenCharacters() throws {
    var media = MediaInfo(container: .mp4, size: 7)
    media.title = "a" + String(repeating: "水", count: 3000)
    let reply = try ReadReply(decoding: ReadReply.facts(media, .full).encoded())
    guard case .facts(let read, _, _, _, _) = reply else { return #expect(Bool(false)) }
    #expect(read.title == "a" + String(repeating: "水", count: 1365))
  }
}
