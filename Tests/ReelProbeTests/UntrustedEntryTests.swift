import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Sample entries, codec records and long tables that misdescribe a movie's samples.
@Suite(.needsFFmpeg)
struct UntrustedEntryTests {
  /// Two seconds at 25 pictures per second, 64x48, with audio of one channel at 44100 Hz.
  private func movie(_ arguments: [String] = []) throws -> MovieBytes {
    let made = try FFmpegTool.make(
      "a.mp4",
      FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "mpeg4", "-c:a", "aac", "-ac", "1"] + arguments)
    return MovieBytes(made.allBytes)
  }

  private func media(_ bytes: [UInt8], by ways: Set<ProbeMethod> = FFmpegReader.quickWays) throws -> MediaInfo
  {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed), by: ways).media
  }

  private func warnings(_ code: MediaWarning.Code, _ media: MediaInfo) -> [MediaWarning] {
    media.warnings.filter { $0.code == code }
  }

  /// The offset of the codec's record in the first audio sample entry.
  private func soundRecord(of movie: MovieBytes) throws -> Int {
    let entry = try #require(movie.entry(of: "soun"))
    let end = entry + Int(movie.number(at: entry))
    let head: [UInt8] = [5, 0x80, 0x80, 0x80]
    return try #require((entry..<(end - 7)).first { movie.bytes[$0...].starts(with: head) }) + 5
  }

  private let allWays: [Set<ProbeMethod>] = [FFmpegReader.quickWays, [.full], [.thorough]]

  /// The frames follow each other like 1024 samples at 44100 Hz, and the sample entry states 44100 as well.
  @Test(arguments: [[], ["-movflags", "+frag_keyframe+empty_moov+default_base_moof"]] as [[String]])
  func theCodecsRateIsHeldToItsClock(arguments: [String]) throws {
    var movie = try movie(arguments)
    let record = try soundRecord(of: movie)
    #expect(movie.number(at: record, bytes: 2) == 0x1208)
    // At 48000, 24000 and 96000 Hz.
    for (lie, rate) in [(0x1188, 48_000), (0x1308, 24_000), (0x1008, 96_000)] as [(UInt64, Double)] {
      movie.write(lie, at: record, bytes: 2)
      for ways in allWays {
        let found = try media(movie.bytes, by: ways)
        #expect(found.audio.first?.sampleRate == 44_100, "\(rate) \(ways)")
        let told = warnings(.soundMismatch, found)
        #expect(told.map(\.stated) == [.number(rate)] && told.map(\.measured) == [.number(44_100)])
      }
    }
  }

  /// Where the sample entry and the codec agree, nothing shows whether they or the clock are right.
  @Test func aClockThatTheSoundContradictsIsNamed() throws {
    var movie = try movie()
    movie.write(22_050, at: try #require(movie.box("moov/trak/mdia/mdhd", track: 1)) + 12)
    let found = try media(movie.bytes)
    #expect(found.audio.first?.sampleRate == 44_100)
    #expect(Set(warnings(.claimUnchecked, found).map(\.fact)) == ["duration", "audio.0.sampleRate"])
  }

  /// Frames of 960 samples do not indicate another rate.
  @Test(
    arguments: [
      ([0x12, 0x10], 44_100, 1024), ([0x12, 0x14], 44_100, 960), ([0x2B, 0x92, 0x08, 0x00], 22_050, 1024),
      ([0xBA, 0x08], 44_100, 512), ([0xF9, 0x48, 0x20, 0x00], 44_100, nil),
    ] as [([UInt8], Int, Int?)])
  func lengthsOfFrames(record: [UInt8], rate: Int, length: Int?) throws {
    let found = try #require(AudioSpecificConfig(record))
    #expect(found.coreRate == rate && found.frameLength == length)
  }

  /// Inserts a changed copy of a track's sample entry before the original, and assigns all samples to the second
  /// entry.
  private func hidden(_ movie: MovieBytes, _ handler: String, _ change: (inout [UInt8]) -> Void) throws
    -> [UInt8]
  {
    var movie = movie
    let place = try #require(movie.entry(of: handler))
    var decoy = Array(movie.bytes[place..<(place + Int(movie.number(at: place)))])
    change(&decoy)
    let track = handler == "vide" ? 0 : 1
    let table = "moov/trak/mdia/minf/stbl/"
    let runs = try #require(movie.box(table + "stsc", track: track))
    for run in 0..<Int(movie.number(at: runs + 4)) { movie.write(2, at: runs + 8 + 12 * run + 8) }
    movie.write(2, at: place - 4)
    let isInserted = movie.insert(decoy, at: place, in: table + "stsd", track: track)
    #expect(isInserted)
    return movie.bytes
  }

  @Test func theEntryOfTheSamplesCounts() throws {
    let honest = try media(try movie().bytes)
    // Another codec: FFmpeg reads no sample then.
    let codec = try hidden(try movie(), "vide") { $0.replaceSubrange(4..<8, with: Array("jpeg".utf8)) }
    let found = try media(codec)
    #expect(found.video?.codec == "mpeg4" && found.video?.hasSamples == true)
    #expect((found.video?.width, found.video?.height) == (64, 48))
    #expect(found.video?.frameRate == honest.video?.frameRate && found.duration == honest.duration)
    #expect(warnings(.samplesHidden, found).isEmpty)
    // The same codec, with two channels at 48000 Hz.
    let sound = try hidden(try movie(), "soun") { entry in
      let head: [UInt8] = [5, 0x80, 0x80, 0x80]
      if let place = (0..<(entry.count - 7)).first(where: { entry[$0...].starts(with: head) }) {
        entry.replaceSubrange((place + 5)..<(place + 7), with: [0x11, 0x90])
      }
    }
    for ways in allWays {
      let found = try media(sound, by: ways)
      #expect(found.audio == [AudioFacts(codec: "aac", channels: 1, sampleRate: 44_100)], "\(ways)")
    }
  }

  /// More than a million individual durations, alternating between 30 and 50 ms, or of thousands of different lengths.
  @Test(arguments: [2, 5000]) func tablesThatAreTooLongToBeKept(steps: Int) throws {
    let count = 1 << 20 + 4
    var movie = SmallMovie()
    (movie.samples, movie.sampleSize, movie.fastStart) = (count, 1, false)
    var bytes = MovieBytes(movie.bytes)
    let table = "moov/trak/mdia/minf/stbl/stts"
    let place = try #require(bytes.box(table))
    var entries: [UInt8] = []
    for index in 0..<count {
      let step = steps == 2 ? 30 + 20 * (index % 2) : index % steps
      entries += [
        0, 0, 0, 1, UInt8(step >> 24), UInt8(step >> 16 & 0xFF), UInt8(step >> 8 & 0xFF), UInt8(step & 0xFF),
      ]
    }
    bytes.write(UInt64(count), at: place + 4)
    let isInserted = bytes.insert(Array(entries.dropFirst(8)), at: place + 16, in: table)
    #expect(isInserted)
    bytes.write(1, at: place + 8)
    bytes.write(steps == 2 ? 30 : 0, at: place + 12)
    let found = try media(bytes.bytes)
    // The header claims two seconds.
    if steps == 2 {
      #expect(found.duration == Double(count) * 0.04 && found.video?.frameRate?.value == 25)
      #expect(warnings(.durationMismatch, found).first?.measured == .number(Double(count) * 0.04))
    } else {
      #expect(warnings(.claimUnchecked, found).contains { $0.fact == "duration" })
      #expect(warnings(.durationMismatch, found).isEmpty)
    }
  }

  @Test func aClaimWithoutASampleIsNoDuration() throws {
    var movie = SmallMovie()
    movie.samples = 0
    for ways in allWays {
      let found = try media(movie.bytes, by: ways)
      #expect(found.duration == nil, "\(ways)")
      #expect(warnings(.durationMismatch, found).map(\.stated) == [.number(2)], "\(ways)")
    }
  }

  @Test func aClockThatDoesNotRunIsNamed() throws {
    var movie = try movie()
    movie.write(0, at: try #require(movie.box("moov/trak/mdia/mdhd")) + 12)
    #expect(!warnings(.durationMismatch, try media(movie.bytes)).isEmpty)
  }

  /// Shift JIS, which FFmpeg would take for Mac OS Roman.
  @Test func aTitleInAnUnknownEncodingIsNone() throws {
    var movie = SmallMovie()
    let text: [UInt8] = [0x93, 0xFA, 0x96, 0x7B]
    let box = SmallMovie.u32(16) + [0xA9] + Array("nam".utf8) + [0, 4, 0, 11] + text
    movie.extra = SmallMovie.box("udta", box)
    #expect(try media(movie.bytes).title == nil)
  }

  /// An H.264 record in an HEVC entry, and MPEG-4 and AAC under other names.
  @Test func codecsThatTheFirstSampleContradictsAreNamed() throws {
    let made = try FFmpegTool.make(
      "a.mp4",
      FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac"])
    var movie = MovieBytes(made.allBytes)
    movie.write(0x6876_6331, at: try #require(movie.entry(of: "vide")) + 4)
    // The object type is MPEG audio (ISO/IEC 14496-1, 7.2.6.6.2).
    movie.write(0x6B, at: try soundRecord(of: movie) - 18, bytes: 1)
    let facts = Set(warnings(.claimUnchecked, try media(movie.bytes)).map(\.fact))
    #expect(facts.isSuperset(of: ["video.codec", "audio.0.codec"]), "\(facts)")
    for (name, old, new) in [
      ("a.avi", "FMP4", "H264"), ("a.mkv", "V_MPEG4/ISO/ASP", "V_MPEG4/ISO/AVC"),
    ] {
      let made = try FFmpegTool.make(name, FFmpegTool.picture + ["-c:v", "mpeg4"])
      #expect(try media(made.allBytes).warnings == [], "\(name)")
      let bytes = try #require(Self.replacing(old, by: new, in: made.allBytes))
      #expect(warnings(.claimUnchecked, try media(bytes)).contains { $0.fact == "video.codec" }, "\(name)")
    }
    for (codec, old, new) in [("libvpx", "V_VP8", "V_VP9"), ("libvpx-vp9", "V_VP9", "V_VP8")] {
      let made = try FFmpegTool.make("a.webm", FFmpegTool.picture + ["-c:v", codec])
      #expect(try media(made.allBytes).warnings == [], "\(codec)")
      let bytes = try #require(Self.replacing(old, by: new, in: made.allBytes))
      #expect(warnings(.claimUnchecked, try media(bytes)).contains { $0.fact == "video.codec" }, "\(codec)")
    }
  }

  /// H.264 and ADTS AAC under other names in a transport stream, H.264 in another codec's tags in an FLV, and HEVC in
  /// an H.264 entry.
  @Test func codecsThatTheStreamContradictsAreNamed() throws {
    let arguments =
      FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac"]
    let stream = try FFmpegTool.make("a.ts", arguments).allBytes
    let flash = try FFmpegTool.make("a.flv", arguments).allBytes
    // From ISO/IEC 13818-1, table 2-34: MPEG-2, MPEG-4, HEVC; MPEG audio and AC-3.
    for (old, new, fact) in [
      (0x1B, 0x02, "video.codec"), (0x1B, 0x10, "video.codec"), (0x1B, 0x24, "video.codec"),
      (0x0F, 0x03, "audio.0.codec"), (0x0F, 0x81, "audio.0.codec"),
    ] as [(UInt8, UInt8, String)] {
      let told = warnings(.claimUnchecked, try media(Self.renamed(old, new, in: stream))).first {
        $0.fact == fact
      }
      #expect(told?.measured == .text(old == 0x1B ? "h264" : "aac"), "\(old) as \(new)")
    }
    #expect(try media(stream).warnings == [] && media(flash).warnings == [])
    for codec in [2, 4, 5] as [UInt8] {
      var (bytes, at) = (flash, 13)
      while at + 11 < bytes.count {
        if bytes[at] == 9 { bytes[at + 11] = bytes[at + 11] & 0xF0 | codec }
        at += 15 + (Int(bytes[at + 1]) << 16 | Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
      }
      let told = warnings(.claimUnchecked, try media(bytes)).first { $0.fact == "video.codec" }
      #expect(told?.measured == .text("h264"), "\(codec)")
    }
    let made = try FFmpegTool.make(
      "a.mp4", FFmpegTool.picture + ["-c:v", "libx265", "-x265-params", "log-level=0"])
    let other = try #require(Self.replacing("hev1", by: "avc1", in: made.allBytes))
    let told = warnings(.claimUnchecked, try media(other)).first { $0.fact == "video.codec" }
    #expect(told?.measured == .text("hevc"))
  }

  /// A transport stream whose tables have another type for a stream, with the right checksum (2.4.4.8, annex A).
  static func renamed(_ old: UInt8, _ new: UInt8, in stream: [UInt8]) -> [UInt8] {
    var bytes = stream
    for at in stride(from: 0, to: bytes.count, by: 188)
    where bytes[at + 1] & 0x5F == 0x50 && bytes[at + 2] == 0 {
      let table = at + 5 + Int(bytes[at + 4])
      let end = table + 3 + (Int(bytes[table + 1] & 15) << 8 | Int(bytes[table + 2])) - 4
      var entry = table + 12 + (Int(bytes[table + 10] & 15) << 8 | Int(bytes[table + 11]))
      while entry < end {
        if bytes[entry] == old { bytes[entry] = new }
        entry += 5 + (Int(bytes[entry + 3] & 15) << 8 | Int(bytes[entry + 4]))
      }
      var sum = UInt32.max
      for byte in bytes[table..<end] {
        sum ^= UInt32(byte) << 24
        for _ in 0..<8 { sum = sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1 }
      }
      for place in 0..<4 { bytes[end + place] = UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * place)) }
    }
    return bytes
  }

  private static func replacing(_ old: String, by new: String, in bytes: [UInt8]) -> [UInt8]? {
    var (changed, bytes) = (false, bytes)
    for place in 0..<(bytes.count - old.utf8.count)
    where bytes[place..<(place + old.utf8.count)].elementsEqual(old.utf8) {
      bytes.replaceSubrange(place..<(place + old.utf8.count), with: Array(new.utf8))
      changed = true
    }
    return changed ? bytes : nil
  }

  /// The format has half the numbers; the stream's header keeps the true ones.
  @Test func theRateOfPlainSoundInAVIIsHeldToItsStream() throws {
    let made = try FFmpegTool.make("a.avi", FFmpegTool.tone + ["-c:a", "pcm_s16le"])
    var bytes = made.allBytes
    #expect(try media(bytes).warnings == [])
    let place = try #require((0..<4096).first { bytes[$0..<($0 + 4)].elementsEqual("strf".utf8) }) + 8
    for (offset, number) in [(4, 22_050), (8, 44_100)] {
      for byte in 0..<4 { bytes[place + offset + byte] = UInt8(number >> (8 * byte) & 0xFF) }
    }
    #expect(!warnings(.soundMismatch, try media(bytes)).isEmpty)
  }
}
