import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Files whose header does not state their duration, or states a wrong one.
@Suite(.notQuick, .needsFFmpeg)
struct DurationTests {
  private static let h264 = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "10"]
  private static let vp8 = ["-c:v", "libvpx", "-pix_fmt", "yuv420p"]

  private func make(_ name: String, _ arguments: [String]) throws -> OpenFile {
    try FFmpegTool.make(name, FFmpegTool.picture + arguments)
  }

  /// As a browser's recorder writes it.
  @Test func aLiveWebMIsCountedByItsPackets() throws {
    let file = try make("a.webm", Self.vp8 + ["-live", "1"])
    let reading = try file.read(as: .webm)
    #expect(reading.method != .full)
    #expect(reading.media.durationSource == .packets)
    #expect(abs((reading.media.duration ?? 0) - 2) < 0.1)
    #expect(reading.media.video?.hasSamples == true)
    #expect(reading.media.truncated != true)
  }

  /// Subtitles and metadata may last longer than the pictures. The movie's header rightly counts them.
  @Test(arguments: ["a.mp4", "a.mov"]) func whatOutlastsThePicturesIsNotShown(name: String) throws {
    let text = try TemporaryFolder()
    try text.write(Array("1\n00:00:00,000 --> 00:10:00,000\nhello\n".utf8), to: "a.srt")
    let subtitles = ["-i", text.path(of: "a.srt"), "-c:s", "mov_text"]
    let file = try make(name, subtitles + Self.h264)
    for media in try file.readBothWays(as: #require(file.sniffed)) {
      #expect(abs((media.duration ?? 0) - 2) < 0.05, "\(media.duration ?? 0)")
      #expect(media.durationSource == .stream && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  @Test func whereTheLimitComesFirstTheRestIsEstimated() throws {
    // The file has more blocks than are scanned before the end is looked up, and clusters of unknown size, the last of
    // which is longer than the stretch searched for one. The limit on bytes leaves half of them for FFmpeg.
    let long = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=50:duration=50"]
    let few = ["-live", "1", "-g", "2000", "-b:v", "2M", "-cluster_time_limit", "30000"]
    let large = ["-cluster_size_limit", "50000000", "-deadline", "realtime", "-cpu-used", "8"]
    let file = try FFmpegTool.make("a.webm", long + Self.vp8 + few + large)
    let endless = try #require(OpenFile(holding: file.allBytes.withClustersOfUnknownSize))
    let limits = ReadingLimits(bytes: 6 << 20, seconds: 600, scannedPackets: 200)
    let media = try endless.read(as: .webm, limits: limits).media
    #expect(media.durationSource == .estimated)
    #expect(abs((media.duration ?? 0) - 50) < 15, "\(media.duration ?? 0)")
    let whole = try endless.read(as: .webm).media
    #expect(whole.durationSource == .packets && abs((whole.duration ?? 0) - 50) < 0.1)
  }

  /// A browser's recorder does not know how large a cluster will be.
  @Test func theLastClusterIsFoundWhereNoneSaysItsSize() throws {
    let long = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=60"]
    let file = try FFmpegTool.make("a.webm", long + Self.vp8 + ["-live", "1", "-g", "50"])
    let endless = try #require(OpenFile(holding: file.allBytes.withClustersOfUnknownSize))
    let media = try endless.read(as: .webm, limits: ReadingLimits(seconds: 600, scannedPackets: 500)).media
    #expect(media.durationSource == .packets)
    #expect(abs((media.duration ?? 0) - 60) < 0.1, "\(media.duration ?? 0)")
  }

  /// Pictures that wait for others are stored late, which makes no picture stay for longer: the two seconds before the
  /// first one do not count.
  @Test(arguments: ["a.flv", "a.wmv"])
  func fewPicturesInAnotherOrderLastAsLongAsTheyAre(name: String) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=1:duration=10"]
    let file = try FFmpegTool.make(name, picture + Self.h264 + ["-bf", "2"])
    let media = try file.read(as: #require(file.sniffed)).media
    #expect(abs((media.duration ?? 0) - 10) < 0.1, "\(media.duration ?? 0)")
    #expect(media.warnings.map(\.code) == [.durationMismatch], "\(media.warnings)")
    #expect(media.video?.frameRate?.description == "1/1")
  }

  @Test func anFLVWithoutMetadataIsCountedByItsTags() throws {
    let file = try make("a.flv", Self.h264 + ["-flvflags", "no_duration_filesize+no_metadata"])
    let media = try file.read(as: .flv).media
    #expect(media.durationSource == .packets)
    #expect(abs((media.duration ?? 0) - 2) < 0.1)
  }

  @Test(arguments: ["frag_keyframe+empty_moov+default_base_moof", "dash+global_sidx+frag_keyframe"])
  func fragmentsThatStartLateAreNoLonger(flags: String) throws {
    let arguments = Self.h264 + ["-bf", "2", "-output_ts_offset", "3900", "-movflags", flags]
    let file = try make("a.mp4", arguments)
    let media = try file.read(as: .mp4).media
    #expect(media.fragmented == true)
    #expect(abs((media.duration ?? 0) - 2) < 0.1, "\(media.duration ?? 0)")
    #expect(media.bitRate.map { $0 > 1000 } == true)
  }

  /// The header describes the samples in the index (ISO/IEC 14496-12, 8.8.2); any excess in it is wrong.
  @Test(arguments: [
    ["-g", "10"], ["-c:v", "mpeg4", "-g", "12", "-bf", "2"], ["-c:v", "mpeg2video", "-g", "12", "-bf", "2"],
  ])
  func aHeaderBesideFragmentsIsOfTheIndex(coded: [String]) throws {
    let arguments = Self.h264 + coded + ["-movflags", "frag_keyframe"]
    var bytes = try make("a.mp4", arguments).allBytes
    var media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect(abs((media.duration ?? 0) - 2) < 0.1, "\(media.duration ?? 0)")
    #expect(media.warnings == [])
    let header = try #require(bytes.position(of: "mvhd"))
    bytes.replaceSubrange((header + 20)..<(header + 24), with: [0, 0, 0x1F, 0x40])
    media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect(media.warnings.map(\.code) == [.durationMismatch], "\(media.warnings)")
  }

  /// All ones mean unknown (ISO/IEC 14496-12, 8.2.2.3); read as a number they are 49 days.
  @Test func fragmentsUnderAHeaderOfOnesAreCounted() throws {
    let arguments = Self.h264 + ["-movflags", "frag_keyframe+empty_moov"]
    var bytes = try make("a.mp4", arguments).allBytes
    let header = try #require(bytes.position(of: "mvhd"))
    bytes.replaceSubrange((header + 20)..<(header + 24), with: [0xFF, 0xFF, 0xFF, 0xFF])
    let media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect(abs((media.duration ?? 0) - 2) < 0.1)
    #expect(media.warnings == [])
  }

  /// One of the tracks begins three seconds later, by an edit list or by the timestamps of its fragments.
  @Test(arguments: [[0, 1], [1, 0]]) func fragmentsWaitAsOneIndexDoes(order: [Int]) throws {
    let inputs = [FFmpegTool.picture, FFmpegTool.tone]
    let late = ["-itsoffset", "3"] + inputs[order[0]] + inputs[order[1]] + Self.h264 + ["-c:a", "aac"]
    for flags in ["", "frag_keyframe+empty_moov", "frag_keyframe+empty_moov+delay_moov"] {
      let flags = flags.isEmpty ? [] : ["-movflags", flags]
      let file = try FFmpegTool.make("a.mp4", late + flags)
      for media in try file.readBothWays(as: .mp4) {
        #expect(abs((media.duration ?? 0) - 5) < 0.1, "\(flags)")
        #expect(media.warnings == [])
      }
    }
  }

  /// An excess from rounding would violate policies.
  @Test func evenSecondsOfFragmentsAreEven() throws {
    let source = [
      "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=6", "-f", "lavfi", "-i",
      "sine=duration=6:sample_rate=44100",
    ]
    let flags = ["-g", "25", "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+delay_moov"]
    let file = try FFmpegTool.make("a.mp4", source + Self.h264 + flags)
    for media in try file.readBothWays(as: .mp4) { #expect(media.duration == 6) }
  }

  /// An edit of zero duration lasts to the end of all fragments (ISO/IEC 14496-12, 8.6.6); one that ends earlier is
  /// reported.
  @Test func theEditListOfFragmentsCounts() throws {
    let arguments = Self.h264 + ["-bf", "2", "-movflags", "frag_keyframe+empty_moov+delay_moov"]
    let bytes = try make("a.mp4", arguments).allBytes
    let edit = try #require(bytes.position(of: "elst")) + 12
    func media(_ duration: UInt32, laterBy ticks: UInt32) throws -> MediaInfo {
      var bytes = bytes
      let start = bytes[edit + 4..<edit + 8].reduce(0) { $0 << 8 | UInt32($1) } + ticks
      for (place, number) in [(edit, duration), (edit + 4, start)] {
        withUnsafeBytes(of: number.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
      }
      return try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    }
    let whole = try media(0, laterBy: 0)
    #expect(abs((whole.duration ?? 0) - 2) < 0.01 && whole.warnings == [])
    let trimmed = try media(0, laterBy: 12800)
    #expect(abs((trimmed.duration ?? 0) - 1) < 0.01 && trimmed.warnings == [])
    let short = try media(1000, laterBy: 0)
    #expect(abs((short.duration ?? 0) - 2) < 0.01)
    #expect(short.warnings.map(\.code) == [.claimUnchecked] && short.warnings.first?.fact == "duration")
  }

  /// The durations of several edits are added up.
  @Test(arguments: [(1200, 800, false), (600, 600, true)])
  func severalEditsOfFragmentsCount(first: UInt64, second: UInt64, isShort: Bool) throws {
    let arguments = Self.h264 + ["-movflags", "frag_keyframe+empty_moov+delay_moov+default_base_moof"]
    let made = try make("a.mp4", arguments + ["-bf", "2"])
    var movie = MovieBytes(made.allBytes)
    let list = try #require(movie.box("moov/trak/edts/elst"))
    let entry = Array(movie.bytes[(list + 8)..<(list + 20)])
    let isThere = movie.insert(entry, at: list + 8, in: "moov/trak/edts/elst")
    #expect(isThere)
    let scale = movie.number(at: try #require(movie.box("moov/trak/mdia/mdhd")) + 12)
    movie.write(2, at: list + 4)
    movie.write(first, at: list + 8)
    movie.write(second, at: list + 20)
    movie.write(movie.number(at: list + 12) + first * scale / 1000, at: list + 24)
    let media = try #require(OpenFile(holding: movie.bytes)).read(as: .mp4).media
    #expect(abs((media.duration ?? 0) - 2) < 0.01, "\(media.duration ?? 0)")
    #expect(media.warnings.map(\.code) == (isShort ? [.claimUnchecked] : []), "\(media.warnings)")
    #expect(!isShort || media.warnings.first?.stated == .number(Double(first + second) / 1000))
  }

  @Test func fragmentsThatAreCutAreTruncated() throws {
    let arguments = Self.h264 + ["-movflags", "frag_keyframe+empty_moov"]
    let bytes = try make("a.mp4", arguments).allBytes
    let half = try #require(OpenFile(holding: Array(bytes.prefix(bytes.count / 2))))
    let media = try half.read(as: .mp4).media
    #expect(media.truncated == true)
    #expect((media.duration ?? 0) < 1.7)
  }

  @Test func unevenFramesAreVariable() throws {
    let uneven = ["-vf", "select='not(mod(n,5))+lt(n,25)'", "-fps_mode", "vfr"]
    let file = try make("a.mp4", uneven + Self.h264)
    for media in try file.readBothWays(as: .mp4) {
      #expect(media.video?.variableFrameRate == true)
    }
  }

  /// As in files remuxed from Matroska.
  @Test(arguments: [60, 120, 240], ["", "frag_keyframe+empty_moov"]) func timesInMillisecondsAreEven(
    rate: Int, flags: String
  ) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=\(rate):duration=4"]
    let flags = flags.isEmpty ? [] : ["-movflags", flags]
    let arguments = Self.h264 + ["-bf", "0", "-video_track_timescale", "1000"] + flags
    let even = try FFmpegTool.make("a.mp4", picture + arguments)
    let uneven = try FFmpegTool.make(
      "a.mp4", picture + ["-vf", "select='mod(n,10)'", "-fps_mode", "vfr"] + arguments)
    for media in try even.readBothWays(as: .mp4) {
      #expect(media.video?.variableFrameRate == false)
      #expect(media.video?.frameRate?.description == "\(rate)/1")
      #expect(media.warnings == [])
    }
    for media in try uneven.readBothWays(as: .mp4) { #expect(media.video?.variableFrameRate == true) }
  }

  /// Cut between two fragments: only the index before them shows that more should follow.
  @Test func fragmentsThatAnIndexMissesAreTruncated() throws {
    let arguments = Self.h264 + ["-g", "10", "-movflags", "dash+global_sidx+frag_keyframe"]
    let bytes = try make("a.mp4", arguments).allBytes
    #expect(try #require(OpenFile(holding: bytes)).read(as: .mp4).media.truncated == false)
    var (last, next) = (0, 0)
    while let place = bytes.position(of: "moof", notBefore: next) { (last, next) = (place - 4, place + 4) }
    let cut = try #require(OpenFile(holding: Array(bytes.prefix(last))))
    let media = try cut.read(as: .mp4).media
    #expect(media.truncated == true)
    #expect(media.presentDuration.map { $0 > 1 && $0 < 1.9 } == true, "\(media.presentDuration ?? 0)")
  }

  @Test(arguments: ["a.mp4", "a.mkv"]) func aCoverIsNoVideo(name: String) throws {
    let cover = ["-f", "lavfi", "-i", "color=red:size=32x32:duration=0.04"]
    let sound = try FFmpegTool.make(
      name,
      cover + FFmpegTool.tone + [
        "-map", "1:a", "-map", "0:v", "-c:a", "aac", "-c:v", "png", "-frames:v", "1", "-disposition:v:0",
        "attached_pic",
      ])
    let media = try sound.read(as: try #require(sound.sniffed)).media
    if name == "a.mp4" { #expect(media.video == nil) }
    #expect(media.audio.count == 1)
    let both = try FFmpegTool.make(
      "a.mp4",
      FFmpegTool.picture + cover + [
        "-map", "0:v", "-map", "1:v", "-c:v:0", "libx264", "-pix_fmt:v:0", "yuv420p", "-c:v:1", "png",
        "-frames:v:1", "1",
        "-disposition:v:1", "attached_pic",
      ])
    for media in try both.readBothWays(as: .mp4) {
      #expect(media.video?.hasCover == true)
      #expect(media.video?.streams == 1)
      #expect(media.video?.width == 64)
    }
  }
}

extension [UInt8] {
  /// The bytes of a Matroska file with unknown cluster sizes (RFC 8794, 6.2).
  fileprivate var withClustersOfUnknownSize: [UInt8] {
    let mark: [UInt8] = [0x1F, 0x43, 0xB6, 0x75]
    var (bytes, place) = (self, 0)
    while let cluster = bytes.position(of: mark, notBefore: place) {
      let width = bytes[cluster + 4].leadingZeroBitCount + 1
      bytes[cluster + 4] = UInt8.max >> UInt8(width - 1)
      for other in (cluster + 5)..<(cluster + 4 + width) { bytes[other] = 0xFF }
      place = cluster + 4 + width
    }
    return bytes
  }
}
