import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Files with one changed header field, so that only the content has the truth.
@Suite(.needsFFmpeg)
struct FalseHeaderTests {
  struct Lie: Sendable, CustomTestStringConvertible {
    let name: String
    let coded: String
    /// The original bytes of the field, and what replaces them.
    let field: [UInt8]
    let lie: [UInt8]
    let code: MediaWarning.Code
    let fact: String?
    /// The index of the occurrence to replace.
    var place = 0

    var testDescription: String { "\(name) \(coded) \(code.rawValue)" }
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

  /// The stream types of ASF.
  private static let asfSound: [UInt8] = [
    0x40, 0x9E, 0x69, 0xF8, 0x4D, 0x5B, 0xCF, 0x11, 0xA8, 0xFD, 0, 0x80, 0x5F, 0x5C, 0x44, 0x2B,
  ]
  private static let asfPictures: [UInt8] = [
    0xC0, 0xEF, 0x19, 0xBC, 0x4D, 0x5B, 0xCF, 0x11, 0xA8, 0xFD, 0, 0x80, 0x5F, 0x5C, 0x44, 0x2B,
  ]
  private static let asfCommands: [UInt8] = [
    0xC0, 0xCF, 0xDA, 0x59, 0xE6, 0x59, 0xD0, 0x11, 0xA3, 0xAC, 0, 0xA0, 0xC9, 0x03, 0x48, 0xF6,
  ]

  private static let lies = [
    // Audio under another codec's name.
    Lie(
      name: "a.mp4", coded: "-c:v mpeg4 -c:a ac3", field: text("ac-3"), lie: text("sowt"),
      code: .claimUnchecked, fact: "audio.0.codec"),
    Lie(
      name: "a.mp4", coded: "-c:v mpeg4 -c:a libopus", field: text("Opus"), lie: text("fLaC"),
      code: .claimUnchecked, fact: "audio.0.codec"),
    Lie(
      name: "a.mp4", coded: "-c:v mpeg4 -c:a libmp3lame", field: [0x6B, 0x15], lie: [0x40, 0x15],
      code: .claimUnchecked, fact: "audio.0.codec"),
    Lie(
      name: "a.mp4", coded: "-c:v mpeg4 -c:a aac", field: [0x40, 0x15], lie: [0x61, 0x15],
      code: .claimUnchecked, fact: "audio.0.codec"),
    Lie(
      name: "a.mkv", coded: "-c:v mpeg4 -c:a ac3", field: text("A_AC3"), lie: text("A_DTS"),
      code: .claimUnchecked, fact: "audio.0.codec"),
    Lie(
      name: "a.mkv", coded: "-c:v mpeg4 -c:a libmp3lame", field: text("A_MPEG/L3"),
      lie: text("A_AAC\0\0\0\0"),
      code: .claimUnchecked, fact: "audio.0.codec"),
    Lie(
      name: "a.webm", coded: "-c:v libvpx -c:a libopus", field: text("A_OPUS"), lie: text("A_FLAC"),
      code: .claimUnchecked, fact: "audio.0.codec"),
    Lie(
      name: "a.webm", coded: "-c:v libvpx -c:a libvorbis", field: [0x44, 0xAC, 0, 0],
      lie: [0x22, 0x56, 0, 0],
      code: .soundMismatch, fact: "audio.0"),
    // Video under another codec's name.
    Lie(
      name: "a.webm", coded: "-c:v libvpx", field: text("V_VP8"), lie: text("V_VP9"), code: .claimUnchecked,
      fact: "video.codec"),
    Lie(
      name: "a.mkv", coded: "-c:v mjpeg", field: text("V_MJPEG"), lie: text("V_VP8\0\0"),
      code: .claimUnchecked, fact: "video.codec"),
    Lie(
      name: "a.avi", coded: "-c:v mpeg4", field: text("FMP4"), lie: text("MP43"), code: .claimUnchecked,
      fact: "video.codec", place: 1),
    // Tracks of another type, or of one that the header does not list.
    Lie(
      name: "a.mp4", coded: "-c:v libx264 -pix_fmt yuv420p -c:a aac", field: text("vide\0\0\0\0"),
      lie: text("soun\0\0\0\0"),
      code: .claimUnchecked, fact: "video"),
    Lie(
      name: "a.mp4", coded: "-c:v libx264 -pix_fmt yuv420p -c:a aac", field: text("soun\0\0\0\0"),
      lie: text("vide\0\0\0\0"),
      code: .claimUnchecked, fact: "audio"),
    Lie(
      name: "a.mp4", coded: "-c:v mpeg4 -c:a aac", field: text("mp4a"), lie: text("enca"),
      code: .claimUnchecked, fact: "encrypted"),
    Lie(
      name: "a.mkv", coded: "-c:v mpeg4 -c:a aac", field: [0x83, 0x81, 1], lie: [0x83, 0x81, 3],
      code: .claimUnchecked, fact: "video"),
    Lie(
      name: "a.mkv", coded: "-c:v mpeg4 -c:a aac", field: [0xD7, 0x81, 1], lie: [0xD7, 0x81, 9],
      code: .indexMismatch, fact: nil),
    Lie(
      name: "a.avi", coded: "-c:v mpeg4 -c:a libmp3lame", field: text("vids"), lie: text("auds"),
      code: .claimUnchecked, fact: "video"),
    Lie(
      name: "a.wmv", coded: "-c:v wmv2 -c:a wmav2", field: asfPictures, lie: asfSound, code: .claimUnchecked,
      fact: "video"),
    Lie(
      name: "a.wmv", coded: "-c:v wmv2 -c:a wmav2", field: asfSound, lie: asfPictures, code: .claimUnchecked,
      fact: "audio"),
    Lie(
      name: "a.wmv", coded: "-c:v mpeg4 -c:a pcm_s16le", field: asfSound, lie: asfCommands,
      code: .claimUnchecked,
      fact: "audio"),
    Lie(
      name: "a.wmv", coded: "-c:v mpeg4 -c:a libmp3lame", field: asfPictures, lie: asfCommands,
      code: .claimUnchecked, fact: "video"),
    // Sizes and shapes.
    Lie(
      name: "a.flv", coded: "-c:v flv", field: text("width\0\u{40}P"), lie: text("width\0\u{40}`"),
      code: .sizeMismatch, fact: "video"),
    Lie(
      name: "a.ogv", coded: "-c:v libtheora", field: [0, 4, 0, 3, 0, 0, 64, 0, 0, 48],
      lie: [0, 8, 0, 3, 0, 0, 64, 0, 0, 48], code: .sizeMismatch, fact: "video"),
    Lie(
      name: "a.ogv", coded: "-c:v libtheora", field: text("theora") + [3, 2], lie: text("theora") + [4, 2],
      code: .clockJumps, fact: "duration"),
    Lie(
      name: "a.ogv", coded: "-c:v libtheora -c:a libvorbis", field: [0x80] + text("theora"),
      lie: [0x80] + text("theorb"),
      code: .claimUnchecked, fact: nil),
  ]

