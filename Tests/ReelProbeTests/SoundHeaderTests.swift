import CFFmpeg
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// What audio codecs state about themselves, byte by byte, and compared with what `ffmpeg` was told to write.
@Suite struct SoundHeaderTests {
  @Test(
    arguments: [
      ([0x12, 0x10], 44_100, 2), ([0x12, 0x08, 0x56, 0xE5, 0x00], 44_100, 1), ([0x14, 0x08], 16_000, 1),
      // 5.1 and 7.1; an explicit sampling rate.
      ([0x11, 0xB0], 48_000, 6), ([0x11, 0xB8], 48_000, 8), ([0x17, 0x80, 0x3E, 0x80, 0x08], 32_000, 1),
      // Band replication that is announced first, and parametric stereo with it.
      ([0x2B, 0x92, 0x08, 0x00], 44_100, 2), ([0xEB, 0x8A, 0x08, 0x00], 44_100, 2),
      // The same, placed where older decoders ignore it.
      ([0x13, 0x90, 0x56, 0xE5, 0xA0], 44_100, 2), ([0x13, 0x88, 0x56, 0xE5, 0xA5, 0x48, 0x80], 44_100, 2),
      // USAC.
      ([0xF9, 0x48, 0x20, 0x00], 44_100, 1),
    ] as [([UInt8], Int, Int)])
  func configuration(bytes: [UInt8], rate: Int, channels: Int) throws {
    let found = try #require(AudioSpecificConfig(bytes))
    #expect(found.sampleRate == rate && found.channels == channels)
  }

