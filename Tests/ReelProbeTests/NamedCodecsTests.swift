import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// FLV whose tags name their codecs (Enhanced RTMP), as newer streaming programs write it. The files are made from
/// others whose tags have numbers.
@Suite(.needsFFmpeg)
struct NamedCodecsTests {
  private struct Tag {
    let kind: UInt8
    let time: [UInt8]
    var body: [UInt8]
  }

  private static func tags(of bytes: [UInt8]) -> [Tag] {
    var (found, next): ([Tag], Int) = ([], 13)
    while next + 15 <= bytes.count {
      let length = bytes[(next + 1)..<(next + 4)].reduce(0) { $0 << 8 | Int($1) }
      guard next + 11 + length <= bytes.count else { break }
      found.append(
        Tag(
          kind: bytes[next], time: Array(bytes[(next + 4)..<(next + 8)]),
          body: Array(bytes[(next + 11)..<(next + 11 + length)])))
      next += 15 + length
    }
    return found
  }

  private static func file(_ head: ArraySlice<UInt8>, _ tags: [Tag]) -> [UInt8] {
    func number(_ value: Int, _ bytes: Int) -> [UInt8] {
      (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var bytes = Array(head)
    for tag in tags {
      bytes += [tag.kind] + number(tag.body.count, 3) + tag.time + [0, 0, 0]
      bytes += tag.body
      bytes += number(tag.body.count + 11, 4)
    }
    return bytes
  }

  /// Replaces the codec's number with its name.
  ///
  /// - Parameter inOrder: Whether pictures are displayed in decoding order, without a composition time.
  private static func named(_ bytes: [UInt8], _ name: String, inOrder: Bool = false) -> [UInt8] {
    let tags = tags(of: bytes).map { tag in
      guard tag.kind == 9, tag.body.count >= 5 else { return tag }
      var changed = tag
      let flags = 0x80 | tag.body[0] & 0xF0
      switch tag.body[1] {
      case 0: changed.body = [flags] + Array(name.utf8) + tag.body.dropFirst(5)
      case 1 where inOrder: changed.body = [flags | 3] + Array(name.utf8) + tag.body.dropFirst(5)
      case 1: changed.body = [flags | 1] + Array(name.utf8) + tag.body.dropFirst(2)
      default: changed.body = [flags | 2] + Array(name.utf8)
      }
      return changed
    }
    return file(bytes.prefix(13), tags)
  }

  private static func made(_ more: [String] = [], sound: [String] = ["-c:a", "aac"]) throws -> [UInt8] {
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "ultrafast"] + more + sound
    return try FFmpegTool.make("a.flv", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
  }

  private func allWays(_ bytes: [UInt8]) throws -> [MediaInfo] {
    let file = try #require(OpenFile(holding: bytes))
    return try [FFmpegReader.quickWays, [.full], [.thorough]].map { try file.read(as: .flv, by: $0).media }
  }

  @Test(arguments: [false, true]) func picturesOfANameAreThoseOfANumber(inOrder: Bool) throws {
    let numbered = try Self.made(inOrder ? ["-bf", "0"] : ["-bf", "2"])
    for (media, original) in zip(
      try allWays(Self.named(numbered, "avc1", inOrder: inOrder)), try allWays(numbered))
    {
      #expect(original.video?.frameRate?.description == "25/1" && original.video?.width == 64)
      // `onMetaData` states a video bit rate, which FFmpeg assigns only to streams that it knows.
      var (found, expected) = (media.video, original.video)
      found?.bitRate = nil
      expected?.bitRate = nil
      #expect(found == expected)
      #expect(media.audio == original.audio && media.warnings == original.warnings)
      #expect(media.duration == original.duration && media.truncated == original.truncated)
    }
  }

  @Test func anotherNameThanTheCodecsIsNamed() throws {
    let numbered = try Self.made()
    for media in try allWays(Self.named(numbered, "hvc1")) {
      #expect(media.video?.streams == 1 && media.audio.count == 1)
      #expect(media.video?.frameRate?.description == "25/1")
      #expect(media.warnings.contains { $0.fact == "video.codec" }, "\(media.warnings)")
    }
  }

  @Test func unknownNamesAreNoCodec() throws {
    let numbered = try Self.made()
    for media in try allWays(Self.named(numbered, "abcd")) {
      #expect(media.video?.streams == 1 && media.video?.codec == nil)
      #expect(media.video?.frameRate?.description == "25/1")
    }
  }

  /// AAC with a name still has its record. A name without a record has no facts, because there are no flags.
  @Test func soundOfAName() throws {
    let numbered = try Self.made()
    var tags = Self.tags(of: numbered)
    for index in tags.indices where tags[index].kind == 8 {
      let body = tags[index].body
      tags[index].body = [0x90 | body[1]] + Array("mp4a".utf8) + body.dropFirst(2)
    }
    for media in try allWays(Self.file(numbered.prefix(13), tags)) {
      #expect(media.audio == [AudioFacts(codec: "aac", channels: 1, sampleRate: 44_100)])
      #expect(media.duration.map { abs($0 - 2) < 0.2 } == true)
    }
    for index in tags.indices where tags[index].kind == 8 {
      tags[index].body.replaceSubrange(1..<5, with: Array("zzzz".utf8))
    }
    for media in try allWays(Self.file(numbered.prefix(13), tags)) {
      #expect(media.audio == [AudioFacts()])
    }
  }

  /// HEVC and AV1 with the numbers that Chinese programs assigned to them: like H.264, but with another number.
  @Test func picturesOfNumbersThatAreNotAdobes() throws {
    let coded = ["-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params", "keyint=1:log-level=none"]
    let numbered = try Self.made()
    let hevc = try FFmpegTool.make("a.hevc", FFmpegTool.picture + coded).allBytes
    func u16(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
    let units = Array(StartCodeUnits(hevc)).map { (kind: ($0.first ?? 0) >> 1 & 63, bytes: Array($0)) }
    let sets = [32, 33, 34].compactMap { kind in units.first { $0.kind == kind } }
    let record =
      [1] + [UInt8](repeating: 0, count: 20) + [0xFF, UInt8(sets.count)]
      + sets.flatMap { [$0.kind, 0, 1] + u16($0.bytes.count) + $0.bytes }
    let pictures = units.filter { (16...21).contains($0.kind) }.map {
      [0, 0] + u16($0.bytes.count) + $0.bytes
    }
    let av1 = SmallAV1.frame
    for (number, record, pictures, size) in [
      (12, record, pictures, (64, 48)), (13, SmallAV1.record, [[UInt8]](repeating: av1, count: 50), (48, 32)),
    ] as [(UInt8, [UInt8], [[UInt8]], (Int, Int))] {
      var place = 0
      let tags = Self.tags(of: numbered).compactMap { tag -> Tag? in
        // `onMetaData` describes the original pictures.
        guard tag.kind != 18 else { return nil }
        guard tag.kind == 9, tag.body.count > 5 else { return tag }
        var changed = tag
        changed.body = [0x10 | number, tag.body[1], 0, 0, 0]
        if tag.body[1] == 0 {
          changed.body += record
        } else if tag.body[1] == 1, place < pictures.count {
          changed.body += pictures[place]
          place += 1
        }
        return changed
      }
      for media in try allWays(Self.file(numbered.prefix(13), tags)) {
        #expect(media.video?.codec == (number == 12 ? "hevc" : "av1"))
        #expect(media.video?.width == size.0 && media.video?.height == size.1)
        #expect(media.video?.frameRate?.description == "25/1" && media.video?.streams == 1)
        #expect(media.audio == [AudioFacts(codec: "aac", channels: 1, sampleRate: 44_100)])
        #expect(media.warnings.isEmpty, "\(media.warnings)")
      }
      // Without a codec record the codec is unknown.
      let bare = tags.filter { !($0.kind == 9 && $0.body[1] == 0) }
      for media in try allWays(Self.file(numbered.prefix(13), bare)) {
        #expect(media.video?.codec == nil)
        #expect(media.warnings.contains { $0.message.contains("(\(number))") }, "\(media.warnings)")
      }
    }
  }

  /// As OBS records several audio tracks: the first as usual, each other in its own tags. For several channels, these
  /// may be announced before the record (Enhanced RTMP v2, MultichannelConfig).
  @Test(arguments: [1, 2], [false, true]) func furtherSounds(count: Int, saysChannels: Bool) throws {
    let numbered = try Self.made()
    let tags = Self.tags(of: numbered).flatMap { tag -> [Tag] in
      guard tag.kind == 8, tag.body.count > 2 else { return [tag] }
      return [tag]
        + (1...count).flatMap { track -> [Tag] in
          func other(_ kind: UInt8, _ body: some Sequence<UInt8>) -> Tag {
            var other = tag
            other.body = [0x95, kind] + Array("mp4a".utf8) + [UInt8(track)] + body
            return other
          }
          let channels = saysChannels && tag.body[1] == 0 ? [other(4, [1, 1, 0, 0, 0, 4])] : []
          return channels + [other(tag.body[1], tag.body.dropFirst(2))]
        }
    }
    let sound = AudioFacts(codec: "aac", channels: 1, sampleRate: 44_100)
    for media in try allWays(Self.file(numbered.prefix(13), tags)) {
      #expect(media.audio == [AudioFacts](repeating: sound, count: 1 + count))
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Color information (`colorInfo`) between the records of video and audio, at which FFmpeg before 6.1 stops.
  @Test(arguments: ["aac", "libmp3lame"]) func soundBehindColours(codec: String) throws {
    let numbered = try Self.made(sound: ["-c:a", codec])
    var tags = Self.tags(of: Self.named(numbered, "avc1"))
    let first = try #require(tags.firstIndex { $0.kind == 9 })
    var colours = tags.remove(at: first)
    tags.insert(colours, at: tags.firstIndex { $0.kind != 18 } ?? 0)
    colours.body = [0x84] + Array("avc1".utf8) + [2, 0, 9] + Array("colorInfo".utf8) + [3, 0, 0, 9]
    let place = try #require(tags.firstIndex { $0.kind == 9 })
    tags.insert(colours, at: place + 1)
    for media in try allWays(Self.file(numbered.prefix(13), tags)) {
      #expect(
        media.audio == [AudioFacts(codec: codec == "aac" ? "aac" : "mp3", channels: 1, sampleRate: 44_100)])
      #expect(media.video?.codec == "h264" && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// There FFmpeg knows nothing about audio with a number and no header: the flags state its facts.
  @Test(arguments: [
    ("pcm_s16le", 2, 22_050), ("pcm_u8", 1, 11_025), ("adpcm_swf", 1, 44_100), ("nellymoser", 1, 8_000),
    ("nellymoser", 1, 16_000), ("pcm_alaw", 1, 8_000), ("pcm_mulaw", 1, 8_000),
  ]) func soundOfANumberBehindColours(codec: String, channels: Int, rate: Int) throws {
    let numbered = try Self.made(sound: ["-c:a", codec, "-ac", "\(channels)", "-ar", "\(rate)"])
    var tags = Self.tags(of: Self.named(numbered, "avc1"))
    let place = try #require(tags.firstIndex { $0.kind == 9 })
    var colours = tags[place]
    colours.body = [0x84] + Array("avc1".utf8) + [2, 0, 9] + Array("colorInfo".utf8) + [3, 0, 0, 9]
    let sound = try #require(tags.firstIndex { $0.kind == 8 })
    if sound < place { tags.insert(tags.remove(at: place), at: sound) }
    tags.insert(colours, at: min(sound, place) + 1)
    for media in try allWays(Self.file(numbered.prefix(13), tags)) {
      #expect(media.audio == [AudioFacts(codec: codec, channels: channels, sampleRate: rate)])
      #expect(media.video?.codec == "h264" && media.warnings.isEmpty, "\(media.warnings)")
    }
  }
}