  @Test(arguments: lies) func isNamed(lie: Lie) throws {
    let words = lie.coded.split(separator: " ").map(String.init)
    let sound =
      words.contains("-c:a") ? FFmpegTool.tone + ["-ar", lie.coded.contains("opus") ? "48000" : "44100"] : []
    let made = try FFmpegTool.make(lie.name, FFmpegTool.picture + sound + words)
    var bytes = made.allBytes
    let good = try #require(OpenFile(holding: bytes))
    let container = try #require(good.sniffed)
    #expect(try good.read(as: container).media.warnings == [])
    var place = try #require(bytes.position(of: lie.field))
    for _ in 0..<lie.place { place = try #require(bytes.position(of: lie.field, notBefore: place + 1)) }
    bytes.replaceSubrange(place..<(place + lie.field.count), with: lie.lie)
    HeaderField.seal(&bytes, container)
    let media = try #require(OpenFile(holding: bytes)).read(as: container).media
    #expect(
      media.warnings.contains { $0.code == lie.code && $0.fact == lie.fact },
      "\(media.warnings) \(media.audio) \(String(describing: media.video))")
  }

  /// A codec unknown to this FFmpeg is not mistaken for another.
  @Test func aSoundThatNobodyKnowsIsSound() throws {
    let arguments = FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "mpeg4", "-c:a", "ac3"]
    var bytes = try FFmpegTool.make("a.mkv", arguments).allBytes
    let name = try #require(bytes.firstRange(of: Self.text("A_AC3")))
    bytes.replaceSubrange(name, with: Self.text("A_XYZ"))
    let media = try #require(OpenFile(holding: bytes)).read(as: .matroska).media
    #expect(media.audio.map(\.codec) == [nil] && media.warnings.isEmpty, "\(media.warnings)")
  }

