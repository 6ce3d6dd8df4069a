import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Durations and rates that headers state, compared with packets in every container.
@Suite(.notQuick, .needsFFmpeg)
struct ContentClockTests {
  private static let h264 = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25"]

  private func make(_ name: String, _ arguments: [String]) throws -> [UInt8] {
    try FFmpegTool.make(name, FFmpegTool.picture + FFmpegTool.tone + arguments).allBytes
  }

  private func read(_ bytes: [UInt8], as container: MediaContainer) throws -> MediaInfo {
    try #require(OpenFile(holding: bytes)).read(as: container).media
  }

  @Test(arguments: ["with an index", "without one"]) func aMatroskaOfManyClustersIsHeldToItsLastOne(
    kind: String
  ) throws {
    // More blocks than are read at the beginning.
    let file = try FFmpegTool.make(
      "a.mkv",
      [
        "-f", "lavfi", "-i", "testsrc=size=64x48:rate=60:duration=40", "-c:v", "libx264", "-preset",
        "ultrafast",
      ]
        + ["-pix_fmt", "yuv420p", "-g", "60"])
    var bytes = file.allBytes
    if kind == "without one" {
      while let cues = bytes.position(of: [0x1C, 0x53, 0xBB, 0x6B]) { bytes[cues + 3] = 0x6A }
    }
    let truth = try read(bytes, as: .matroska)
    #expect(truth.durationSource == .container)
    #expect(abs((truth.duration ?? 0) - 40) < 0.1)
    #expect(truth.video?.frameRate?.value == 60)
    #expect(truth.video?.variableFrameRate == false)
    let field = try #require(HeaderField.all(of: bytes, .matroska).first { $0.subject == .duration })
    field.write(Double(3_600_000).bitPattern, into: &bytes)
    let media = try read(bytes, as: .matroska)
    #expect(abs((media.duration ?? 0) - 40) < 0.1)
    let warning = try #require(media.warnings.first { $0.code == .durationMismatch })
    #expect(warning.stated == .number(3600))
  }

