import CFFmpeg
import ReelCore
import Testing
import ReelTestSupport

@testable import ReelProbe

/// AAC headers that their frames or timestamps contradict.
struct FalseSoundTests {
  private func allWays(_ bytes: [UInt8]) throws -> [MediaInfo] {
    let file = try #require(OpenFile(holding: bytes))
    let container = try #require(file.sniffed)
    return try [FFmpegReader.quickWays, [.full], [.thorough]].map {
      try file.read(as: container, by: $0).media
    }
  }

  private static func clip(_ name: String) throws -> [UInt8] {
    let path = Checkout.root.appendingPathComponent("Samples/clips/\(name)").path
    return try #require(OpenFile(path)).allBytes
  }

  /// AAC LC with one channel at 44.1 kHz, with an extension after it.
  private static let record: [UInt8] = [0x12, 0x08, 0x56, 0xE5, 0x00]

  /// - Parameter arrangement: The channel configuration.
  private static func changed(_ bytes: [UInt8], arrangement: UInt8) throws -> [UInt8] {
    let place = try #require(bytes.position(of: record))
    var changed = bytes
    changed[place + 1] = bytes[place + 1] & 0x87 | arrangement << 3
    return changed
  }

  @Test(arguments: ["faststart.mp4", "moov-at-end.mp4", "fragmented.mp4"], [2, 6] as [UInt8])
  func channelsAreThoseOfTheFrames(name: String, arrangement: UInt8) throws {
    for media in try allWays(Self.changed(Self.clip(name), arrangement: arrangement)) {
      #expect(media.audio == [AudioFacts(codec: "aac", channels: 1, sampleRate: 44_100)])
      let warning = try #require(media.warnings.first { $0.code == .soundMismatch })
      #expect(warning.fact == "audio.0.channels" && warning.measured == .number(1))
      #expect(media.warnings.count == 1, "\(media.warnings)")
    }
  }