  @Test func whatIsNoneIsNone() {
    for bytes: [UInt8] in [[], [0x12], [0x00, 0x00], [0xFF, 0xFF, 0xFF], [0x17, 0x80, 0x00]] {
      #expect(AudioSpecificConfig(bytes) == nil, "\(bytes)")
    }
    for length in 0..<40 {
      let noise = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ length) }
      for codec in [
        AV_CODEC_ID_AAC, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS,
        AV_CODEC_ID_FLAC,
      ] {
        _ = SoundHeader(codec, record: noise)
        _ = SoundHeader(codec, frame: noise)
      }
    }
  }

  @Test(
    arguments: [
      ([0xFF, 0xFB, 0x90, 0x00], 44_100, 2, AV_CODEC_ID_MP3),
      ([0xFF, 0xFB, 0x90, 0xC0], 44_100, 1, AV_CODEC_ID_MP3),
      ([0xFF, 0xF3, 0x84, 0xC0], 24_000, 1, AV_CODEC_ID_MP3),
      ([0xFF, 0xE3, 0x48, 0xC4], 8000, 1, AV_CODEC_ID_MP3),
      ([0xFF, 0xFD, 0xA4, 0x00], 48_000, 2, AV_CODEC_ID_MP2),
      ([0xFF, 0xFF, 0xA4, 0x00], 48_000, 2, AV_CODEC_ID_MP1),
    ] as [([UInt8], Int, Int, AVCodecID)])
  func frameOfMPEGAudio(bytes: [UInt8], rate: Int, channels: Int, layer: AVCodecID) {
    for claimed in [AV_CODEC_ID_MP2, AV_CODEC_ID_MP3] {
      #expect(
        SoundHeader(claimed, frame: bytes)
          == SoundHeader(channels: channels, sampleRate: rate, codec: layer))
    }
  }

  @Test(
    arguments: [
      (AV_CODEC_ID_PCM_BLURAY, [0x19, 0x50, 0x94, 0xC0], 96_000, 6),
      (AV_CODEC_ID_PCM_BLURAY, [0x0B, 0x40, 0x31, 0x40], 48_000, 2),
      (AV_CODEC_ID_PCM_BLURAY, [0x0B, 0x40, 0x15, 0x40], 192_000, 1),
      (AV_CODEC_ID_PCM_DVD, [0x0C, 0x85, 0x80], 48_000, 6),
      (AV_CODEC_ID_PCM_DVD, [0x0C, 0x91, 0x80], 96_000, 2),
      (AV_CODEC_ID_PCM_DVD, [0x0C, 0x20, 0x80], 44_100, 1),
      (AV_CODEC_ID_S302M, [0, 5, 0x00, 0x20, 1, 2, 3, 4, 5], 48_000, 2),
      (AV_CODEC_ID_S302M, [0, 5, 0xC0, 0x00, 1, 2, 3, 4, 5], 48_000, 8),
    ] as [(AVCodecID, [UInt8], Int, Int)])
  func packetOfPlainSound(codec: AVCodecID, bytes: [UInt8], rate: Int, channels: Int) {
    #expect(SoundHeader(codec, frame: bytes) == SoundHeader(channels: channels, sampleRate: rate))
    for length in 0..<3 { #expect(SoundHeader(codec, frame: Array(bytes.prefix(length))) == nil) }
  }

  @Test(
    arguments: [
      (AV_CODEC_ID_PCM_BLURAY, [0x19, 0x50, 0x24, 0xC0]), (AV_CODEC_ID_PCM_BLURAY, [0x19, 0x50, 0x93, 0xC0]),
      (AV_CODEC_ID_PCM_BLURAY, [0x19, 0x50, 0x94, 0x00]), (AV_CODEC_ID_PCM_DVD, [0x0C, 0xC5, 0x80]),
      (AV_CODEC_ID_S302M, [0, 6, 0x00, 0x20, 1, 2, 3, 4, 5]),
      (AV_CODEC_ID_S302M, [0, 5, 0x00, 0x21, 1, 2, 3, 4, 5]),
      (AV_CODEC_ID_S302M, [0, 5, 0x00, 0x30, 1, 2, 3, 4, 5]),
    ] as [(AVCodecID, [UInt8])])
  func noPacketOfPlainSound(codec: AVCodecID, bytes: [UInt8]) {
    #expect(SoundHeader(codec, frame: bytes) == nil)
  }

  /// A core of 5.1 at 48 kHz, from FFmpeg's encoder, with its possible extensions: none, another channel, another
  /// rate, and DTS-HD with 7.1, with 96 kHz, and one that does not state its rate in this frame.
  @Test(
    arguments: [
      ("7ffe8001fc3c7ff2770005380009ef7b", "", "", 6, 48_000),
      ("7ffe8001fc3c7ff2770015380009ef7b", "", "", 6, 48_000),
      ("7ffe8001fc3c7ff2770015380009ef7b", "5a5a5a5a", "", 7, 48_000),
      ("7ffe8001fc3c7ff2770055380009ef7b", "1d95f262", "", 6, 96_000),
      ("7ffe8001fc3c7ff2770005380009ef7b", "", "645820250004e07ff8008080f5c2e05f01e70847", 8, 48_000),
      ("7ffe8001fc3c7ff2770005380009ef7b", "", "645820250004e07ff8008080f5c2e05f416e001e", 6, 96_000),
      ("7ffe8001fc3c7ff2770005380009ef7b", "", "645820250004e07fe8008080f5c2e05f416e001e", 6, 48_000),
    ] as [(String, String, String, Int?, Int?)])
  func extensionsOfDTS(head: String, within: String, behind: String, channels: Int?, rate: Int?) {
    let core = Self.bytes(head) + [UInt8](repeating: 0x11, count: 984) + Self.bytes(within)
    let frame = core + [UInt8](repeating: 0x11, count: 2048 - core.count) + Self.bytes(behind)
    let found = DTSFrame(frame + [UInt8](repeating: 0, count: 64))
    #expect(found?.channels == channels && found?.sampleRate == rate)
    for length in 0..<200 { _ = DTSFrame(Array(frame.dropLast(length))) }
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex).compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  @Test(
    .needsFFmpeg,
    arguments: [
      Sound("a.m2ts", "pcm_bluray", channels: 6, sampleRate: 96_000, "-ac", "6"),
      Sound("a.vob", "pcm_dvd", channels: 2, sampleRate: 96_000),
      Sound("a.vob", "pcm_dvd", channels: 6, sampleRate: 48_000),
      Sound("a.ts", "s302m", channels: 4, sampleRate: 48_000),
    ])
  func plainSoundOfAMultiplex(sound: Sound) throws {
    let arguments = ["-c:v", "mpeg2video", "-strict", "-2"] + sound.arguments
    let made = try FFmpegTool.make(sound.name, FFmpegTool.picture + FFmpegTool.tone + arguments)
    let container = try #require(made.sniffed)
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let told = try #require(try made.read(as: container, by: ways).media.audio.first)
      #expect((told.channels, told.sampleRate) == (sound.channels, sound.sampleRate))
    }
  }

  @Test func boxesOfDolby() {
    // 5.1 at 48 kHz; 5.1 with a rear pair from E-AC-3's dependent substream.
    #expect(DolbyFrame.sound(dac3: [0x10, 0x3D, 0xE0]) == SoundHeader(channels: 6, sampleRate: 48_000))
    #expect(
      DolbyFrame.sound(dec3: [0x14, 0x00, 0x20, 0x0F, 0x00]) == SoundHeader(channels: 6, sampleRate: 48_000))
    #expect(
      DolbyFrame.sound(dec3: [0x14, 0x00, 0x20, 0x0F, 0x02, 0x02])
        == SoundHeader(channels: 8, sampleRate: 48_000))
  }

  /// An E-AC-3 frame with two channels in addition to 5.1: the header without contents.
  private static let substream = bytes("0b77401f3480102000") + [UInt8](repeating: 0, count: 55)

  @Test(
    arguments: [
      ("0b7700001e40e1", 1792, 48_000), ("0b7700005e40e1", 1950, 44_100), ("0b7700005f40e1", 1952, 44_100),
      ("0b7700009e40e1", 2688, 32_000), ("0b77037f3f80", 1792, 48_000),
    ])
  func channelsThatASubstreamAdds(head: String, length: Int, rate: Int) {
    let core = Self.bytes(head) + [UInt8](repeating: 0, count: length - head.count / 2)
    for claimed in [AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3] {
      #expect(
        SoundHeader(claimed, frame: core + Self.substream + core + Self.substream)
          == SoundHeader(channels: 8, sampleRate: rate, codec: AV_CODEC_ID_EAC3))
      #expect(SoundHeader(claimed, frame: core + core + Self.substream)?.channels == 6)
    }
  }

  /// After AC-3 frames, as on Blu-ray, and after E-AC-3 frames, as from streaming services.
  @Test(
    .needsFFmpeg, arguments: ["a.mkv", "a.ts", "a.mp4"],
    ["ac3", "eac3"])
  func substreamsOfAFile(name: String, core: String) throws {
    let coded = ["-c:a", core, "-ac", "6", "-ar", "48000", "-b:a", "448k"]
    let cores = try FFmpegTool.make("a.\(core)", FFmpegTool.tone + coded).allBytes
    let frames = stride(from: 0, through: cores.count - 1792, by: 1792).flatMap {
      cores[$0..<($0 + 1792)] + Self.substream
    }
    let sound = try #require(OpenFile(holding: frames))
    let input = ["-f", "eac3", "-i", sound.path]
    let muxed = ["-c:v", "mpeg4", "-c:a", "copy", "-strict", "-2"]
    let made = try FFmpegTool.make(name, FFmpegTool.picture + input + muxed)
    let container = try #require(made.sniffed)
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
      let media = try made.read(as: container, by: ways).media
      #expect(media.audio == [AudioFacts(codec: "eac3", channels: 8, sampleRate: 48_000)], "\(ways)")
      #expect(media.warnings.isEmpty, "\(ways) \(media.warnings)")
    }
  }

  struct Sound: Sendable, CustomTestStringConvertible {
    let name: String
    let arguments: [String]
    let channels: Int
    let sampleRate: Int
    var testDescription: String { "\(name) \(arguments)" }

    init(_ name: String, _ codec: String, channels: Int, sampleRate: Int, _ more: String...) {
      self.name = name
      arguments = ["-c:a", codec, "-ar", "\(sampleRate)"] + (more.isEmpty ? ["-ac", "\(channels)"] : more)
      (self.channels, self.sampleRate) = (channels, sampleRate)
    }
  }

  /// The layer of MPEG audio, which MP4 does not name, and codecs that a header names wrongly.
  @Test(
    .needsFFmpeg,
    arguments: [
      ("a.mp4", "mp2", nil, "mp2"), ("a.mp4", "libmp3lame", nil, "mp3"), ("a.mov", "mp2", nil, "mp2"),
      ("a.ts", "mp2", nil, "mp2"), ("a.ts", "libmp3lame", nil, "mp3"), ("a.mpg", "libmp3lame", nil, "mp3"),
      ("a.avi", "mp2", nil, "mp2"), ("a.mkv", "mp2", ("A_MPEG/L2", "A_MPEG/L3"), "mp2"),
      ("a.mkv", "libmp3lame", ("A_MPEG/L3", "A_MPEG/L2"), "mp3"),
      ("a.mkv", "eac3", ("A_EAC3", "A_AC3\0"), "eac3"), ("a.mkv", "eac3", nil, "eac3"),
      ("a.mkv", "ac3", nil, "ac3"),
    ] as [(String, String, (String, String)?, String)])
  func framesNameTheirCodec(name: String, encoder: String, lie: (String, String)?, codec: String) throws {
    let arguments = FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "mpeg4", "-c:a", encoder]
    let made = try FFmpegTool.make(name, arguments)
    var bytes = made.allBytes
    if let (own, other) = lie {
      let place = try #require(bytes.position(of: own))
      bytes.replaceSubrange(place..<(place + own.utf8.count), with: other.utf8)
    }
    let file = try #require(OpenFile(holding: bytes))
    let container = try #require(file.sniffed)
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let media = try file.read(as: container, by: ways).media
      #expect(media.audio.map(\.codec) == [codec])
      #expect(media.warnings.map(\.code) == (lie == nil ? [] : [.soundMismatch]), "\(media.warnings)")
    }
  }

  /// Sample entries state arbitrary facts about their audio, mostly stereo: the audio's own header counts.
  @Test(
    .needsFFmpeg,
    arguments: [
      Sound("a.mp4", "aac", channels: 1, sampleRate: 16_000),
      Sound("a.mov", "aac", channels: 6, sampleRate: 48_000),
      Sound("a.mp4", "aac", channels: 6, sampleRate: 48_000, "-channel_layout", "hexagonal"),
      Sound("a.mp4", "libmp3lame", channels: 1, sampleRate: 22_050),
      Sound("a.mov", "libmp3lame", channels: 2, sampleRate: 32_000),
      Sound("a.mp4", "mp2", channels: 1, sampleRate: 48_000),
      Sound("a.mp4", "ac3", channels: 1, sampleRate: 44_100),
      Sound("a.mp4", "ac3", channels: 6, sampleRate: 48_000),
      Sound("a.mov", "eac3", channels: 6, sampleRate: 32_000),
      Sound("a.mp4", "flac", channels: 3, sampleRate: 96_000),
      Sound("a.mov", "alac", channels: 1, sampleRate: 22_050),
      Sound("a.mp4", "libopus", channels: 1, sampleRate: 48_000),
      Sound("a.mov", "pcm_s16le", channels: 3, sampleRate: 22_050),
    ])
  func anEntryIsNotBelieved(sound: Sound) throws {
    let made = try FFmpegTool.make(
      sound.name,
      FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "mjpeg", "-shortest", "-strict", "-2"]
        + sound.arguments)
    let truth = AudioFacts(codec: nil, channels: sound.channels, sampleRate: sound.sampleRate)
    for lie in [nil, (5, 11_000), (2, 44_100)] as [(Int, Int)?] {
      var movie = MovieBytes(made.allBytes)
      if let lie {
        let entry = try #require(movie.entry(of: "soun"))
        movie.write(UInt64(lie.0), at: entry + 24, bytes: 2)
        movie.write(UInt64(lie.1), at: entry + 32, bytes: 2)
      }
      let file = try #require(OpenFile(holding: movie.bytes))
      let container = try #require(file.sniffed)
      let told = try #require(try file.read(as: container).media.audio.first)
      #expect(
        (told.channels, told.sampleRate) == (truth.channels, truth.sampleRate), "\(String(describing: lie))")
    }
  }

  @Test(arguments: [1, 2, 3, 9] as [UInt8]) func opusOfOneFamilyHasTwoChannelsAtMost(channels: UInt8) {
    let record = Array("OpusHead".utf8) + [1, channels] + [UInt8](repeating: 0, count: 9)
    #expect(OpusHeader(record)?.channels == (channels > 2 ? nil : Int(channels)))
  }
}
