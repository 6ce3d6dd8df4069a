import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Good files in forms that common programs write, about which there is nothing to say.
@Suite(.needsFFmpeg)
struct ModernWriterTests {
  private static let picture = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=4"]
  private static let tone = ["-f", "lavfi", "-i", "sine=sample_rate=48000:duration=4"]
  private static let h264 = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25"]

  /// The last one stays when pictures and sound have ended.
  private static let subtitles = [
    "-f", "srt", "-i",
    "data:text/plain,1\n00:00:00,500 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> 00:00:09,000\nWorld\n",
  ]

  /// Subtitles in fragments may have a default duration that is longer than the others.
  @Test(arguments: ["frag_keyframe+empty_moov+default_base_moof", "cmaf"])
  func aSubtitleMayLast(flags: String) throws {
    let coded = Self.h264 + ["-c:a", "aac", "-c:s", "mov_text", "-movflags", flags]
    let file = try FFmpegTool.make("a.mp4", Self.picture + Self.tone + Self.subtitles + coded)
    for media in try file.readBothWays(as: .mp4) {
      #expect(media.warnings.isEmpty, "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 4) < 0.1, "\(media.duration ?? 0)")
    }
  }

  /// Matroska's duration counts subtitles, but 10 s is neither theirs nor that of the film.
  @Test func aSubtitleMayOutlastTheFilm() throws {
    let coded = Self.h264 + ["-c:a", "aac", "-c:s", "srt"]
    let file = try FFmpegTool.make("a.mkv", Self.picture + Self.tone + Self.subtitles + coded)
    for media in try file.readBothWays(as: .matroska) {
      #expect(media.warnings.isEmpty, "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 4) < 0.1, "\(media.duration ?? 0)")
    }
    var bytes = file.allBytes
    let duration = try #require(bytes.position(of: [0x44, 0x89, 0x88]))
    bytes.replaceSubrange((duration + 3)..<(duration + 11), with: [0x40, 0xC3, 0x88, 0, 0, 0, 0, 0])
    let wrong = try #require(OpenFile(holding: bytes)).read(as: .matroska).media
    #expect(wrong.warnings.map(\.code) == [.durationMismatch], "\(wrong.warnings)")
  }

  @Test func aSubtitleThatStaysForMinutesIsNoDuration() throws {
    let subtitle = ["-f", "srt", "-i", "data:text/plain,1\n00:00:03,000 --> 00:02:00,000\nWorld\n"]
    let file = try FFmpegTool.make(
      "a.mkv", Self.picture + Self.tone + subtitle + Self.h264 + ["-c:a", "aac", "-c:s", "srt"])
    for media in try file.readBothWays(as: .matroska) {
      #expect(media.warnings.map(\.code) == [.durationMismatch], "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 4) < 0.1, "\(media.duration ?? 0)")
    }
  }

  /// Without an edit list, the first picture lasts longer if the sound begins before zero.
  @Test(arguments: [["-use_editlist", "0"], ["-movflags", "frag_keyframe+empty_moov+default_base_moof"]])
  func theFirstPictureMayLastLonger(options: [String]) throws {
    let coded = ["-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p", "-c:a", "libopus"]
    for media in try FFmpegTool.make("a.mp4", Self.picture + Self.tone + coded + options).readBothWays(
      as: .mp4)
    {
      #expect(media.video?.frameRate?.description == "25/1", "\(String(describing: media.video?.frameRate))")
      #expect(media.video?.variableFrameRate == false && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Pictures are decoded ahead by more time at the slow beginning of a screen recording than at its end.
  @Test(arguments: ["a.mp4", "a.mov"], [[], ["-use_editlist", "0"]])
  func thePaceMayRise(name: String, options: [String]) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=60:duration=8"]
    let paced = ["-vf", "select='if(lt(t,4),not(mod(n,60)),1)'", "-fps_mode", "vfr", "-bf", "2"]
    for media in try FFmpegTool.make(name, picture + Self.h264 + paced + options).readBothWays(
      as: name == "a.mp4" ? .mp4 : .mov)
    {
      #expect(media.video?.frameRate?.description == "61/2", "\(String(describing: media.video?.frameRate))")
      #expect(media.video?.variableFrameRate == true && media.warnings.isEmpty, "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 8) < 0.05, "\(media.duration ?? 0)")
    }
  }

  /// A cut in the fast part shows none of what was decoded ahead in the slow one.
  @Test(arguments: [["-ss", "6.2"], ["-ss", "5.3"], ["-ss", "6.2", "-t", "0.7"]])
  func aCutBehindASlowBeginningKeepsItsPace(cut: [String]) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=60:duration=8"]
    let paced = ["-vf", "select='if(lt(t,4),not(mod(n,60)),1)'", "-fps_mode", "vfr", "-bf", "2", "-g", "60"]
    let whole = try FFmpegTool.make("a.mp4", picture + Self.h264 + paced)
    for media in try FFmpegTool.make("b.mp4", cut + ["-i", whole.path, "-c", "copy"]).readBothWays(as: .mp4) {
      #expect(media.video?.frameRate?.value == 60 && media.video?.variableFrameRate == false)
    }
  }