  /// More blocks than are read at the beginning, and no cluster after them.
  @Test func aMatroskaOfOneClusterIsHeldToItsLastBlock() throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=60:duration=20"]
    let one = ["-g", "10000", "-cluster_time_limit", "30000", "-cluster_size_limit", "100000000"]
    var bytes = try FFmpegTool.make("a.mkv", picture + Self.h264.dropLast(2) + one).allBytes
    let mark: [UInt8] = [0x1F, 0x43, 0xB6, 0x75]
    let cluster = try #require(bytes.position(of: mark))
    #expect(bytes.position(of: mark, notBefore: cluster + 4) == nil)
    let field = try #require(HeaderField.all(of: bytes, .matroska).first { $0.subject == .duration })
    for claim in [20_000.0, 100_000] {
      field.write(claim.bitPattern, into: &bytes)
      let media = try read(bytes, as: .matroska)
      #expect(abs((media.duration ?? 0) - 20) < 0.1, "\(media.duration ?? 0)")
      #expect(media.video?.frameRate?.value == 60 && media.video?.variableFrameRate == false)
      #expect(media.warnings.map(\.code) == (claim > 20_000 ? [.durationMismatch] : []), "\(media.warnings)")
    }
  }

  /// A screen recording without audio, with pictures only while the screen changes.
  private static let screen = [
    "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=5:duration=100", "-vf",
    "select=lt(t\\,5)+between(t\\,30\\,35)+between(t\\,70\\,75)+gte(t\\,99.7)", "-fps_mode", "vfr",
  ]
  private static let vp8 = ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8"]

  /// Only the header knows how long the last picture is displayed; it is trusted up to the longest other pause.
  @Test(arguments: [("a.webm", vp8), ("a.mkv", h264 + ["-bf", "0"])])
  func aRecordingWithPausesLastsAsItsHeaderSays(name: String, coded: [String]) throws {
    var bytes = try FFmpegTool.make(name, Self.screen + coded).allBytes
    let field = try #require(HeaderField.all(of: bytes, .matroska).first { $0.subject == .duration })
    for (claim, duration) in [(100_000.0, 100.0), (120_000, 120), (140_000, 100), (98_000, 100)] {
      field.write(claim.bitPattern, into: &bytes)
      for media in try #require(OpenFile(holding: bytes)).readBothWays(as: .matroska) {
        let isDenied = claim != duration * 1000
        // For some of these FFmpeg writes the average step as the duration of a frame.
        let found = try #require(media.duration)
        #expect(abs(found - duration) < (isDenied ? 1.5 : 0.01), "\(claim) \(found)")
        #expect(media.durationSource == (isDenied ? .packets : .container))
        #expect(media.warnings.map(\.code).contains(.durationMismatch) == isDenied, "\(media.warnings)")
      }
    }
  }

  /// Pictures from before the pause are stored after the one that ends it, in a separate cluster: no cluster spans
  /// more than 32 seconds.
  @Test(arguments: [1, 5, 9.9]) func picturesInAnotherOrderMayPause(pause: Double) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=10"]
    let late = ["-vf", "setpts=PTS+gt(T\\,\(pause))*40/TB", "-fps_mode", "vfr"]
    let coded = Self.h264 + ["-bf", "3", "-g", "250", "-sc_threshold", "0"]
    let file = try FFmpegTool.make("a.mkv", source + late + coded)
    for media in try file.readBothWays(as: .matroska) {
      #expect(abs((media.duration ?? 0) - 50) < 0.1, "\(media.duration ?? 0)")
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Reordered slow pictures beside continuous audio.
  @Test(arguments: ["a.mkv", "a.flv"]) func slowPicturesInAnotherOrderMayPause(name: String) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=60"]
    let tone = ["-f", "lavfi", "-i", "sine=d=60", "-c:a", "aac"]
    let late = ["-vf", "select=lt(t\\,5)+gt(t\\,45)", "-fps_mode", "vfr"]
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-bf", "3"]
    let file = try FFmpegTool.make(name, source + tone + late + coded)
    for media in try file.readBothWays(as: #require(file.sniffed)) {
      #expect(abs((media.duration ?? 0) - 60) < 0.25, "\(media.duration ?? 0)")
      #expect(!media.warnings.contains { $0.code == .clockJumps }, "\(media.warnings)")
    }
  }

  /// Up to a minute apart, so that each picture is alone in its cluster.
  @Test(arguments: [20, 60]) func pictures(secondsApart: Int) throws {
    let source = [
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=1/\(secondsApart):duration=\(30 * secondsApart)",
    ]
    let coded = Self.h264 + ["-bf", "3", "-b_strategy", "0"]
    let file = try FFmpegTool.make("a.mkv", source + coded)
    for media in try file.readBothWays(as: .matroska) {
      #expect(abs((media.duration ?? 0) - Double(30 * secondsApart)) < 1, "\(media.duration ?? 0)")
      #expect(media.video?.frameRate?.description == "1/\(secondsApart)")
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Pictures with a decoding delay of more than ten seconds, because they are so far apart.
  @Test(arguments: [("1/5", 60), ("1/10", 120), ("1/7", 140)], [0, 3]) func slowPicturesOfATransportStream(
    rate: (text: String, seconds: Int), reordered: Int
  ) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=\(rate.text):duration=\(rate.seconds)"]
    let tone = ["-f", "lavfi", "-i", "sine=r=44100:d=\(rate.seconds)", "-c:a", "aac"]
    let coded = Self.h264 + ["-bf", "\(reordered)", "-b_strategy", "0"]
    for sound in [tone, []] {
      let file = try FFmpegTool.make("a.ts", source + sound + coded)
      for media in try file.readBothWays(as: .mpegTS) {
        #expect(abs((media.duration ?? 0) - Double(rate.seconds)) < 0.5, "\(media.duration ?? 0)")
        #expect(media.video?.frameRate?.description == rate.text, "\(media.video?.frameRate as Any)")
        #expect(media.video?.variableFrameRate == false)
        #expect(media.warnings.isEmpty, "\(media.warnings)")
      }
    }
  }

  /// Reordered pictures before a pause: the one that ends it is stored before the last ones that precede it.
  @Test(arguments: [1, 2, 3]) func picturesOfATransportStreamInAnotherOrderMayPause(reordered: Int) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=60"]
    let tone = ["-f", "lavfi", "-i", "sine=d=60", "-c:a", "aac"]
    let late = ["-vf", "select=lt(t\\,5)+gt(t\\,45)", "-fps_mode", "vfr"]
    let coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-bf", "\(reordered)"]
    let file = try FFmpegTool.make("a.ts", source + tone + late + coded + ["-b_strategy", "0"])
    for media in try file.readBothWays(as: .mpegTS) {
      #expect(abs((media.duration ?? 0) - 60) < 0.3, "\(media.duration ?? 0)")
      #expect(media.video?.variableFrameRate == true && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// A cluster's timestamp is that of its first block, which may be displayed long after the following ones.
  @Test(arguments: [("-cluster_size_limit", "2000"), ("-cluster_time_limit", "100")], [1, 2, 5])
  func clustersMayStepBackWherePicturesGoOn(limit: (String, String), rate: Int) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=\(rate):duration=40"]
    let tone = ["-f", "lavfi", "-i", "sine=r=44100:d=40", "-c:a", "libmp3lame"]
    let coded = Self.h264.dropLast(2) + ["-bf", "8", "-b_strategy", "0", limit.0, limit.1]
    let file = try FFmpegTool.make("a.mkv", source + tone + coded)
    for media in try file.readBothWays(as: .matroska) {
      #expect(abs((media.duration ?? 0) - 40) < 0.2, "\(media.duration ?? 0)")
      #expect(!media.warnings.contains { $0.code == .clockJumps }, "\(media.warnings)")
    }
  }

  /// Pauses that would count as a restarted clock if pictures and audio made the step together.
  @Test(arguments: [
    ("a.flv", h264), ("a.flv", h264 + ["-bf", "3"]), ("a.flv", ["-c:v", "flv"]),
    ("b.flv", h264 + ["-flvflags", "no_duration_filesize"]),
    ("a.ts", h264), ("a.ts", h264 + ["-bf", "3"]), ("a.ts", ["-c:v", "libx264", "-g", "1"]),
    ("a.m2ts", ["-c:v", "libx264", "-mpegts_m2ts_mode", "1"]),
    ("a.mpg", ["-c:v", "mpeg2video", "-g", "100", "-sc_threshold", "1000000000", "-s", "640x480"]),
  ]) func picturesAloneMayPause(name: String, coded: [String]) throws {
    let coded = ["-pix_fmt", "yuv420p", "-bf", "0"] + coded
    let file = try FFmpegTool.make(name, Self.screen + coded)
    for media in try file.readBothWays(as: #require(file.sniffed)) {
      #expect(abs((media.duration ?? 0) - 100) < 0.5, "\(media.duration ?? 0)")
      #expect(abs((media.video?.frameRate?.value ?? 0) - 0.78) < 0.02 || name == "a.mpg")
      #expect(media.video?.variableFrameRate != false && media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// As after a live stream was published again, or where the header shows that no picture is displayed that long.
  @Test(arguments: [false, true]) func anFLVThatBeginsAnewDoesNotPause(isPublished: Bool) throws {
    let coded = Self.h264 + ["-bf", "0"] + (isPublished ? ["-flvflags", "no_duration_filesize"] : [])
    let bytes = try FFmpegTool.make("a.flv", FFmpegTool.picture + coded).allBytes
    var (changed, at, record): ([UInt8], Int, [UInt8]) = (Array(bytes[..<13]), 13, [])
    while at + 15 < bytes.count {
      let size = Int(bytes[at + 1]) << 16 | Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
      var tag = Array(bytes[at..<at + 15 + size])
      at += tag.count
      guard tag[0] == 9 else {
        changed += tag
        continue
      }
      if tag[12] == 0 { record = tag }
      let time = Int(tag[4]) << 16 | Int(tag[5]) << 8 | Int(tag[6])
      // The second half begins with a key frame.
      if time >= 1000 {
        if time == 1000, isPublished, tag[12] == 1 { changed += record }
        (tag[4], tag[5], tag[6]) = (
          UInt8((time + 60_000) >> 16), UInt8((time + 60_000) >> 8 & 255), UInt8((time + 60_000) & 255)
        )
      }
      changed += tag
    }
    for media in try #require(OpenFile(holding: changed)).readBothWays(as: .flv) {
      #expect(abs((media.duration ?? 0) - 2) < 0.1, "\(media.duration ?? 0)")
      #expect(media.warnings.map(\.code) == [.clockJumps], "\(media.warnings)")
    }
  }

  /// As after files were joined or packets were lost: the continuity counters do not continue.
  @Test func aTransportStreamThatIsNotCountedOnStartsAnew() throws {
    let few = ["-c:v", "libx264", "-pix_fmt", "yuv420p"]
    let later = few + ["-output_ts_offset", "60"]
    let first = try FFmpegTool.make("a.ts", FFmpegTool.picture + few).allBytes
    let second = try FFmpegTool.make("a.ts", FFmpegTool.picture + later).allBytes
    for media in try #require(OpenFile(holding: first + second)).readBothWays(as: .mpegTS) {
      #expect(abs((media.duration ?? 0) - 4) < 0.3, "\(media.duration ?? 0)")
      #expect(media.warnings.contains { $0.code == .clockJumps })
    }
  }

  /// A remuxer omitted some pictures' timestamps, or several share a packet, of which only the first has one.
  @Test(arguments: ["mpeg2video", "libx264"], [2, 3, 5]) func picturesWithoutTimesCount(
    encoder: String, every: Int
  )
    throws
  {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=4"]
    let arguments = ["-c:v", encoder, "-pix_fmt", "yuv420p", "-g", "12", "-bf", "0"]
    var bytes = try FFmpegTool.make("a.ts", picture + arguments).allBytes
    var number = 0
    for at in stride(from: 0, to: bytes.count, by: 188) where bytes[at + 1] & 0x40 != 0 {
      let start = at + 4 + (bytes[at + 3] & 0x20 != 0 ? Int(bytes[at + 4]) + 1 : 0)
      guard start + 9 < at + 188, bytes[start..<(start + 4)].elementsEqual([0, 0, 1, 0xE0]) else { continue }
      // Only every second, third or fifth timestamp is kept.
      if number % every != 0 { bytes[start + 7] &= 0x3F }
      number += 1
    }
    let file = try #require(OpenFile(holding: bytes))
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let video = try file.read(as: .mpegTS, by: ways).media.video
      #expect(video?.frameRate?.description == "25/1", "\(video?.frameRate?.description ?? "")")
      #expect(video?.variableFrameRate != true)
    }
  }

  /// The main header has the rate and the size of only one of them.
  @Test func anAVIOfTwoVideosDoesNotContradictItself() throws {
    let other = ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=50:duration=2"]
    let arguments = ["-map", "0", "-map", "1", "-c:v", "mpeg4"]
    var bytes = try FFmpegTool.make("a.avi", FFmpegTool.picture + other + arguments).allBytes
    let main = try #require(bytes.position(of: "avih"))
    for (microseconds, size) in [(40_000, (64, 48)), (20_000, (96, 64)), (10_000, (80, 60))] {
      for (place, number) in [(8, microseconds), (40, size.0), (44, size.1)] {
        for byte in 0..<4 { bytes[main + place + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
      }
      let codes = Set(try read(bytes, as: .avi).warnings.map(\.code))
      let both: Set<MediaWarning.Code> = [.frameRateMismatch, .sizeMismatch]
      #expect(codes.intersection(both) == (microseconds == 10_000 ? both : []), "\(codes)")
    }
  }

  @Test(arguments: [("a.ts", MediaContainer.mpegTS), ("a.m2ts", .m2ts)])
  func aTransportStreamThatJumpsIsAddedUp(name: String, container: MediaContainer) throws {
    let flags = name == "a.m2ts" ? ["-mpegts_m2ts_mode", "1"] : []
    let first = try make(name, Self.h264 + ["-c:a", "aac"] + flags)
    let second = try make(name, Self.h264 + ["-c:a", "aac", "-output_ts_offset", "5000"] + flags)
    for parts in [[first, second], [second, first], [first, first], [first, second, first]] {
      let media = try read(Array(parts.joined()), as: container)
      #expect(abs((media.duration ?? 0) - 2 * Double(parts.count)) < 0.3, "\(media.duration ?? 0)")
      #expect(media.warnings.contains { $0.code == .clockJumps })
      #expect(media.video?.frameRate?.value == 25)
      #expect(media.video?.variableFrameRate == false)
    }
    let plain = try read(first, as: container)
    #expect(!plain.warnings.contains { $0.code == .clockJumps })
  }

  /// As above, but each part has other stream identifiers.
  @Test func transportStreamsOfOtherNamesAreAddedUp() throws {
    func part(_ names: Int, from start: Int = 0) throws -> [UInt8] {
      let ids = ["-streamid", "0:\(names)", "-streamid", "1:\(names + 1)", "-mpegts_start_pid", "\(names)"]
      return try make("a.ts", Self.h264 + ["-c:a", "aac", "-output_ts_offset", "\(start)"] + ids)
    }
    let (first, second, third) = (try part(0x100), try part(0x200), try part(0x300))
    let next = try part(0x200, from: 2)
    for parts in [[first, second], [second, first], [third, first, second]] {
      let file = try #require(OpenFile(holding: Array(parts.joined())))
      for ways in [FFmpegReader.quickWays, [.thorough]] {
        let media = try file.read(as: .mpegTS, by: ways).media
        #expect(abs((media.duration ?? 0) - 2 * Double(parts.count)) < 0.3, "\(media.duration ?? 0)")
        #expect(media.warnings.map(\.code) == [.clockJumps], "\(media.warnings)")
        #expect(media.video?.frameRate?.value == 25 && media.video?.variableFrameRate == false)
      }
    }
    let media = try read(first + next, as: .mpegTS)
    #expect(abs((media.duration ?? 0) - 4) < 0.3 && media.warnings == [], "\(media.warnings)")
  }

  /// Large enough that only windows of it are read.
  @Test func aLargeTransportStreamThatJumpsIsAddedUp() throws {
    let noise = [
      "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=8", "-c:v", "libx264", "-preset",
      "ultrafast",
    ]
    let rate = [
      "-b:v", "8M", "-minrate", "8M", "-maxrate", "8M", "-bufsize", "1M", "-x264-params", "nal-hrd=cbr",
    ]
    let part = try FFmpegTool.make("a.ts", noise + rate + ["-pix_fmt", "yuv420p"]).allBytes
    let names = ["-streamid", "0:512", "-mpegts_start_pid", "512", "-pix_fmt", "yuv420p"]
    let other = try FFmpegTool.make("a.ts", noise + rate + names).allBytes
    let found = try read(part + other, as: .mpegTS).warnings
    #expect(found.contains { $0.code == .claimUnchecked && $0.fact == "duration" }, "\(found)")
    let media = try read(part + part + part, as: .mpegTS)
    #expect(part.count > 2 << 20)
    #expect(abs((media.duration ?? 0) - 24) < 1, "\(media.duration ?? 0)")
    #expect(media.warnings.contains { $0.code == .clockJumps })
    let plain = try read(part, as: .mpegTS)
    #expect(abs((plain.duration ?? 0) - 8) < 0.2)
  }

  /// From a certain size on, only windows far apart are read.
  @Test(arguments: [(false, 24), (true, 4)])
  func transportStreamsThatAreJustLargeEnoughForWindows(isFar: Bool, windows: Int) throws {
    let padded = ["-c:v", "mpeg2video", "-muxrate", "8M", "-pat_period", "1"]
    let made = try FFmpegTool.make("a.ts", ["-f", "lavfi", "-i", "testsrc=d=6"] + padded)
    let all = made.allBytes
    let packets = windows * (192 << 10) / 188
    for count in [packets * 5 / 6, packets * 9 / 10, packets - 1, packets, packets + 1, packets * 9 / 8] {
      let part = Array(all.prefix(count * 188))
      let clock = try #require(MPEGClock.read(BytesInMemory(all: part, isFar: isFar), stride: 188))
      let shown = try #require(clock.extents.values.first?.stretches.first)
      #expect(part.count == count * 188 && clock.extents.values.first?.stretches.count == 1)
      #expect(abs(Double(shown.last - shown.first) / 90_000 - Double(part.count) / 1e6) < 1, "\(count)")
    }
  }

  /// The gap between two windows of a large file is no frame's duration.
  @Test(arguments: [("a.ts", "libx264"), ("a.ts", "mpeg2video"), ("a.m2ts", "libx264")])
  func aLargeTransportStreamHasTheRateOfItsPictures(name: String, encoder: String) throws {
    let pictures = [
      "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=20", "-vf", "noise=alls=60:allf=t",
    ]
    let coded = ["-c:v", encoder, "-pix_fmt", "yuv420p", "-b:v", "4M", "-maxrate", "4M", "-bufsize", "1M"]
    let file = try FFmpegTool.make(name, pictures + coded)
    #expect(file.size > 6 << 20)
    for media in try file.readBothWays(as: name == "a.ts" ? .mpegTS : .m2ts) {
      #expect(media.video?.frameRate?.value == 25)
      #expect(media.video?.variableFrameRate != true)
      #expect(abs((media.duration ?? 0) - 20) < 0.3)
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Only both ends of a large file are read, and the gap between them is no packet's duration.
  @Test(arguments: [("a.wmv", "wmv2", "wmav2"), ("a.flv", "flv", "libmp3lame"), ("a.mkv", "mpeg4", "ac3")])
  func aLargeFileLastsAsLongAsItsPictures(name: String, video: String, sound: String) throws {
    let sources = [
      "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=20", "-f", "lavfi", "-i",
      "sine=sample_rate=44100:duration=20", "-vf", "noise=alls=60:allf=t",
    ]
    let file = try FFmpegTool.make(name, sources + ["-c:v", video, "-b:v", "4M", "-c:a", sound])
    let container = try #require(file.sniffed)
    #expect(file.size > 4 << 20)
    let thorough = try file.read(as: container, by: [.thorough]).media
    let media = try file.read(as: container).media
    #expect(abs((media.duration ?? 0) - 20) < 0.3, "\(media.duration ?? 0)")
    #expect(abs((media.duration ?? 0) - (thorough.duration ?? 0)) < 0.1)
    #expect(media.video?.frameRate?.value == 25 && media.warnings.isEmpty, "\(media.warnings)")
  }

  /// Little larger than both ends, so that the places between touch.
  @Test(arguments: [4, 6, 7, 8, 10, 14]) func aMiddlingASFIsEven(seconds: Int) throws {
    let sources = [
      "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=\(seconds)", "-f", "lavfi", "-i",
      "sine=sample_rate=44100:duration=\(seconds)",
    ]
    let coded = ["-c:v", "wmv2", "-b:v", "1M", "-c:a", "wmav2", "-ac", "2"]
    let file = try FFmpegTool.make("a.wmv", sources + coded)
    let media = try file.read(as: .asf).media
    #expect(media.video?.frameRate?.description == "25/1" && media.video?.variableFrameRate == false)
    #expect(media.warnings.isEmpty, "\(media.warnings)")
  }

  /// As capture cards and editors write it: an empty chunk stands for a dropped frame.
  @Test func framesThatAnAVILeavesOutTakeTheirTime() throws {
    let arguments = ["-c:v", "mpeg4", "-vf", "select='not(mod(n,3))'", "-fps_mode", "vfr"]
    let long = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=4"]
    let file = try FFmpegTool.make("a.avi", long + arguments)
    let media = try file.read(as: .avi).media
    #expect(abs((media.duration ?? 0) - 4) < 0.1, "\(media.duration ?? 0)")
    #expect(media.warnings.isEmpty, "\(media.warnings)")
  }

  /// However few there are: frames are counted, not timed.
  @Test func theRateOfAnAVIThatLeavesOutTwoFramesIsExact() throws {
    let arguments = ["-c:v", "mpeg4", "-vf", "select='not(eq(n,100)+eq(n,150))'", "-fps_mode", "vfr"]
    let long = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=8"]
    let file = try FFmpegTool.make("a.avi", long + arguments)
    let media = try file.read(as: .avi).media
    #expect(abs((media.duration ?? 0) - 8) < 0.05, "\(media.duration ?? 0)")
    #expect(media.video?.frameRate?.description == "25/1" && media.video?.variableFrameRate == false)
  }

  /// FFmpeg's index omits frames dropped at the end.
  @Test func framesThatAnAVIDropsAtItsEndTakeTheirTime() throws {
    let long = ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=8"]
    var bytes = try FFmpegTool.make("a.avi", long + ["-c:v", "mpeg4"]).allBytes
    func number(_ place: Int) -> UInt32 { (0..<4).reduce(0) { $0 | UInt32(bytes[place + $1]) << (8 * $1) } }
    func add(_ amount: UInt32, at place: Int) {
      let sum = number(place) + amount
      for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: sum >> (8 * byte)) }
    }
    let dropped: UInt32 = 50
    let (main, stream) = try (
      #require(bytes.position(of: "avih")), #require(bytes.position(of: "strh"))
    )
    #expect(number(main + 24) == 200 && number(stream + 40) == 200)
    add(dropped, at: main + 24)
    add(dropped, at: stream + 40)
    let list = try #require(bytes.position(of: "movi"))
    // The index follows.
    let index = list + Int(number(list - 4))
    let chunk = Array("00dc".utf8) + [0, 0, 0, 0]
    // The offset of each chunk, from "movi" on.
    let entries = (0..<Int(dropped)).flatMap { place in
      let offset = index - list + place * chunk.count
      return Array("00dc".utf8) + [0, 0, 0, 0] + (0..<4).map { UInt8(truncatingIfNeeded: offset >> (8 * $0)) }
        + [0, 0, 0, 0]
    }
    let end = index + 8 + Int(number(index + 4))
    bytes.insert(contentsOf: entries, at: end)
    bytes.insert(contentsOf: (0..<dropped).flatMap { _ in chunk }, at: index)
    add(dropped * 16, at: index + Int(dropped) * 8 + 4)
    add(dropped * 8, at: list - 4)
    add(dropped * 24, at: 4)
    let media = try read(bytes, as: .avi)
    #expect(abs((media.duration ?? 0) - 10) < 0.05, "\(media.duration ?? 0)")
    #expect(media.video?.frameRate?.description == "25/1")
    #expect(!media.warnings.contains { $0.code == .durationMismatch }, "\(media.warnings)")
  }

  /// Several small pictures share a packet, and its timestamp. The last ones seem to last as long as all of these.
  @Test(arguments: ["libx264", "libx265"], [0, 2]) func picturesThatShareATimestampAreCounted(
    encoder: String, between: Int
  ) throws {
    let source = ["-f", "lavfi", "-i", "testsrc=size=176x144:rate=30:duration=6"]
    let coded = ["-c:v", encoder, "-pix_fmt", "yuv420p"]
    let order = encoder == "libx264" ? ["-bf", "\(between)"] : ["-x265-params", "bframes=\(between)"]
    let file = try FFmpegTool.make("a.vob", source + coded + order)
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let media = try file.read(as: .mpegPS, by: ways).media
      #expect(media.video?.frameRate?.description == "30/1")
      #expect(media.video?.variableFrameRate != true && media.warnings == [], "\(media.warnings)")
      #expect(abs((media.duration ?? 0) - 6) < 0.001, "\(media.duration ?? 0)")
    }
  }

  @Test(arguments: ["libx264", "libx265"]) func aTransportStreamIsHeldToItsPictures(encoder: String) throws {
    let source = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=30:duration=4"]
    let coded = ["-c:v", encoder, "-pix_fmt", "yuv420p"]
    for (slower, codes) in [("1", []), ("1.2", [MediaWarning.Code.frameRateMismatch])] {
      let made = try FFmpegTool.make("a.mkv", source + coded)
      let file = try FFmpegTool.make(
        "a.ts", ["-i", made.path, "-c", "copy", "-bsf:v", "setts=ts=TS*\(slower)"])
      let media = try file.read(as: .mpegTS).media
      #expect(media.warnings.map(\.code) == codes, "\(media.warnings)")
      #expect(media.video?.frameRate?.description == (codes.isEmpty ? "30/1" : "25/1"))
    }
  }

  @Test func theCellsOfAProgramStreamAreAddedUp() throws {
    let cell = try make("a.vob", ["-c:v", "mpeg2video", "-c:a", "ac3"])
    let media = try read(cell + cell + cell, as: .mpegPS)
    #expect(abs((media.duration ?? 0) - 6) < 0.4, "\(media.duration ?? 0)")
    #expect(media.warnings.contains { $0.code == .clockJumps })
  }

  @Test(arguments: [0.5, 3600]) func anFLVIsHeldToItsLastTag(claim: Double) throws {
    var bytes = try make("a.flv", Self.h264 + ["-c:a", "aac"])
    let field = try #require(HeaderField.all(of: bytes, .flv).first { $0.subject == .duration })
    field.write(claim.bitPattern, into: &bytes)
    let media = try read(bytes, as: .flv)
    #expect(abs((media.duration ?? 0) - 2) < 0.15, "\(media.duration ?? 0)")
  }

  @Test(arguments: [(1.0, true), (100_000.0, false)]) func noStreamHasMoreBitsThanItsFile(
    kilobits: Double, isKept: Bool
  ) throws {
    var bytes = try make("a.flv", Self.h264 + ["-c:a", "aac"])
    let key = "videodatarate"
    let place = try #require(bytes.position(of: key)) + key.utf8.count + 1
    for (byte, shift) in stride(from: 56, through: 0, by: -8).enumerated() {
      bytes[place + byte] = UInt8(truncatingIfNeeded: kilobits.bitPattern >> UInt64(shift))
    }
    #expect((try read(bytes, as: .flv).video?.bitRate != nil) == isKept)
  }

  /// How each tag's timestamp, in milliseconds, is changed.
  enum TagTimes: String, CaseIterable {
    case gap, overflow, negative, negativeWithoutSign

    func changed(_ time: Int64) -> Int64 {
      switch self {
      case .gap: time < 1000 ? time : time + 3_600_000
      case .overflow: time + (1 << 32) - 1000
      case .negative: time - 500
      case .negativeWithoutSign: (time - 500) & 0x7fff_ffff
      }
    }
  }

  @Test(arguments: TagTimes.allCases) func theTimesOfAnFLVHaveASignAndRunOver(times: TagTimes) throws {
    var bytes = try make("a.flv", Self.h264 + ["-c:a", "aac"])
    var at = 13
    while at + 11 < bytes.count {
      let time =
        Int64(bytes[at + 7]) << 24 | Int64(bytes[at + 4]) << 16 | Int64(bytes[at + 5]) << 8
        | Int64(bytes[at + 6])
      let changed = UInt32(truncatingIfNeeded: times.changed(time))
      if bytes[at] != 18 {
        for (place, shift) in zip([7, 4, 5, 6], [24, 16, 8, 0] as [UInt32]) {
          bytes[at + place] = UInt8(truncatingIfNeeded: changed >> shift)
        }
      }
      at += 15 + (Int(bytes[at + 1]) << 16 | Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
    }
    let file = try #require(OpenFile(holding: bytes))
    for media in [try file.read(as: .flv).media, try file.read(as: .flv, by: [.thorough]).media] {
      #expect(abs((media.duration ?? 0) - 2) < 0.15, "\(media.duration ?? 0)")
      #expect(media.video?.frameRate?.value == 25, "\(media.video?.frameRate?.description ?? "")")
      #expect(media.video?.variableFrameRate == false)
      #expect(media.warnings.map(\.code) == (times == .gap ? [.clockJumps] : []), "\(media.warnings)")
    }
  }

  @Test func aMatroskaThatStartsAnewKeepsItsPace() throws {
    var bytes = try make(
      "a.mkv", Self.h264 + ["-c:a", "aac", "-cluster_time_limit", "500", "-write_crc32", "0"])
    var changed = 0
    for place in bytes.indices.dropLast(16) where bytes[place...].starts(with: [0x1F, 0x43, 0xB6, 0x75]) {
      let size = place + 4
      let time = size + bytes[size].leadingZeroBitCount + 1
      guard bytes[time] == 0xE7, bytes[time + 1] == 0x82 else { continue }
      let old = Int(bytes[time + 2]) << 8 | Int(bytes[time + 3])
      guard old >= 1000 else { continue }
      (bytes[time + 2], bytes[time + 3]) = (UInt8((old - 1000) >> 8), UInt8((old - 1000) & 0xff))
      changed += 1
    }
    #expect(changed > 0)
    let file = try #require(OpenFile(holding: bytes))
    for media in [try file.read(as: .matroska).media, try file.read(as: .matroska, by: [.thorough]).media] {
      #expect(abs((media.duration ?? 0) - 2) < 0.15, "\(media.duration ?? 0)")
      #expect(media.video?.frameRate?.value == 25, "\(media.video?.frameRate?.description ?? "")")
      #expect(media.video?.variableFrameRate == false)
      #expect(media.warnings.map(\.code) == [.clockJumps], "\(media.warnings)")
    }
  }

  /// Files joined by plain concatenation.
  @Test(arguments: [
    ("a.mkv", "libx264", "aac", ""), ("a.mkv", "libx264", "aac", "-live 1"),
    ("a.webm", "libvpx", "libopus", ""), ("a.ogv", "libtheora", "libvorbis", ""),
    ("a.ogv", "libtheora", "", "-an"), ("a.avi", "mpeg4", "pcm_s16le", ""), ("a.avi", "mjpeg", "", "-an"),
  ]) func filesThatWereJoinedAreAddedUp(name: String, video: String, sound: String, flags: String) throws {
    let coded = ["-c:v", video, "-pix_fmt", "yuv420p", "-g", "25"] + (sound.isEmpty ? [] : ["-c:a", sound])
    let part = try make(name, coded + flags.split(separator: " ").map(String.init))
    let container = try #require(OpenFile(holding: part)?.sniffed)
    let one = try read(part, as: container)
    #expect(one.warnings.isEmpty, "\(one.warnings)")
    for parts in 2...3 {
      let file = try #require(OpenFile(holding: Array(repeatElement(part, count: parts).joined())))
      for media in [try file.read(as: container).media, try file.read(as: container, by: [.thorough]).media] {
        #expect(abs((media.duration ?? 0) - 2 * Double(parts)) < 0.2, "\(media.duration ?? 0)")
        #expect(media.video?.frameRate?.value == 25)
        #expect(media.video?.variableFrameRate == false)
        // The first header describes only the first part.
        let codes = media.warnings.map(\.code)
        #expect(codes.contains(.clockJumps), "\(codes)")
        #expect(Set(codes).isSubset(of: [.clockJumps, .durationMismatch]), "\(codes)")
      }
    }
  }

  /// FFmpeg shows only the first part of these.
  @Test(arguments: [("a.flv", "flv", "libmp3lame"), ("a.wmv", "wmv2", "wmav2")])
  func anotherFileBehindTheFirstIsNamed(name: String, video: String, sound: String) throws {
    let part = try make(name, ["-c:v", video, "-c:a", sound])
    let container = try #require(OpenFile(holding: part)?.sniffed)
    #expect(try read(part, as: container).warnings == [])
    let media = try read(part + part, as: container)
    #expect(media.warnings.contains { $0.code == .claimUnchecked && $0.fact == "duration" })
  }

  /// FFmpeg counts the pictures of all parts by the first part's clock and uses its size.
  @Test func anAVIOfPartsThatAreNotAlike() throws {
    func part(_ size: String, _ rate: Int, _ seconds: Int) throws -> [UInt8] {
      try FFmpegTool.make(
        "a.avi",
        ["-f", "lavfi", "-i", "testsrc=size=\(size):rate=\(rate):duration=\(seconds)", "-c:v", "mjpeg"]
      )
      .allBytes
    }
    let (first, longer) = (try part("64x48", 25, 2), try part("64x48", 25, 3))
    let (faster, larger) = (try part("64x48", 50, 3), try part("96x48", 25, 3))
    for (other, codes) in [
      (longer, [.clockJumps]), (faster, [.claimUnchecked, .clockJumps]),
      (larger, [.clockJumps, .contentChanges]),
    ] as [([UInt8], [MediaWarning.Code])] {
      let file = try #require(OpenFile(holding: first + other))
      for media in [try file.read(as: .avi).media, try file.read(as: .avi, by: [.thorough]).media] {
        #expect(abs((media.duration ?? 0) - 5) < 0.05, "\(media.duration ?? 0)")
        #expect(media.video?.frameRate?.value == 25 && media.video?.storedWidth == 64)
        #expect(media.video?.variableFrameRate == (codes.contains(.claimUnchecked) ? nil : false))
        #expect(Set(media.warnings.map(\.code)) == Set(codes), "\(media.warnings)")
      }
    }
  }

  @Test(arguments: [1, 3600]) func anASFIsHeldToItsLastPacket(claim: Double) throws {
    var bytes = try make("a.wmv", ["-c:v", "wmv2", "-c:a", "wmav2"])
    let field = try #require(HeaderField.all(of: bytes, .asf).first { $0.name == "properties play duration" })
    let whole = try read(bytes, as: .asf)
    #expect(whole.durationSource == .container && whole.warnings.isEmpty, "\(whole.warnings)")
    field.write(UInt64((claim + 3.1) * 1e7), into: &bytes)
    let media = try read(bytes, as: .asf)
    #expect(abs((media.duration ?? 0) - 2) < 0.2, "\(media.duration ?? 0)")
    #expect(media.warnings.map(\.code) == [.durationMismatch], "\(media.warnings)")
  }

  @Test(arguments: ["a.flv", "a.mkv", "a.ts"]) func soundIsWhatItsCodecSays(name: String) throws {
    let sound = ["-c:a", "aac", "-ac", "1", "-ar", "16000"]
    let bytes = try make(name, Self.h264 + sound)
    let file = try #require(OpenFile(holding: bytes))
    let media = try file.read(as: try #require(file.sniffed)).media
    #expect(media.audio == [AudioFacts(codec: "aac", channels: 1, sampleRate: 16_000)])
  }

  /// The windows of a large file are further apart than a clock may step.
  @Test func aMultiplexThatGoesOnUnderOtherIdentifiersIsOne() throws {
    func part(_ flags: [String]) throws -> [UInt8] {
      let source = [
        "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=5:duration=150", "-f", "lavfi", "-i",
        "sine=duration=150:sample_rate=48000",
      ]
      return try FFmpegTool.make("a.ts", source + Self.h264 + ["-c:a", "aac", "-b:a", "160k"] + flags)
        .allBytes
    }
    let begin = try part([])
    let end = try part(["-output_ts_offset", "150", "-mpegts_start_pid", "0x200"])
    let media = try read(begin + end, as: .mpegTS)
    #expect(abs((media.duration ?? 0) - 300) < 1, "\(media.duration ?? 0)")
    #expect(media.warnings == [])
  }

  /// Only the first picture in a packet has a timestamp.
  @Test func picturesThatShareAPacketOfAProgramStreamCount() throws {
    let source = [
      "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25:duration=8", "-f", "lavfi", "-i",
      "sine=duration=8:sample_rate=48000",
    ]
    let bytes = try FFmpegTool.make("a.vob", source + Self.h264.dropLast(2) + ["-c:a", "mp2"]).allBytes
    let file = try #require(OpenFile(holding: bytes))
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let media = try file.read(as: .mpegPS, by: ways).media
      #expect(media.video?.frameRate?.description == "25/1", "\(media.video?.frameRate?.description ?? "")")
      #expect(media.video?.variableFrameRate != true)
      #expect(abs((media.duration ?? 0) - 8) < 0.4, "\(media.duration ?? 0)")
    }
  }

  @Test func scrambledPacketsSayNothing() throws {
    var bytes = try make("a.ts", Self.h264 + ["-c:a", "aac"])
    for packet in stride(from: 0, to: bytes.count - 187, by: 188) {
      let id = Int(bytes[packet + 1] & 0x1f) << 8 | Int(bytes[packet + 2])
      guard id == 0x100 || id == 0x101 else { continue }
      bytes[packet + 3] |= 0x80
      let start = packet + 4 + (bytes[packet + 3] & 0x20 != 0 ? Int(bytes[packet + 4]) + 1 : 0)
      for at in start..<max(start, packet + 188) { bytes[at] ^= 0x5A }
    }
    let media = try read(bytes, as: .mpegTS)
    #expect(media.encrypted == true)
    #expect(media.video?.width == nil)
    #expect(media.video?.frameRate == nil)
    #expect(media.warnings == [], "\(media.warnings)")
    #expect(media.audio.allSatisfy { $0.channels == nil })
    #expect(media.duration.map { abs($0 - 2) < 0.3 } ?? true, "\(media.duration ?? 0)")
  }

  @Test(arguments: [
    (Array("Caf\u{E9}".unicodeScalars.map { UInt8($0.value) }), "Café"),
    ([0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2], "Привет"),
    ([0x54, 0, 0xE9, 0, 0x74, 0], "Tét"),
  ])
  func tagsOfAnAVIAreDecoded(text: [UInt8], title: String) throws {
    // As long as the longest of the titles.
    var bytes = try make("a.avi", ["-c:v", "mpeg4", "-c:a", "mp2", "-metadata", "title=abcdef"])
    let place = try #require(bytes.position(of: "abcdef"))
    bytes.replaceSubrange(place..<(place + 6), with: text + [UInt8](repeating: 0, count: 6 - text.count))
    #expect(try read(bytes, as: .avi).title == title)
  }

  @Test func aCutAVILastsAsLongAsItsHeaderSays() throws {
    let bytes = try make("a.avi", ["-c:v", "mpeg4", "-c:a", "mp2"])
    let media = try read(Array(bytes.prefix(bytes.count * 2 / 3)), as: .avi)
    #expect(media.truncated == true)
    #expect(abs((media.duration ?? 0) - 2) < 0.1, "\(media.duration ?? 0)")
    #expect(media.presentDuration.map { $0 < 1.8 } == true)
  }

  /// OpenDML: one second of pictures in a `RIFF AVIX` continuation.
  @Test func anAVIThatGoesOnAndAnotherAreCounted() throws {
    let part = try make("a.avi", ["-c:v", "mpeg4", "-c:a", "mp2"])
    let list = try #require(part.position(of: "movi"))
    let frame = try #require(part.position(of: "00dc", notBefore: list))
    let size = part[(frame + 4)..<(frame + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
    let frames = repeatElement(part[frame..<(frame + 8 + size + size % 2)], count: 25).joined()
    func chunk(_ name: String, _ contents: [UInt8]) -> [UInt8] {
      let length = withUnsafeBytes(of: UInt32(contents.count).littleEndian) { Array($0) }
      return Array(name.utf8) + length + contents
    }
    let more = chunk("RIFF", Array("AVIX".utf8) + chunk("LIST", Array("movi".utf8) + frames))
    let alone = try #require(AVIParts(BytesInMemory(all: part + part)))
    #expect(alone.count == 2 && abs((alone.seconds ?? 0) - 4) < 0.2)
    let going = try #require(AVIParts(BytesInMemory(all: part + more + part + more)))
    #expect(going.count == 2 && abs((going.seconds ?? 0) - 6) < 0.2, "\(going.seconds ?? 0)")
    let media = try read(part + more + part + more, as: .avi)
    #expect(abs((media.duration ?? 0) - 6) < 0.2, "\(media.duration ?? 0)")
    #expect(media.warnings.contains { $0.code == .clockJumps }, "\(media.warnings)")
  }

  /// As satellite cards record: sixteen bytes of error correction follow each packet.
  @Test(arguments: [3, 40]) func packetsOf204BytesAreFollowed(seconds: Int) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=\(seconds)"]
    let coded = Self.h264 + ["-b:v", "300k", "-muxrate", "2M"]
    let plain = try FFmpegTool.make("a.ts", source + coded).allBytes
    let packets = stride(from: 0, to: plain.count, by: 188).map { Array(plain[$0..<($0 + 188)]) }
    let whole = packets.flatMap { $0 + [UInt8](repeating: 0, count: 16) }
    #expect(try read(whole, as: .mpegTS).warnings == [])
    let media = try read(whole + whole, as: .mpegTS)
    #expect(abs((media.duration ?? 0) - 2 * Double(seconds)) < 0.3, "\(media.duration ?? 0)")
    #expect(media.warnings.map(\.code) == [.clockJumps], "\(media.warnings)")
    // The scrambling control bits.
    let scrambled = packets.flatMap { packet in
      let id = Int(packet[1] & 0x1F) << 8 | Int(packet[2])
      var changed = packet
      if id >= 0x100, id < 0x1FFF { changed[3] |= 0x80 }
      return changed + [UInt8](repeating: 0, count: 16)
    }
    #expect(try read(scrambled, as: .mpegTS).encrypted == true)
  }

  @Test func tagsOfAnOggAreInItsStreams() throws {
    let bytes = try make("a.ogv", ["-c:v", "libtheora", "-c:a", "libvorbis", "-metadata", "title=Tide"])
    #expect(try read(bytes, as: .ogg).title == "Tide")
  }

  /// Audio tracks may count samples, so that durations have other units; no other rate has that meaning.
  @Test func aRateOfNoSoundExcusesNoDurationOfAnMXF() throws {
    let arguments = ["-c:v", "mpeg2video", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", "-ar", "48000"]
    var bytes = try make("a.mxf", arguments)
    #expect(try read(bytes, as: .mxf).warnings == [])
    let fields = HeaderField.all(of: bytes, .mxf)
    let duration = try #require(fields.first { $0.name == "Duration below" })
    duration.write(duration.value(in: bytes) * 10, into: &bytes)
    try #require(fields.last { $0.name == "EditRate" }).write(59_507, into: &bytes)
    let media = try read(bytes, as: .mxf)
    #expect(media.warnings.contains { $0.fact == "duration" && $0.code == .durationMismatch })
    #expect(media.warnings.contains { $0.code == .frameRateMismatch })
  }

  @Test func theDateOfAnASFIsRead() throws {
    var bytes = try make("a.wmv", ["-c:v", "wmv2", "-c:a", "wmav2"])
    let field = try #require(HeaderField.all(of: bytes, .asf).first { $0.name == "properties date" })
    field.write(UInt64((1_700_000_000 + 11_644_473_600) * 10_000_000), into: &bytes)
    #expect(try read(bytes, as: .asf).createdAt?.timeIntervalSince1970 == 1_700_000_000)
    field.write(0, into: &bytes)
    #expect(try read(bytes, as: .asf).createdAt == nil)
  }

  /// Bytes inserted, lost or overwritten in the middle: what follows them is still read.
  @Test(arguments: [
    ("a.mkv", ["-c:v", "mpeg4", "-c:a", "ac3", "-cluster_time_limit", "1000"]),
    ("a.mkv", ["-c:v", "mpeg4", "-c:a", "ac3", "-cluster_time_limit", "1000", "-live", "1"]),
    ("a.wmv", ["-c:v", "wmv2", "-c:a", "wmav2"]),
    ("a.avi", ["-c:v", "mpeg4", "-c:a", "mp2"]),
  ])
  func aDamagedPlaceIsNotTheEnd(name: String, codecs: [String]) throws {
    for seconds in [6, 60] {
      let source = ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=\(seconds)"]
      let tone = ["-f", "lavfi", "-i", "sine=sample_rate=44100:duration=\(seconds)"]
      let whole = try FFmpegTool.make(name, source + tone + ["-b:v", "500k"] + codecs).allBytes
      let container = try #require(OpenFile(holding: whole)?.sniffed)
      #expect(try read(whole, as: container).warnings == [])
      let (place, length) = (whole.count * 2 / 5, Double(seconds))
      var state: UInt32 = 7
      let noise = (0..<777).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: state >> 24)
      }
      for (lost, added) in [(0, noise), (3000, []), (777, noise)] {
        let media = try read(Array(whole[..<place]) + added + whole[(place + lost)...], as: container)
        let what = "\(name) \(codecs), \(seconds) s, \(lost) lost, \(added.count) put in: \(media.warnings)"
        #expect(abs((media.duration ?? 0) - length) < 0.05 * length, "\(media.duration ?? 0), \(what)")
        // A file that states its size is truncated if bytes are lost; overwriting bytes moves nothing.
        let isNamed = media.warnings.contains { $0.code == .claimUnchecked && $0.fact == "duration" }
        #expect(isNamed || media.truncated == true || lost == added.count, "\(what)")
        #expect(!media.warnings.contains { $0.code == .durationMismatch }, "\(what)")
      }
    }
  }

  /// Part of a live recording, sent twice.
  @Test func aPartThatWasSentTwiceCutsNothingOff() throws {
    let codecs = ["-c:v", "mpeg4", "-c:a", "ac3", "-cluster_time_limit", "500", "-live", "1"]
    let whole = try make("a.mkv", codecs)
    let part = whole.count / 10
    for place in 4..<8 {
      let doubled = Array(whole[..<(place * part)]) + whole[((place - 1) * part)...]
      let media = try read(doubled, as: .matroska)
      #expect(media.truncated != true, "\(place)")
      #expect(media.warnings.contains { $0.fact == "duration" }, "\(media.duration ?? 0)")
    }
  }

  @Test func anASFWhosePacketsAreAllThereIsNotCut() throws {
    let whole = try make("a.wmv", ["-c:v", "wmv2", "-c:a", "wmav2"])
    var bytes = whole
    let properties = try #require(bytes.position(of: [0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11]))
    bytes.replaceSubrange((properties + 40)..<(properties + 44), with: [0xFF, 0xE0, 0xF5, 0x05])
    let media = try read(bytes, as: .asf)
    #expect(media.truncated == false && media.warnings == [], "\(media.warnings)")
    #expect(try read(Array(whole.dropLast(whole.count / 3)), as: .asf).truncated == true)
  }

  /// Where the tick is the usual one, a rate that the timestamps contradict was simply not adjusted to them.
  @Test(arguments: [("a.mkv", h264), ("a.webm", vp8)]) func slowMotionLastsAsLongAsItsTimesSay(
    name: String, coded: [String]
  ) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=120:duration=1", "-vf", "setpts=4*PTS"]
    var bytes = try FFmpegTool.make(name, picture + coded).allBytes
    let container: MediaContainer = name == "a.webm" ? .webm : .matroska
    let media = try read(bytes, as: container)
    #expect(abs((media.duration ?? 0) - 3.98) < 0.1)
    #expect(media.video?.frameRate?.description == "30/1")
    #expect(media.warnings.allSatisfy { $0.fact == "video.frameRate" }, "\(media.warnings)")
    // With another tick, the tick may be what is wrong.
    let place = try #require(bytes.position(of: [0x2A, 0xD7, 0xB1, 0x83, 0x0F, 0x42, 0x40]))
    bytes.replaceSubrange((place + 4)..<(place + 7), with: [0x1E, 0x84, 0x80])
    let slowed = try read(bytes, as: container)
    #expect(slowed.warnings.contains { $0.fact == "duration" }, "\(slowed.warnings)")
  }

  /// The last audio packet has fewer frames than the others, but more than one.
  @Test(
    arguments: [("a.ts", "aac"), ("a.ts", "mp2"), ("a.m2ts", "ac3"), ("a.mpg", "mp2"), ("a.mpg", "ac3")],
    [2.0, 3.3])
  func theLastPacketOfSoundCounts(made: (name: String, codec: String), seconds: Double) throws {
    let inputs = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=1"]
    let tone = ["-f", "lavfi", "-i", "sine=sample_rate=48000:duration=\(seconds)"]
    let coded = ["-c:v", "mpeg2video", "-c:a", made.codec]
    let file = try FFmpegTool.make(made.name, inputs + tone + coded)
    let container = try #require(file.sniffed)
    let (quick, all) = try (
      file.read(as: container).media.duration, file.read(as: container, by: [.thorough]).media.duration
    )
    #expect(abs((quick ?? 0) - (all ?? 0)) < 0.06, "\(quick ?? 0) \(all ?? 0)")
  }

  /// Multiplexers also list streams that are not on air.
  @Test func aVideoWithoutPacketsIsNotShown() throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=96x48:rate=25:duration=2"]
    let maps = ["-map", "0:v", "-map", "2:v", "-map", "1:a"]
    let whole = try make("a.ts", picture + maps + Self.h264 + ["-c:a", "aac"])
    #expect(try read(whole, as: .mpegTS).video?.width == 64)
    var bytes: [UInt8] = []
    for at in stride(from: 0, to: whole.count - 187, by: 188)
    where whole[at + 1] & 0x1f != 1 || whole[at + 2] != 0 {
      bytes += whole[at..<(at + 188)]
    }
    let file = try #require(OpenFile(holding: bytes))
    for media in [try file.read(as: .mpegTS).media, try file.read(as: .mpegTS, by: [.thorough]).media] {
      #expect(media.video?.width == 96 && media.video?.streams == 1 && media.video?.hasSamples == true)
      #expect(media.video?.frameRate?.value == 25)
    }
  }
}