  /// Opus mapping families have a maximum number of channels (RFC 7845, 5.1.1).
  @Test(
    .needsFFmpeg,
    arguments: [("a.mp4", "dOps", 5), ("a.mkv", "OpusHead", 9)])
  func channelsThatOpusCannotHaveAreNone(name: String, mark: String, place: Int) throws {
    let coded = ["-c:v", "mpeg4", "-c:a", "libopus", "-ac", "2"]
    let made = try FFmpegTool.make(name, FFmpegTool.picture + FFmpegTool.tone + coded)
    var bytes = made.allBytes
    for media in try allWays(bytes) { #expect(media.audio.map(\.channels) == [2] && media.warnings.isEmpty) }
    let header = try #require(bytes.position(of: mark))
    bytes[header + place] = 6
    for media in try allWays(bytes) {
      #expect(media.audio.map(\.channels) == [nil] && media.audio.map(\.sampleRate) == [48_000])
      let warning = media.warnings.first { $0.code == .soundMismatch }
      #expect(warning?.fact == "audio.0.channels" && warning?.stated == .number(6), "\(media.warnings)")
    }
  }

  /// The sample entry of one codec with the frames of another.
  @Test(
    .needsFFmpeg,
    arguments: [
      ("aac", "libmp3lame", "mp3"), ("aac", "ac3", "ac3"), ("aac", "eac3", "eac3"), ("aac", "flac", "flac"),
      ("aac", "libopus", nil), ("libopus", "aac", "aac"), ("libopus", "libmp3lame", "mp3"),
      ("libmp3lame", "aac", "aac"), ("ac3", "aac", "aac"), ("flac", "aac", "aac"), ("alac", "aac", "aac"),
      ("flac", "libmp3lame", "mp3"), ("alac", "libopus", nil),
    ] as [(String, String, String?)], ["a.mp4", "fragments.mp4"])
  func framesOfAnotherCodecAreNamed(sound: (String, String, String?), name: String) throws {
    let (claimed, real, found) = sound
    func made(_ codec: String, _ flags: [String] = []) throws -> MovieBytes {
      let coded = ["-c:v", "mpeg4", "-ar", "48000", "-c:a", codec, "-b:a", "96k", "-strict", "-2"]
      let file = try FFmpegTool.make("a.mp4", FFmpegTool.picture + FFmpegTool.tone + coded + flags)
      return MovieBytes(file.allBytes)
    }
    let isKnownLater = real.hasSuffix("ac3")
    let flags =
      name == "a.mp4"
      ? []
      : ["-movflags", "frag_keyframe+empty_moov+default_base_moof" + (isKnownLater ? "+delay_moov" : "")]
    let other = try made(claimed)
    var movie = try made(real, flags)
    let (from, to) = (try #require(other.entry(of: "soun")), try #require(movie.entry(of: "soun")))
    for media in try allWays(movie.bytes) { #expect(media.warnings.isEmpty, "\(media.warnings)") }
    let entry = Array(other.bytes[from..<(from + Int(other.number(at: from)))])
    // The original entry follows the only one that is counted.
    let isThere = movie.insert(entry, at: to, in: "moov/trak/mdia/minf/stbl/stsd", track: 1)
    #expect(isThere)
    for media in try allWays(movie.bytes) {
      let told = media.warnings.map { "\($0)" }
      #expect(media.warnings.map(\.code) == [.claimUnchecked], "\(told)")
      #expect(media.warnings.first?.fact == "audio.0.codec")
      #expect(media.warnings.first?.measured == found.map { .text($0) }, "\(told)")
      let isTold = ["mp3", "ac3", "eac3"].contains(found)
      #expect(media.audio.map(\.sampleRate) == [isTold ? 48_000 : nil], "\(media.audio)")
      #expect(abs((media.duration ?? 0) - 2) < 0.2)
    }
  }

  /// Uncompressed audio under a codec's name: each sample is shorter than any frame and has the same size as the next.
  @Test(
    .needsFFmpeg,
    arguments: ["aac", "libmp3lame"], [("pcm_s16le", 1), ("pcm_s16be", 2), ("pcm_u8", 1), ("pcm_mulaw", 1)])
  func plainSoundUnderTheNameOfACodecIsNamed(claimed: String, real: (codec: String, channels: Int)) throws {
    let inputs =
      FFmpegTool.picture + ["-f", "lavfi", "-i", "sine=sample_rate=44100:duration=2,adelay=500:all=1"]
    let coded = ["-c:v", "mpeg4", "-ar", "44100", "-ac", "\(real.channels)"]
    let other = try FFmpegTool.make("a.mp4", inputs + coded + ["-c:a", claimed])
    let made = try FFmpegTool.make("a.mov", inputs + coded + ["-c:a", real.codec])
    let entries = MovieBytes(other.allBytes)
    var movie = MovieBytes(made.allBytes)
    let (from, to) = (try #require(entries.entry(of: "soun")), try #require(movie.entry(of: "soun")))
    let entry = Array(entries.bytes[from..<(from + Int(entries.number(at: from)))])
    let isThere = movie.insert(entry, at: to, in: "moov/trak/mdia/minf/stbl/stsd", track: 1)
    #expect(isThere)
    for media in try allWays(movie.bytes) {
      #expect(
        media.warnings.contains { $0.code == .claimUnchecked && $0.fact == "audio.0.codec" },
        "\(media.warnings)")
      #expect(media.audio.count == 1 && media.audio.first?.sampleRate == nil, "\(media.audio)")
    }
  }

  /// Only the name of the codec is another.
  @Test(
    .needsFFmpeg,
    arguments: [
      ("a.mkv", "aac", "A_AAC", "A_AC3"), ("a.mkv", "aac", "A_AAC", "A_DTS"),
      ("a.mkv", "alac", "A_ALAC", "A_EAC3"), ("a.mkv", "libopus", "A_OPUS", "A_ALAC"),
      ("a.mkv", "libmp3lame", "A_MPEG/L3", "A_DTS"),
      ("a.mkv", "mp2", "A_MPEG/L2", "A_EAC3"), ("a.mkv", "pcm_s16le", "A_PCM/INT/LIT", "A_MPEG/L3"),
      ("a.mkv", "pcm_s16le", "A_PCM/INT/LIT", "A_AC3"), ("a.mkv", "pcm_s16be", "A_PCM/INT/BIG", "A_DTS"),
      ("a.mkv", "pcm_s16le", "A_PCM/INT/LIT", "A_ALAC"),
    ])
  func aNameInMatroska(made: (name: String, codec: String, own: String, other: String)) throws {
    try expectDoubt(made.name, made.codec, Array(made.own.utf8), Array(made.other.utf8))
  }

  /// The numbers of WAVE formats: MPEG audio, AC-3, DTS, AAC; 16 bits.
  @Test(
    .needsFFmpeg,
    arguments: [
      ("aac", 0xFF, 0x55), ("aac", 0xFF, 0x2000), ("aac", 0xFF, 0x2001), ("libmp3lame", 0x55, 0x2000),
      ("mp2", 0x50, 0x2001), ("pcm_s16le", 1, 0x55), ("wmav2", 0x161, 0x50),
      ("pcm_mulaw", 7, 0x2001),
    ])
  func aFormatInAnAVI(made: (codec: String, own: UInt16, other: UInt16)) throws {
    let (own, other) = (UInt8(made.own >> 8), UInt8(made.other >> 8))
    // The format of the pictures comes first.
    try expectDoubt(
      "a.avi", made.codec, [UInt8(made.own & 0xFF), own], [UInt8(made.other & 0xFF), other],
      behind: ["auds", "strf"])
  }

  /// DTS has the object type 0xA9.
  @Test(.needsFFmpeg, arguments: [("aac", 0x40), ("libmp3lame", 0x6B), ("mp2", 0x6B)] as [(String, UInt8)])
  func anObjectTypeInAnMP4(made: (codec: String, own: UInt8)) throws {
    try expectDoubt("a.mp4", made.codec, [made.own, 0x15], [0xA9, 0x15], behind: ["esds"])
  }

  /// Expects no warning about a file as it is made, and one about the codec of its sound once `own` is replaced.
  private func expectDoubt(
    _ name: String, _ codec: String, _ own: [UInt8], _ other: [UInt8], behind marks: [String] = []
  ) throws {
    let noise = ["-f", "lavfi", "-i", "aevalsrc=0.3*sin(2765*t)+0.1*random(0)|0.2*sin(2073*t):s=48000:d=2"]
    let made = try FFmpegTool.make(name, FFmpegTool.picture + noise + ["-c:v", "mpeg4", "-c:a", codec])
    var bytes = made.allBytes
    for media in try allWays(bytes) { #expect(media.warnings.isEmpty, "\(media.warnings)") }
    var place = 0
    for mark in marks.map({ Array($0.utf8) }) + [own] {
      place = try #require(bytes[place...].firstRange(of: mark)?.lowerBound)
    }
    let padded = other + [UInt8](repeating: 0, count: own.count - other.count)
    bytes.replaceSubrange(place..<(place + own.count), with: padded)
    for media in try allWays(bytes) {
      #expect(
        media.warnings.contains { $0.code == .claimUnchecked && $0.fact == "audio.0.codec" },
        "\(media.audio) \(media.warnings)")
    }
  }

  @Test(
    .needsFFmpeg,
    arguments: ["a.mp4", "a.mkv", "a.flv", "a.avi", "a.wmv"])
  func ofTwoChannelsAreNotOne(name: String) throws {
    let coded = ["-c:v", "mpeg4", "-c:a", "aac", "-ac", "2", "-bsf:a", "aac_adtstoasc"]
    let picture = name == "a.flv" ? ["-c:v", "flv"] : []
    let made = try FFmpegTool.make(name, FFmpegTool.picture + FFmpegTool.tone + coded + picture)
    let bytes = made.allBytes
    let place = try #require(bytes.position(of: [0x12, 0x10, 0x56, 0xE5, 0x00]))
    for media in try allWays(bytes) {
      #expect(media.audio.map(\.channels) == [2])
      #expect(!media.warnings.contains { $0.code == .soundMismatch }, "\(media.warnings)")
    }
    for arrangement: UInt8 in [1, 6] {
      var changed = bytes
      changed[place + 1] = 0x10 & 0x87 | arrangement << 3
      for media in try allWays(changed) {
        #expect(media.audio.map(\.channels) == [2], "\(arrangement)")
        #expect(
          media.warnings.contains { $0.code == .soundMismatch && $0.fact == "audio.0.channels" },
          "\(media.warnings)")
      }
    }
  }

  @Test(
    .needsFFmpeg,
    arguments: [1, 2, 3, 4, 5, 6, 8], ["a.mp4", "a.mkv"])
  func rightRecordsAreBelieved(channels: Int, name: String) throws {
    let coded = ["-c:v", "mpeg4", "-c:a", "aac", "-ac", "\(channels)"]
    let made = try FFmpegTool.make(name, FFmpegTool.picture + FFmpegTool.tone + coded)
    for media in try allWays(made.allBytes) {
      #expect(media.audio.map(\.channels) == [channels])
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Without the record, only the sample entry states the channels, and it usually says 2.
  @Test func withoutARecordChannelsAreUnknown() throws {
    var bytes = try Self.clip("faststart.mp4")
    let place = try #require(bytes.position(of: "esds"))
    for (offset, byte) in "free".utf8.enumerated() { bytes[place + offset] = byte }
    for media in try allWays(bytes) {
      #expect(media.audio == [AudioFacts(codec: "aac", sampleRate: 44_100)])
    }
    // The frames do not follow each other at the claimed rate.
    var movie = MovieBytes(bytes)
    let entry = try #require(movie.entry(of: "soun"))
    movie.write(32_000 << 16, at: entry + 32)
    for media in try allWays(movie.bytes) { #expect(media.audio == [AudioFacts(codec: "aac")]) }
  }

  // MARK: Timestamps

  private static func made(_ name: String, _ more: [String] = []) throws -> [UInt8] {
    let coded =
      ["-c:v", name == "a.flv" ? "flv" : "mpeg4", "-c:a", "aac", "-ac", "1", "-ar", "48000"] + more
    return try FFmpegTool.make(name, FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
  }

  /// The AAC LC record with one channel at 48 kHz, with another rate index.
  private static func changed(_ bytes: [UInt8], rate index: UInt8) throws -> [UInt8] {
    let place = try #require(bytes.position(of: [0x11, 0x88, 0x56, 0xE5, 0x00]))
    var changed = bytes
    (changed[place], changed[place + 1]) = (0x10 | index >> 1, index << 7 | 0x08)
    return changed
  }

  @Test(
    .needsFFmpeg, arguments: ["a.mkv", "a.flv"],
    [(0, 96_000), (4, 44_100), (6, 24_000)] as [(UInt8, Double)])
  func aRateThatTheTimesContradict(name: String, lie: (index: UInt8, rate: Double)) throws {
    let bytes = try Self.made(name)
    for (media, original) in zip(
      try allWays(Self.changed(bytes, rate: lie.index)), try allWays(bytes))
    {
      #expect(original.warnings.isEmpty, "\(original.warnings)")
      #expect(media.duration == original.duration && media.durationSource == original.durationSource)
      #expect(media.video?.frameRate?.description == "25/1")
      #expect(media.audio == [AudioFacts(codec: "aac", channels: 1, sampleRate: 48_000)])
      #expect(media.warnings.count == 1, "\(media.warnings)")
      let warning = try #require(media.warnings.first)
      #expect(warning.code == .soundMismatch && warning.fact == "audio.0.sampleRate")
      #expect(warning.stated == .number(lie.rate) && warning.measured == .number(48_000))
    }
  }

  /// If `onMetaData` states the same rate, nothing shows which one is right.
  @Test(.needsFFmpeg)
  func aRateThatOnlyTheTimesContradict() throws {
    let bytes = try Self.made("a.flv")
    var changed = try Self.changed(bytes, rate: 4)
    let place = try #require(changed.position(of: "audiosamplerate")) + 16
    for (offset, byte) in [0x40, 0xE5, 0x88, 0x80, 0, 0, 0, 0].enumerated() {
      changed[place + offset] = UInt8(byte)
    }
    for media in try allWays(changed) {
      #expect(media.audio.map(\.sampleRate) == [44_100])
      let facts = ["audio.0.sampleRate", "duration", "video.frameRate"]
      #expect(media.warnings.map(\.fact) == facts, "\(media.warnings)")
      #expect(media.warnings.allSatisfy { $0.code == .claimUnchecked })
    }
  }

  /// The audio still reveals a wrong clock: the pictures' own step is in nanoseconds.
  @Test(.needsFFmpeg)
  func aClockThatTheSoundContradicts() throws {
    var bytes = try Self.made("a.mkv")
    let place = try #require(bytes.position(of: [0x2A, 0xD7, 0xB1, 0x83]))
    bytes.replaceSubrange((place + 4)..<(place + 7), with: [0x1E, 0x84, 0x80])
    for media in try allWays(bytes) {
      #expect(abs((media.duration ?? 0) - 2) < 0.1)
      #expect(media.video?.frameRate?.description == "25/1")
      #expect(media.audio.map(\.sampleRate) == [48_000])
      #expect(media.warnings.map(\.code) == [.durationMismatch], "\(media.warnings)")
    }
  }

  /// FLAC's record has 3 bits for the channels, after 20 for the rate; ALAC's has one byte after four others.
  @Test(
    .needsFFmpeg,
    arguments: [("a.mp4", "flac"), ("a.mkv", "flac"), ("a.m4a", "alac"), ("a.mkv", "alac")], [1, 2, 6])
  func losslessChannelsAreThoseOfTheFrames(made: (name: String, codec: String), stated: Int) throws {
    let coded = [
      "-c:a", made.codec, "-ac", "2", "-sample_fmt", made.codec == "flac" ? "s16" : "s16p", "-strict", "-2",
    ]
    let file = try FFmpegTool.make(made.name, FFmpegTool.tone + coded)
    var bytes = file.allBytes
    if made.codec == "flac" {
      let rate = try #require(bytes.position(of: [0x0A, 0xC4, 0x42, 0xF0])) + 2
      bytes[rate] = bytes[rate] & 0xF1 | UInt8(stated - 1) << 1
    } else {
      let depth = try #require(bytes.position(of: [0, 16, 40, 10, 14, 2]))
      bytes[depth + 5] = UInt8(stated)
    }
    for media in try allWays(bytes) {
      #expect(media.audio.map(\.channels) == [2], "\(media.audio)")
      #expect(media.warnings.map(\.code) == (stated == 2 ? [] : [.soundMismatch]), "\(media.warnings)")
    }
  }

  /// A codec name that the timestamps contradict changes neither the duration nor the frame rate.
  @Test(.needsFFmpeg)
  func aNameThatTheTimesContradict() throws {
    var bytes = try Self.made("a.mkv")
    let place = try #require(bytes.position(of: "A_AAC"))
    // The element keeps its five bytes, so the name is `A_OPU`, not `A_OPUS`.
    for (offset, byte) in "A_OPU".utf8.enumerated() { bytes[place + offset] = byte }
    for media in try allWays(bytes) {
      #expect(abs((media.duration ?? 0) - 2) < 0.1 && media.video?.frameRate?.description == "25/1")
    }
  }

  /// Frames of other lengths than 1024 samples are no other rate. The clock is scaled to their duration.
  @Test(
    .needsFFmpeg,
    arguments: [
      // AAC LC with 960 samples, ELD with 512, USAC, which states it elsewhere, and band replication at the core's own
      // rate.
      ([0x11, 0x8C, 0x56, 0xE5, 0x00], 937_500, 48_000), ([0xF8, 0xE6, 0x20, 0x00, 0x00], 500_000, 48_000),
      ([0xF9, 0x46, 0x20, 0x00, 0x00], 2_000_000, 48_000),
      ([0x29, 0x89, 0x88, 0x00, 0x00], 1_000_000, 48_000),
    ] as [([UInt8], UInt32, Int)])
  func framesOfOtherLengths(record: [UInt8], scale: UInt32, rate: Int) throws {
    let coded = ["-c:a", "aac", "-ac", "1", "-ar", "48000"]
    var bytes = try FFmpegTool.make("a.mka", FFmpegTool.tone + coded).allBytes
    let place = try #require(bytes.position(of: [0x11, 0x88, 0x56, 0xE5, 0x00]))
    bytes.replaceSubrange(place..<(place + 5), with: record)
    let clock = try #require(bytes.position(of: [0x2A, 0xD7, 0xB1, 0x83]))
    bytes.replaceSubrange((clock + 4)..<(clock + 7), with: SmallMovie.u32(scale).dropFirst())
    let file = try #require(OpenFile(holding: bytes))
    let media = try file.read(as: .matroska).media
    #expect(media.audio.map(\.sampleRate) == [rate])
    #expect(abs((media.duration ?? 0) - 2 * Double(scale) / 1e6) < 0.1, "\(media.duration ?? 0)")
    #expect(
      !media.warnings.contains { [.soundMismatch, .durationMismatch].contains($0.code) }, "\(media.warnings)")
  }

  /// In QuickTime a sample may be a block of uncompressed audio, as telephone recorders and cameras write it.
  @Test(
    .needsFFmpeg,
    arguments: [("pcm_alaw", 1), ("pcm_s16le", 2)])
  func blocksOfPlainSoundAreNoChannels(codec: String, width: UInt64) throws {
    let block: UInt64 = 160
    let tone = ["-f", "lavfi", "-i", "sine=sample_rate=8000:duration=2", "-af", "asetnsamples=160"]
    let made = try FFmpegTool.make("a.mov", tone + ["-c:a", codec])
    var movie = MovieBytes(made.allBytes)
    let table = "moov/trak/mdia/minf/stbl/"
    let times = try #require(movie.box(table + "stts"))
    let count = movie.number(at: times + 8) / block
    movie.write(count, at: times + 8)
    movie.write(block, at: times + 12)
    let sizes = try #require(movie.box(table + "stsz"))
    movie.write(block * width, at: sizes + 4)
    movie.write(count, at: sizes + 8)
    let chunks = try #require(movie.box(table + "stsc"))
    for run in 0..<Int(movie.number(at: chunks + 4)) {
      let samples = movie.number(at: chunks + 8 + 12 * run + 4)
      #expect(samples % block == 0)
      movie.write(samples / block, at: chunks + 8 + 12 * run + 4)
    }
    for media in try allWays(movie.bytes) {
      #expect(media.audio == [AudioFacts(codec: codec, channels: 1, sampleRate: 8000)])
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Uncompressed audio that was cut at a sample: its first block is shorter or longer than the others.
  @Test(.needsFFmpeg, arguments: [256, 1000])
  func aFirstBlockOfAnotherSizeIsNoOtherRate(samples: Int) throws {
    let cut = ["-af", "asetnsamples=1024,atrim=start_sample=\(1024 - samples)", "-c:v", "mpeg4"]
    let coded = cut + ["-ar", "48000", "-ac", "1", "-c:a", "pcm_s16le"]
    var bytes = try FFmpegTool.make("a.mkv", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    for media in try allWays(bytes) {
      #expect(!media.warnings.contains { $0.code == .soundMismatch }, "\(media.warnings)")
    }
    // The number of channels in the track's audio element.
    let place = try #require(bytes.position(of: [0x9F, 0x81, 0x01]))
    bytes[place + 2] = 2
    for media in try allWays(bytes) {
      #expect(media.warnings.contains { $0.code == .soundMismatch }, "\(media.warnings)")
    }
  }

  /// Each Opus packet states its duration, and the next may have another (RFC 6716, 3.1).
  @Test(
    .needsFFmpeg, arguments: ["a.mkv", "a.webm"],
    [(60, 20), (60, 10), (10, 60)])
  func packetsOfOpusDifferInLength(name: String, milliseconds: (first: Int, then: Int)) throws {
    func made(_ milliseconds: Int) throws -> [UInt8] {
      let coded = ["-c:a", "libopus", "-frame_duration", "\(milliseconds)", "-cluster_time_limit", "60000"]
      return try FFmpegTool.make("a.mka", FFmpegTool.tone + coded).allBytes
    }
    let lengths = [milliseconds.first, milliseconds.then]
    let parts = try lengths.map(made)
    let blocks = try parts.map { part in
      let file = BytesInMemory(all: part)
      let segment = try #require(EBMLElement.segment(in: file))
      let cluster = try #require(segment.children(in: file).first { $0.id == MatroskaID.cluster })
      return cluster.children(in: file).filter { $0.id == MatroskaID.simpleBlock }.dropLast(3).map {
        Array(part[Int($0.contents) + 4..<Int($0.end ?? 0)])
      }
    }
    var (time, found): (Int, [UInt8]) = (0, [])
    for (length, own) in zip(lengths, blocks) {
      for block in own {
        let head: [UInt8] = [0x81, UInt8(time >> 8), UInt8(time & 255), 0x80]
        found += SmallMatroska.element(MatroskaID.simpleBlock, head + block)
        time += length
      }
    }
    let file = BytesInMemory(all: parts[0])
    let segment = try #require(EBMLElement.segment(in: file))
    let kept = segment.children(in: file).filter { [MatroskaID.info, MatroskaID.tracks].contains($0.id) }
    let head = kept.flatMap {
      SmallMatroska.element($0.id, Array(parts[0][Int($0.contents)..<Int($0.end ?? 0)]))
    }
    let cluster = SmallMatroska.element(
      MatroskaID.cluster, SmallMatroska.element(MatroskaID.timestamp, [0]) + found)
    let start = try #require(EBMLElement(file, at: 0)?.end)
    var bytes = Array(parts[0][..<Int(start)]) + SmallMatroska.element(MatroskaID.segment, head + cluster)
    if name == "a.webm", let place = bytes.position(of: "matroska") {
      bytes.replaceSubrange(place..<(place + 8), with: Array("webm\0\0\0\0".utf8))
    }
    for media in try allWays(bytes) {
      #expect(!media.warnings.contains { $0.code == .soundMismatch }, "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - Double(time) / 1000) < 0.1, "\(media.duration ?? 0)")
    }
  }

  /// MP4's own kind of uncompressed audio states the sample size in a box (ISO/IEC 23003-5).
  @Test(
    .needsFFmpeg,
    arguments: [
      ("pcm_s16be", "ipcm", 16), ("pcm_s24be", "ipcm", 24), ("pcm_s32be", "ipcm", 32),
      ("pcm_f32be", "fpcm", 32), ("pcm_s24le", "ipcm", 24),
    ], [1, 2, 6])
  func plainSoundIsAsItsBoxSays(sound: (codec: String, name: String, bits: UInt8), channels: Int) throws {
    let coded = ["-c:v", "mpeg4", "-ar", "48000", "-ac", "\(channels)", "-c:a"]
    let isLittle = sound.codec.hasSuffix("le")
    // QuickTime has longer sample entries for the other byte order.
    let made = isLittle ? String(sound.codec.dropLast(2) + "be") : sound.codec
    let file = try FFmpegTool.make("a.mov", FFmpegTool.picture + FFmpegTool.tone + coded + [made])
    var movie = MovieBytes(file.allBytes)
    let entry = try #require(movie.entry(of: "soun"))
    let size = movie.number(at: entry)
    let box = SmallMovie.u32(14) + Array("pcmC".utf8) + [0, 0, 0, 0, isLittle ? 1 : 0, sound.bits]
    let isThere = movie.insert(
      box, at: entry + Int(size), in: "moov/trak/mdia/minf/stbl/stsd", track: 1)
    try #require(isThere)
    movie.write(size + 14, at: entry)
    for (offset, byte) in sound.name.utf8.enumerated() {
      movie.write(UInt64(byte), at: entry + 4 + offset, bytes: 1)
    }
    for media in try allWays(movie.bytes) {
      #expect(media.audio == [AudioFacts(codec: sound.codec, channels: channels, sampleRate: 48_000)])
      #expect(media.warnings.isEmpty && media.truncated == false, "\(media.warnings)")
    }
  }

  /// FFmpeg keeps ADTS in AVI and ASF without a record; the first frame doubles its rate implicitly.
  @Test(
    .needsFFmpeg, .enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS"),
    arguments: ["a.avi", "a.wmv", "a.mkv"])
  func theRateOfAACInADTSIsWhatIsHeard(name: String) throws {
    let folder = try #require(Corpus.beside?.folder)
    let path = folder + "/Vanilagy+mediabunny/no-initial-keyframe.ts"
    let arguments = ["-i", path, "-map", "0:v", "-map", "0:a", "-c", "copy"]
    let made = try FFmpegTool.make(name, arguments)
    for media in try allWays(made.allBytes) { #expect(media.audio.map(\.sampleRate) == [44_100]) }
  }

  // MARK: Pictures and audio

  /// Makes a file with all timestamps of pictures and audio, and all headers, stretched by one factor.
  private static func stretched(_ name: String, by factor: Double, _ coded: [String]) throws -> [UInt8] {
    let times = "setts=pts=PTS*\(factor):dts=DTS*\(factor):duration=DURATION*\(factor)"
    let flags = name == "fragments.mp4" ? ["-movflags", "frag_keyframe+empty_moov+delay_moov"] : []
    let encoded = try FFmpegTool.make(
      name, FFmpegTool.picture + FFmpegTool.tone + coded + ["-strict", "-2", "-ar", "48000"] + flags)
    // Behind an encoder, FFmpeg 7 counts in frames, which half a frame does not fit.
    let input = ["-i", encoded.path, "-c", "copy", "-strict", "-2"]
    return try FFmpegTool.make(name, input + ["-bsf:v", times, "-bsf:a", times] + flags).allBytes
  }

  private static func coded(_ pictures: String, _ sound: String) -> [String] {
    ["-c:v", pictures, "-c:a", sound]
  }

  /// Expects each fact about time to be right or named in a warning.
  private func expectNoLie(_ media: MediaInfo, _ what: String) {
    func isNamed(_ fact: String) -> Bool { media.warnings.contains { $0.fact == fact } }
    #expect(abs((media.duration ?? 0) - 2) < 0.15 || isNamed("duration"), "\(what): \(media.warnings)")
    let rate = media.video?.frameRate?.value ?? 0
    #expect(abs(rate - 25) < 0.3 || isNamed("video.frameRate"), "\(what) \(rate): \(media.warnings)")
  }

  @Test(
    .needsFFmpeg,
    arguments: [
      ("a.ts", coded("libx264", "mp2")), ("a.ts", coded("mpeg2video", "aac")),
      ("a.ts", coded("mpeg4", "ac3")), ("a.m2ts", coded("libx264", "ac3")),
      ("a.mpg", coded("mpeg2video", "mp2")), ("a.wmv", coded("wmv2", "wmav2")),
      ("a.wmv", coded("wmv2", "libmp3lame")), ("a.mp4", coded("libx264", "aac")),
      ("a.mp4", coded("mpeg4", "libmp3lame")), ("a.mp4", coded("mpeg4", "ac3")),
      ("a.mp4", coded("mpeg4", "eac3")), ("a.mp4", coded("mpeg4", "dca")),
      ("a.mp4", coded("mpeg4", "libopus")), ("fragments.mp4", coded("mpeg4", "aac")),
      ("fragments.mp4", coded("mpeg4", "libmp3lame")), ("a.mkv", coded("libx264", "aac")),
      ("a.mkv", coded("mpeg4", "eac3")), ("a.mkv", coded("mpeg4", "dca")),
      ("a.flv", coded("flv", "aac")), ("a.flv", coded("flv", "libmp3lame")),
    ], [2, 1.05, 1.024, 0.5, 1])
  func aClockThatIsWrongForAllIsNamed(made: (name: String, coded: [String]), factor: Double) throws {
    // A smaller factor would leave too few packets to reveal the wrong clock.
    let bytes = try Self.stretched(made.name, by: factor, made.coded)
    for media in try allWays(bytes) {
      expectNoLie(media, "\(made) \(factor)")
      if factor == 1 { #expect(media.warnings.isEmpty, "\(made): \(media.warnings)") }
      // The frames state the rate, whatever the clock.
      if made.coded.last != "aac", made.name != "a.flv" {
        #expect(media.audio.map(\.sampleRate) == [48_000], "\(made) \(factor)")
      }
    }
  }

  /// Pictures at their stated rate refute it, however slightly the audio is off.
  @Test(.needsFFmpeg, arguments: [1.013, 0.984])
  func soundThatIsALittleOffChangesNoPictures(factor: Double) throws {
    let times = "setts=pts=PTS*\(factor):dts=DTS*\(factor):duration=DURATION*\(factor)"
    let coded = Self.coded("libx264", "aac") + ["-ar", "48000", "-bsf:a", times]
    let bytes = try FFmpegTool.make("a.mkv", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    for media in try allWays(bytes) {
      #expect(media.video?.frameRate?.description == "25/1" && abs((media.duration ?? 0) - 2) < 0.1)
    }
  }

  /// Lost packets take their time with them.
  @Test(.needsFFmpeg, arguments: ["eac3", "dca"])
  func lostPacketsAreNoOtherClock(codec: String) throws {
    let coded = Self.coded("mpeg4", codec) + ["-strict", "-2", "-ar", "48000"]
    let bytes = try FFmpegTool.make("a.ts", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    var (left, sound): ([UInt8], Int) = ([], 0)
    for start in stride(from: 0, to: bytes.count - 187, by: 188) {
      // Packets of the second stream.
      let isSound = bytes[start + 1] & 0x1F == 1 && bytes[start + 2] == 1
      sound += isSound ? 1 : 0
      if !isSound || sound % 10 != 0 { left += bytes[start..<(start + 188)] }
    }
    #expect(left.count < bytes.count)
    for media in try allWays(left) {
      #expect(!media.warnings.contains { $0.message.contains("by their codec") }, "\(media.warnings)")
    }
  }

  /// Packets with their start times and frame durations: with gaps, or all of them slow.
  @Test func aClockIsOffEverywhere() {
    func pace(_ count: Int, _ time: (Int) -> Int64?) -> Double? {
      var packets = SoundPackets()
      for number in 0..<count { packets.add(time(number), lasting: 0.02) }
      return packets.pace(in: AVRational(num: 1, den: 1000))
    }
    #expect(pace(500) { Int64($0) * 20 } == 1)
    #expect(pace(500) { Int64($0) * 40 }.map { abs($0 - 2) < 0.01 } == true)
    // Eight frames share a packet, of which only the first has a timestamp.
    #expect(pace(500) { $0 % 8 == 0 ? Int64($0) * 40 : nil }.map { abs($0 - 2) < 0.01 } == true)
    // Two seconds of audio, then one second without.
    #expect(pace(1500) { Int64($0) * 20 + Int64($0 / 100) * 1000 } == nil)
    #expect(pace(40) { Int64($0) * 40 } == nil)
  }

  /// Audio tags that share the timestamp of the first of them.
  @Test(.needsFFmpeg, arguments: [2, 8])
  func soundInGroupsIsNoOtherClock(group: Int) throws {
    var bytes = try FFmpegTool.make(
      "a.flv", FFmpegTool.picture + FFmpegTool.tone + Self.coded("flv", "aac") + ["-ar", "48000"]
    ).allBytes
    var (next, number, time): (Int, Int, [UInt8]) = (13, 0, [])
    while next + 11 < bytes.count {
      let length = bytes[(next + 1)..<(next + 4)].reduce(0) { $0 << 8 | Int($1) }
      if bytes[next] == 8, bytes[next + 12] == 1 {
        if number % group == 0 { time = Array(bytes[(next + 4)..<(next + 8)]) }
        bytes.replaceSubrange((next + 4)..<(next + 8), with: time)
        number += 1
      }
      next += 15 + length
    }
    for media in try allWays(bytes) {
      #expect(!media.warnings.contains { $0.fact == "duration" }, "\(media.warnings)")
    }
  }

  /// All edit rates of the pictures are changed, which the audio beside them refutes; an absurd audio length does not
  /// count as such.
  @Test(.needsFFmpeg) func soundBesideAPictureOfAnMXF()
    throws
  {
    let coded = ["-c:v", "mpeg2video", "-g", "1", "-c:a", "pcm_s16le", "-ar", "48000"]
    let made = try FFmpegTool.make("a.mxf", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    func told(_ bytes: [UInt8]) throws -> [MediaWarning] {
      try #require(OpenFile(holding: bytes)).read(as: .mxf).media.warnings
    }
    #expect(try told(made).isEmpty)
    var lying = made
    for place in made.indices.dropLast(7)
    where made[place..<(place + 8)].elementsEqual([0, 0, 0, 25, 0, 0, 0, 1]) {
      lying[place + 3] = 50
    }
    #expect(try told(lying).contains { $0.fact == "duration" })
    var long = made
    let key: [UInt8] = [0x06, 0x0E, 0x2B, 0x34, 1, 2, 1, 1, 0x0D, 1, 3, 1, 0x16]
    let place = try #require(made.position(of: key)) + 16
    try #require(made[place] == 0x83 || made[place] == 0x84)
    for byte in 1...Int(made[place] & 15) { long[place + byte] = 0xFF }
    #expect(try !told(long).contains { $0.message.contains("lasts as long as a picture at") })
  }

  /// The FLV's record and `onMetaData` agree; only the clock is wrong.
  @Test(.needsFFmpeg, arguments: [2, 0.5, 1.05])
  func aRateThatAllButTheTimesStateIsKept(factor: Double) throws {
    let bytes = try Self.stretched("a.flv", by: factor, Self.coded("flv", "aac"))
    for media in try allWays(bytes) {
      #expect(media.audio.map(\.sampleRate) == [48_000], "\(media.warnings)")
      #expect(Set(media.warnings.map(\.fact)).isSuperset(of: ["duration", "video.frameRate"]))
    }
  }

  @Test(
    .needsFFmpeg,
    arguments: [
      ("a.mov", coded("libx264", "pcm_s16le")), ("a.mp4", coded("libx264", "libmp3lame")),
      ("a.mp4", coded("libx264", "libopus")),
    ], [2, 0.5])
  func timescalesThatAreAllWrongAreNamed(made: (name: String, coded: [String]), factor: Double) throws {
    let inputs = FFmpegTool.picture + FFmpegTool.tone
    let file = try FFmpegTool.make(made.name, inputs + made.coded + ["-ar", "48000"])
    var movie = MovieBytes(file.allBytes)
    for media in try allWays(movie.bytes) { #expect(media.warnings.isEmpty, "\(media.warnings)") }
    let places = [
      movie.box("moov/mvhd"), movie.box("moov/trak/mdia/mdhd"), movie.box("moov/trak/mdia/mdhd", track: 1),
    ].compactMap { $0.map { $0 + 12 } }
    for place in places { movie.write(UInt64(Double(movie.number(at: place)) * factor), at: place) }
    for media in try allWays(movie.bytes) { expectNoLie(media, "\(made) \(factor)") }
  }

  /// Pictures and audio in Ogg share a clock; a Vorbis packet lasts at most half a block.
  @Test(.needsFFmpeg)
  func pagesOfSoundThatLastTooLongAreNamed() throws {
    let bytes = try Self.stretched("a.ogv", by: 2, Self.coded("libtheora", "libvorbis"))
    for media in try allWays(bytes) { expectNoLie(media, "ogv") }
  }

  /// Opus has one rate only, and a `DefaultDuration` that was changed with the clock confirms nothing.
  @Test(.needsFFmpeg)
  func aClockThatOpusContradictsIsNamed() throws {
    let inputs = FFmpegTool.picture + FFmpegTool.tone
    var bytes = try FFmpegTool.make("a.webm", inputs + Self.coded("libvpx", "libopus")).allBytes
    for media in try allWays(bytes) { #expect(media.warnings.isEmpty, "\(media.warnings)") }
    for (mark, number) in [
      ([0x2A, 0xD7, 0xB1, 0x83], [0x1E, 0x84, 0x80]), ([0x23, 0xE3, 0x83, 0x84], [0x04, 0xC4, 0xB4, 0x00]),
    ] as [([UInt8], [UInt8])] {
      let place = try #require(bytes.position(of: mark)) + mark.count
      bytes.replaceSubrange(place..<(place + number.count), with: number)
    }
    for media in try allWays(bytes) {
      for fact in ["duration", "video.frameRate"] {
        #expect(media.warnings.contains { $0.fact == fact }, "\(fact): \(media.warnings)")
      }
    }
  }

  // MARK: FLV

  /// The tags of a dump that begins in the middle of a stream, without the audio header.
  @Test(.needsFFmpeg)
  func theFlagsOfTagsSayNothingOfAAC() throws {
    let bytes = try Self.made("a.flv")
    var (kept, next) = (Array(bytes.prefix(13)), 13)
    while next + 15 <= bytes.count {
      let length = bytes[(next + 1)..<(next + 4)].reduce(0) { $0 << 8 | Int($1) }
      let end = next + 11 + length + 4
      guard end <= bytes.count else { break }
      if !(bytes[next] == 8 && bytes[next + 11] >> 4 == 10 && bytes[next + 12] == 0) {
        kept += bytes[next..<end]
      }
      next = end
    }
    #expect(kept.count < bytes.count)
    for media in try allWays(kept) { #expect(media.audio == [AudioFacts(codec: "aac")]) }
  }
}