  /// The last picture stays, as at the end of a screen recording.
  @Test func aCutBeforeAPictureThatStaysLastsAsLong() throws {
    let picture = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=60:duration=17"]
    let paced = [
      "-vf", "select='if(lt(t,4),not(mod(n,4)),if(lt(t,8),1,eq(n,1000)))'", "-fps_mode", "vfr", "-bf", "2",
      "-g", "60",
    ]
    let whole = try FFmpegTool.make("a.mp4", picture + Self.h264 + paced)
    for media in try FFmpegTool.make("b.mp4", ["-ss", "6.3", "-i", whole.path, "-c", "copy"]).readBothWays(
      as: .mp4)
    {
      #expect(abs((media.duration ?? 0) - 10.4) < 0.1, "\(media.duration ?? 0)")
      #expect(
        abs((media.video?.frameRate?.value ?? 0) - 9.9) < 0.2 && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// The rate that the encoder was set to says nothing about a single picture beside music.
  @Test func aStillMayStay() throws {
    let picture = try FFmpegTool.make("a.mp4", Self.picture + Self.h264 + ["-frames:v", "1"])
    let stays = ["-c:v", "copy", "-bsf:v", "setts=duration=4/TB", "-c:a", "aac"]
    for media in try FFmpegTool.make("b.mp4", ["-i", picture.path] + Self.tone + stays).readBothWays(as: .mp4)
    {
      #expect(media.warnings.isEmpty, "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 4) < 0.1, "\(media.duration ?? 0)")
    }
  }

  /// Nothing lets it be shorter than the others would be.
  @Test func aStillThatFliesByIsDoubted() throws {
    var bytes = try FFmpegTool.make("a.mp4", Self.picture + Self.h264 + ["-frames:v", "1"]).allBytes
    let clock = try #require(bytes.firstRange(of: Array("mdhd".utf8))).lowerBound + 16
    let scale = try #require(bytes.number(at: clock, bytes: 4))
    for place in 0..<4 { bytes[clock + place] = UInt8(truncatingIfNeeded: 4 * scale >> (24 - 8 * place)) }
    let media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect(media.warnings.contains { $0.fact == "video.frameRate" }, "\(media.warnings)")
  }

  @Test func aFirstSampleOfAnotherLengthIsNoStep() throws {
    func step(_ runs: [(Int64, Int64)]) throws -> Int64? {
      let times = try #require(SampleTimes(runs.map { SampleTimes.Run(count: $0.0, step: $0.1) }))
      return times.samples(from: 0, to: try #require(times.total)).step
    }
    #expect(try step([(1, 596), (99, 512)]) == 512)
    #expect(try step([(1, 596), (98, 512), (1, 400)]) == 512)
    #expect(try step([(1, 5120), (99, 512)]) == nil, "a title that stays")
    #expect(try step([(1, 1024), (99, 512)]) == nil, "a picture that is missing")
    #expect(try step([(1, 596), (5, 512)]) == nil)
    #expect(try step([(1, 596), (50, 512), (49, 600)]) == nil)
    #expect(try step([(1, 40), (1, 80)]) == 40)
    #expect(try step([(1, 40), (1, 40), (1, 40), (1, 50)]) == 40)
    #expect(try step([(1, 40), (1, 80), (1, 40), (1, 80)]) == nil)
    #expect(try step([(1, 40)]) == 40)
  }

  /// Fragments of one picture each, of which some begin later than the one before them ends (FFmpeg 7.1).
  @Test func shortGapsBetweenFragmentsTakeTime() throws {
    let flags = ["-movflags", "frag_every_frame+empty_moov+default_base_moof"]
    let coded = ["-c:v", "mpeg4", "-g", "1"]
    var movie = MovieBytes(try FFmpegTool.make("a.mp4", Self.picture + coded + flags).allBytes)
    var (next, number) = (0, 0)
    while let place = movie.bytes.position(of: "tfdt", notBefore: next) {
      // Such a picture takes no time, and begins when it should end.
      if (20..<40).contains(number) || (60..<64).contains(number) {
        let header = try #require(movie.bytes.position(of: "tfhd", notBefore: place - 40))
        try #require(header < place)
        #expect(movie.number(at: header + 12) == 512)
        movie.write(0, at: header + 12)
        movie.write(movie.number(at: place + 8, bytes: 8) + 512, at: place + 8, bytes: 8)
      }
      (next, number) = (place + 4, number + 1)
    }
    #expect(number == 100)
    for media in try #require(OpenFile(holding: movie.bytes)).readBothWays(as: .mp4) {
      #expect(media.video?.frameRate?.description == "25/1", "\(String(describing: media.video?.frameRate))")
      #expect(media.video?.variableFrameRate == false && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// A cut without re-encoding begins with pictures that are shown before the first one, and that the headers do not
  /// count.
  @Test(arguments: ["a.mp4", "a.mov"]) func leadingPicturesAreNotCounted(name: String) throws {
    let coded = ["-c:v", "libx265", "-preset", "superfast", "-pix_fmt", "yuv420p", "-x265-params"]
    let whole = try FFmpegTool.make("a.mp4", Self.picture + coded + ["log-level=none:keyint=25:bframes=4"])
    let cut = try FFmpegTool.make(name, ["-ss", "1.5", "-i", whole.path, "-c", "copy"])
    for media in try cut.readBothWays(as: name == "a.mp4" ? .mp4 : .mov) {
      #expect(media.warnings.map(\.code) == [.claimUnchecked], "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 2.5) < 0.1, "\(media.duration ?? 0)")
      #expect(media.video?.frameRate?.value == 25)
    }
  }

  /// One offset that claims to be that of more samples can't make pictures of one pace come faster at the end.
  @Test func anEvenPaceDoesNotRise() throws {
    let coded = ["-c:v", "libx265", "-preset", "superfast", "-pix_fmt", "yuv420p", "-x265-params"]
    let whole = try FFmpegTool.make("a.mp4", Self.picture + coded + ["log-level=none:keyint=25:bframes=4"])
    var bytes = try FFmpegTool.make("b.mp4", ["-ss", "1.5", "-i", whole.path, "-c", "copy"]).allBytes
    let offsets = try #require(bytes.firstRange(of: Array("ctts".utf8))).lowerBound
    bytes[offsets + 15] += 9
    let media = try #require(OpenFile(holding: bytes)).read(as: .mp4).media
    #expect(
      media.video?.frameRate?.value == 25 || media.warnings.contains { $0.fact == "video.frameRate" },
      "\(String(describing: media.video?.frameRate)) \(media.warnings)")
  }

  /// An offset that claims that many pictures are shown before the first one can't hide how long the others last.
  @Test func noMoreIsShownBeforeTheFirstThanWasLookedAt() throws {
    let times = try #require(SampleTimes([SampleTimes.Run(count: 250, step: 512)]))
    let others = [Int64](repeating: 0, count: 31)
    #expect(times.lead(offsets: [2048] + others) == 1536)
    #expect(times.lead(offsets: [100 * 512] + others) == 32 * 512)
    #expect(times.lead(offsets: [Int64(Int32.max)] + [Int64(Int32.min)]) == 2 * 512)
    #expect(times.lead(offsets: []) == 0)
  }

  /// Headers of pictures that never come take no time.
  @Test func headersAloneAreNoPictures() throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=176x144:rate=25:duration=5"]
    let file = try FFmpegTool.make("a.mpg", picture + ["-c:v", "mpeg2video"])
    let header: [UInt8] = [0, 0, 1, 0, 0x12, 0x97, 0xFF, 0xF8]
    let fakes = Array(repeating: header, count: 200).flatMap(\.self)
    let length = fakes.count + 3
    let head: [UInt8] = [0, 0, 1, 0xE0, UInt8(length >> 8), UInt8(length & 255), 0x80, 0, 0]
    let end: [UInt8] = [0, 0, 1, 0xB9]
    let bytes: [UInt8] = Array(file.allBytes.dropLast(4)) + head + fakes + end
    let media = try #require(OpenFile(holding: bytes)).read(as: .mpegPS).media
    #expect(abs((media.duration ?? 0) - 5) < 0.06, "\(media.duration ?? 0)")
  }

  /// In a program stream, only the first of several pictures in a packet has a time.
  @Test(arguments: [
    (["libx264", "-bf", "0"], 5, "25"), (["libx264", "-bf", "3"], 5, "25"), (["libx264"], 12, "30000/1001"),
    (["libx265", "-x265-params", "log-level=none"], 5, "25"), (["mpeg2video", "-bf", "2"], 5, "25"),
    (["mpeg1video"], 5, "24"), (["mpeg2video", "-q:v", "31", "-g", "100"], 30, "50"),
  ]) func picturesWithoutTimesTakeTime(codec: [String], seconds: Int, rate: String) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=176x144:rate=\(rate):duration=\(seconds)"]
    let file = try FFmpegTool.make("a.mpg", picture + ["-pix_fmt", "yuv420p", "-c:v"] + codec)
    for media in try file.readBothWays(as: .mpegPS) {
      #expect(abs((media.duration ?? 0) - Double(seconds)) < 0.06, "\(media.duration ?? 0)")
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }
}