  /// The ASF data object states an end before its last packets (3.2, 5).
  @Test func packetsBehindTheirEndAreNamed() throws {
    let coded = ["-c:v", "wmv2", "-an", "-b:v", "800k"]
    let made = try FFmpegTool.make("a.wmv", FFmpegTool.picture + coded)
    var bytes = made.allBytes
    let data = Int(bytes[16]) | Int(bytes[17]) << 8
    let size = (0..<4).reduce(0) { $0 | Int(bytes[data + 16 + $1]) << (8 * $1) }
    for place in 0..<4 { bytes[data + 16 + place] = UInt8(truncatingIfNeeded: (size / 2) >> (8 * place)) }
    let media = try #require(OpenFile(holding: bytes)).read(as: .asf).media
    #expect(media.warnings.contains { $0.fact == "duration" }, "\(media.warnings)")
  }

  @Test func packetsOfAStreamThatIsNotDescribedAreNamed() throws {
    let coded = ["-c:v", "wmv2", "-c:a", "wmav2"]
    let made = try FFmpegTool.make("a.wmv", FFmpegTool.picture + FFmpegTool.tone + coded)
    var bytes = made.allBytes
    let place = try #require(
      bytes.position(of: [0x91, 0x07, 0xDC, 0xB7, 0xB7, 0xA9, 0xCF, 0x11, 0x8E, 0xE6]))
    bytes[place + 72] = 9
    let media = try #require(OpenFile(holding: bytes)).read(as: .asf).media
    #expect(media.warnings.contains { $0.code == .indexMismatch }, "\(media.warnings)")
  }

  /// The first sequence header of a program stream contradicts the next.
  @Test(arguments: ["mpeg1video", "mpeg2video"]) func aSizeOfTheFirstHeaderAloneIsNamed(encoder: String)
    throws
  {
    let coded = ["-c:v", encoder, "-g", "10"]
    let made = try FFmpegTool.make("a.mpg", FFmpegTool.picture + coded)
    var bytes = made.allBytes
    #expect(try #require(OpenFile(holding: bytes)).read(as: .mpegPS).media.warnings == [])
    let place = try #require(bytes.position(of: [0, 0, 1, 0xB3]))
    bytes[place + 4] = 8
    let media = try #require(OpenFile(holding: bytes)).read(as: .mpegPS).media
    #expect(media.warnings.contains { $0.code == .contentChanges && $0.fact == "video" }, "\(media.warnings)")
  }

  /// The program map says audio (MPEG-4 audio, without frames of its own), but each packet is marked as video.
  @Test func picturesThatATableCallsSoundAreNamed() throws {
    let coded = ["-c:v", "mpeg2video", "-c:a", "mp2"]
    let made = try FFmpegTool.make("a.ts", FFmpegTool.picture + FFmpegTool.tone + coded)
    var bytes = made.allBytes
    #expect(try #require(OpenFile(holding: bytes)).read(as: .mpegTS).media.warnings == [])
    // MPEG-2 in the first elementary stream, at FFmpeg's usual packet identifier. FFmpeg does not verify the checksum
    // of a table that it reads for the first time.
    var found = 0
    for place in bytes.indices.dropLast(5) where bytes[place...].starts(with: [0x02, 0xE1, 0x00, 0xF0]) {
      bytes[place] = 0x03
      found += 1
    }
    #expect(found > 0)
    let media = try #require(OpenFile(holding: bytes)).read(as: .mpegTS).media
    let isRead = media.video?.codec == "mpeg2video"
    #expect(isRead || media.warnings.contains { $0.fact == "video" }, "\(media.warnings) \(media.audio)")
  }

  /// Samples of a track whose fragments name a missing sample description.
  @Test func samplesWithoutADescriptionAreNamed() throws {
    let coded = ["-c:v", "mpeg4", "-movflags", "frag_keyframe+empty_moov+default_base_moof"]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + coded)
    var bytes = made.allBytes
    let place = try #require(bytes.position(of: "trex"))
    bytes[place + 15] = 9
    let media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect(media.video?.hasSamples == true || media.warnings.contains { $0.fact == "video.hasSamples" })
  }

  @Test func aPageOfNoStreamIsNamed() throws {
    let made = try FFmpegTool.make(
      "a.ogv", FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "libtheora", "-c:a", "libvorbis"])
    var bytes = made.allBytes
    let last = try #require(bytes.indices.last { bytes[$0...].starts(with: Array("OggS".utf8)) })
    for place in 14..<18 { bytes[last + place] ^= 0x5A }
    OggPages.seal(&bytes)
    let media = try #require(OpenFile(holding: bytes)).read(as: .ogg).media
    #expect(media.warnings.contains { $0.fact == "duration" }, "\(media.warnings)")
  }

  /// The pixel shape follows from the size given with it (OpenDML 1.02, `vprp`).
  @Test func aShapeOfAnotherSizeIsNamed() throws {
    let made = try FFmpegTool.make("a.avi", FFmpegTool.picture + ["-c:v", "mpeg4", "-aspect", "4:3"])
    var bytes = made.allBytes
    #expect(try #require(OpenFile(holding: bytes)).read(as: .avi).media.warnings == [])
    let place = try #require(bytes.position(of: "vprp"))
    bytes[place + 8 + 24] = 128
    let media = try #require(OpenFile(holding: bytes)).read(as: .avi).media
    #expect(media.warnings.contains { $0.code == .pixelShapeMismatch }, "\(media.warnings)")
  }

  @Test func theRateOfAnObjectTypeThatIsNoneOfAACIsNotBelieved() throws {
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.tone + ["-c:a", "aac", "-ar", "44100"])
    var bytes = made.allBytes
    let place = try #require(bytes.position(of: [0x05, 0x80, 0x80, 0x80, 0x05]))
    bytes[place + 5] = 0x80
    let media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect([nil, 44_100].contains(media.audio[0].sampleRate), "\(media.audio)")
  }

  /// A stream that ends early, or continues alone, contradicts nothing; one that only its header makes longer does.
  @Test(
    arguments: [
      ("libmp3lame", 0), ("pcm_s16le", 0), ("libmp3lame", 1), ("pcm_s16le", 1), ("libmp3lame", 0.5),
    ],
    [(6, 2), (2, 6), (5, 6.2)])
  func soundOfAnotherLengthIsNoContradiction(
    sound: (codec: String, ahead: Double), seconds: (pictures: Double, sound: Double)
  ) throws {
    let inputs = [
      "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=\(seconds.pictures)", "-f", "lavfi", "-i",
      "sine=sample_rate=44100:duration=\(seconds.sound)",
    ]
    let coded = ["-c:v", "mpeg4", "-c:a", sound.codec, "-audio_preload", "\(Int(sound.ahead * 1e6))"]
    let made = try FFmpegTool.make("a.avi", inputs + coded)
    var bytes = made.allBytes
    func read() throws -> MediaInfo { try #require(OpenFile(holding: bytes)).read(as: .avi).media }
    func told() throws -> [MediaWarning] { try read().warnings }
    let whole = try read()
    #expect(whole.warnings.isEmpty, "\(whole.warnings)")
    let longest = max(seconds.pictures, seconds.sound)
    #expect(abs((whole.duration ?? 0) - longest) < 0.1, "\(whole.duration ?? 0)")
    // A stream that only its header makes longer does not really continue.
    let original = bytes
    for kind in ["auds", "vids"] {
      let place = try #require(bytes.position(of: kind)) + 32
      let length = 4 * bytes[place..<(place + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
      for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: length >> UInt32(8 * byte)) }
      let longer = try told()
      #expect(longer.contains { $0.fact == "duration" }, "\(kind): \(longer)")
      bytes = original
    }
    // The header states twice the audio rate, so that the audio lasts only half as long as the pictures beside it.
    let place = try #require(bytes.position(of: "auds")) + 24
    let rate = 2 * bytes[place..<(place + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: rate >> UInt32(8 * byte)) }
    guard seconds.sound == 2, sound.ahead == 0 else { return }
    let changed = try told()
    #expect(changed.contains { [.durationMismatch, .soundMismatch].contains($0.code) }, "\(changed)")
  }

  /// An AVI fills the time before sound that begins late with empty chunks.
  @Test(arguments: ["libmp3lame", "ac3", "pcm_s16le"], [0.5, 1, 2])
  func soundThatBeginsLateIsNoContradiction(sound: String, late: Double) throws {
    let inputs =
      ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=5", "-itsoffset", "\(late)", "-f", "lavfi"]
      + ["-i", "sine=sample_rate=48000:duration=3", "-c:v", "mpeg4", "-c:a", sound]
    let made = try FFmpegTool.make("a.avi", inputs)
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let media = try made.read(as: .avi, by: ways).media
      #expect(media.duration == 5 && media.warnings.isEmpty, "\(media)")
    }
  }

  /// The AVI index states minutes for one audio chunk, for which the file does not have the bytes.
  @Test(arguments: [0x00FF_FFFF, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
  func aSizeInTheIndexOfAnAVIIsAClaim(size: UInt32) throws {
    let coded = ["-c:v", "mjpeg", "-c:a", "pcm_s16le"]
    let sources = FFmpegTool.picture + FFmpegTool.tone
    var bytes = try FFmpegTool.make("a.avi", sources + coded).allBytes
    let sounds = bytes.indices.dropLast(16).filter { bytes[$0...].starts(with: "01wb".utf8) }
    let last = try #require(sounds.last)
    for byte in 0..<4 { bytes[last + 12 + byte] = UInt8(truncatingIfNeeded: size >> UInt32(8 * byte)) }
    for media in try #require(OpenFile(holding: bytes)).readBothWays(as: .avi) {
      #expect(abs((media.duration ?? 2) - 2) < 0.1, "\(media.duration ?? 0)")
    }
  }

  /// Both frame rates of an AVI are wrong, and the sound beside the pictures lasts as long as it did.
  @Test(arguments: ["libmp3lame", "pcm_s16le"], [0.5, 2])
  func aRateThatTheSoundContradictsIsNamed(sound: String, factor: Double) throws {
    let inputs = [
      "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=6", "-f", "lavfi", "-i", "sine=duration=6",
    ]
    let coded = ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", sound]
    var bytes = try FFmpegTool.make("a.avi", inputs + coded).allBytes
    let main = try #require(bytes.position(of: "avih")) + 8
    let rate = try #require(bytes.position(of: "strh")) + 8 + 24
    for (place, scale) in [(main, 1 / factor), (rate, factor)] {
      let old = bytes[place..<(place + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
      let new = UInt32(Double(old) * scale)
      for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: new >> UInt32(8 * byte)) }
    }
    let warnings = try #require(OpenFile(holding: bytes)).read(as: .avi).media.warnings
    for fact in ["duration", "video.frameRate"] {
      #expect(warnings.contains { $0.fact == fact }, "\(fact): \(warnings)")
    }
  }

  /// FFmpeg takes a clock tick of 11 or 78 µs for a picture's duration.
  @Test(arguments: [11, 78] as [UInt8]) func theTickOfAClockIsNoRate(microseconds: UInt8) throws {
    var bytes = try FFmpegTool.make("a.avi", FFmpegTool.picture + ["-c:v", "mpeg4"]).allBytes
    let place = try #require(bytes.position(of: "avih")) + 8
    bytes.replaceSubrange(place..<(place + 4), with: [microseconds, 0, 0, 0])
    let media = try #require(OpenFile(holding: bytes)).read(as: .avi).media
    #expect(media.warnings.isEmpty && media.video?.frameRate?.description == "25/1", "\(media.warnings)")
    bytes.replaceSubrange(place..<(place + 4), with: [0x20, 0x4E, 0, 0])
    let other = try #require(OpenFile(holding: bytes)).read(as: .avi).media.warnings
    #expect(other.contains { $0.code == .frameRateMismatch }, "\(other)")
  }

  /// The codec's clear name in the sample entry, while its own boxes say that it is encrypted.
  @Test func anEncryptionThatTheNameHidesIsNamed() throws {
    let key = ["-encryption_scheme", "cenc-aes-ctr", "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb"]
    let id = ["-encryption_kid", "a7e61c373e219033c21091fa607bf3b8"]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + ["-c:v", "libx264"] + key + id)
    var bytes = made.allBytes
    let place = try #require(bytes.position(of: "encv"))
    bytes.replaceSubrange(place..<(place + 4), with: Array("avc1".utf8))
    let media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect(media.warnings.contains { $0.code == .claimUnchecked && $0.fact == "encrypted" })
  }

  /// The media data of encrypted fragments may contain more than samples, but not samples that appear in no table.
  @Test(arguments: [0, 1, 2]) func anEncryptedFragmentWithoutATableIsNamed(place: Int) throws {
    let flags = ["-movflags", "frag_keyframe+empty_moov+default_base_moof", "-g", "17"]
    let made = try FFmpegTool.make("a.mp4", FFmpegTool.picture + ["-c:v", "mpeg4"] + flags)
    var bytes = made.allBytes
    let entry = try #require(bytes.position(of: "mp4v"))
    bytes.replaceSubrange(entry..<(entry + 4), with: Array("encv".utf8))
    func faults() throws -> [MediaWarning] {
      let file = try #require(OpenFile(holding: bytes))
      return try file.read(as: .mp4).media.warnings.filter { $0.code == .indexMismatch }
    }
    let whole = try faults()
    #expect(whole.isEmpty, "\(whole)")
    let fragments = bytes.indices.dropLast(4).filter { bytes[$0..<($0 + 4)].elementsEqual("moof".utf8) }
    #expect(fragments.count == 3)
    guard fragments.indices.contains(place) else { return }
    bytes.replaceSubrange(fragments[place]..<(fragments[place] + 4), with: Array("free".utf8))
    let changed = try faults()
    #expect(!changed.isEmpty)
  }
}
