import Foundation
import Glibc
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Files that the quick reading reads only in part: its answer must match the answer from all packets, and the input.
@Suite(.notQuick, .needsFFmpeg, .serialized)
struct LargeFileTests {
  private static let seconds = 75.0

  /// The kind of pictures; all have audio.
  enum Content: String, CaseIterable {
    case even
    /// Stored in another order than displayed.
    case reordered
    /// Two of five frames are missing throughout.
    case uneven
    /// Four of five frames are missing in the middle.
    case slowInTheMiddle

    var filter: String {
      switch self {
      case .even, .reordered: ""
      case .uneven: ",select='not(mod(n,2))+not(mod(n,5))'"
      case .slowInTheMiddle: ",select='lt(t,25)+gte(t,50)+not(mod(n,5))'"
      }
    }

    var frames: Double {
      switch self {
      case .even, .reordered: 1875
      case .uneven: 1125
      case .slowInTheMiddle: 625 + 125 + 625
      }
    }

    var isVariable: Bool { self == .uneven || self == .slowInTheMiddle }
  }

  /// A container to write to, without encoding where it accepts the content as it is.
  struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    var base = Base.h264
    let arguments: String
    var lasts = LargeFileTests.seconds
    /// Whether the container has a constant rate, or missing frames are filled in.
    var isAlwaysEven = false
    var warnings: Set<MediaWarning.Code> = []

    var testDescription: String { "\(name) \(arguments)" }
  }

  enum Base: CaseIterable {
    case h264
    case mpeg2
    case mpeg4

    var arguments: String {
      switch self {
      case .h264: "-c:v libx264 -preset ultrafast -qp 6 -c:a aac -ac 2 -ar 44100"
      case .mpeg2: "-c:v mpeg2video -q:v 2 -c:a mp2 -ac 2 -ar 44100"
      case .mpeg4: "-c:v mpeg4 -q:v 2 -c:a libmp3lame -ac 2 -ar 44100"
      }
    }
  }

  private static let ways: [Way] = [
    Way(name: "a.mp4", arguments: ""), Way(name: "a.mov", arguments: ""), Way(name: "a.mkv", arguments: ""),
    Way(name: "fragments.mp4", arguments: "-movflags frag_keyframe+empty_moov"),
    Way(name: "live.mkv", arguments: "-live 1"), Way(name: "a.flv", arguments: ""),
    Way(name: "a.ts", arguments: ""), Way(name: "a.m2ts", arguments: "-mpegts_m2ts_mode 1"),
    Way(name: "late.ts", arguments: "-output_ts_offset 3600"),
    Way(name: "late.flv", arguments: "-output_ts_offset 3600"),
    Way(
      name: "late.mkv", arguments: "-output_ts_offset 3600", warnings: [.durationMismatch]),
    Way(
      name: "late-fragments.mp4",
      arguments: "-movflags frag_keyframe+empty_moov -output_ts_offset 3600"),
    // An empty edit is part of the presentation.
    Way(name: "late.mp4", arguments: "-output_ts_offset 20", lasts: 95),
    Way(name: "a.avi", base: .mpeg4, arguments: ""), Way(name: "mpeg4.mp4", base: .mpeg4, arguments: ""),
  ]

  /// These need their own encoding, and are made only from the most informative content.
  private static let encoded: [Way] = [
    Way(name: "a.mpg", base: .mpeg2, arguments: "", isAlwaysEven: true),
    Way(name: "a.vob", base: .mpeg2, arguments: "", isAlwaysEven: true),
    Way(name: "mpeg2.ts", base: .mpeg2, arguments: "", isAlwaysEven: true),
    Way(name: "a.mxf", base: .mpeg2, arguments: "-c:a pcm_s16le -ar 48000", isAlwaysEven: true),
  ]

  @Test(arguments: Content.allCases) func whatIsCopiedIsToldAsItIs(content: Content) throws {
    var bases: [Base: OpenFile] = [:]
    for way in Self.ways where content != .reordered || way.base == .h264 {
      let base = try bases[way.base] ?? Self.base(content, way.base)
      bases[way.base] = base
      let input = ["-i", base.path, "-map", "0", "-c", "copy"]
      hold(try FFmpegTool.make(way.name, input + Self.words(way.arguments)), way, content)
    }
  }

  /// For a remote file fewer places are read: facts that they do not confirm are named in warnings.
  @Test(arguments: ["a.mkv", "a.flv", "a.ts", "a.mp4"]) func whatIsFarAwayIsToldOrNamed(name: String) throws {
    for content in [Content.even, .uneven, .slowInTheMiddle] {
      let base = try Self.base(content, .h264)
      let input = ["-i", base.path, "-map", "0", "-c", "copy"]
      let made = try FFmpegTool.make(name, input)
      let media = try made.readFromAfar(as: try #require(made.sniffed)).media
      let rate = content.frames / Self.seconds
      let isNamed = media.warnings.contains { $0.code == .claimUnchecked && $0.fact == "video.frameRate" }
      let told = media.video?.frameRate.map { abs($0.value - rate) < 0.01 * rate } ?? true
      #expect(told || isNamed, "\(content): \(media.video?.frameRate?.description ?? "")")
      let isVariable = media.video?.variableFrameRate
      #expect(isVariable == nil || isVariable == content.isVariable, "\(content)")
      #expect(isVariable != nil || isNamed, "\(content)")
      #expect(abs((media.duration ?? 0) - Self.seconds) < 0.25, "\(content): \(media.duration ?? 0)")
    }
  }

  /// A program stream, and containers without a variable rate.
  @Test func whatIsEncodedForItsContainerIsToldAsItIs() throws {
    let base = try Self.base(.even, .mpeg2)
    for way in Self.encoded {
      let input = ["-i", base.path, "-map", "0", "-c", "copy"]
      hold(try FFmpegTool.make(way.name, input + Self.words(way.arguments)), way, .even)
    }
  }

  @Test(arguments: [Content.even, .uneven, .slowInTheMiddle]) func windowsMedia(content: Content) throws {
    let arguments = Self.picture(content) + Self.words("-c:v wmv2 -q:v 2 -c:a wmav2 -ac 2 -fps_mode vfr")
    hold(try FFmpegTool.make("a.wmv", arguments), Way(name: "a.wmv", arguments: ""), content)
  }

  @Test(arguments: [Content.even, .slowInTheMiddle]) func webM(content: Content) throws {
    let fast = "-c:v libvpx -deadline realtime -cpu-used 16 -b:v 2M -qmax 10 -c:a libopus -ac 2 -fps_mode vfr"
    let made = try FFmpegTool.make("a.webm", Self.picture(content) + Self.words(fast))
    hold(made, Way(name: "a.webm", arguments: ""), content)
  }

  /// Theora pictures are repeated where frames are missing.
  @Test(arguments: [Content.even, .slowInTheMiddle]) func theora(content: Content) throws {
    let arguments = Self.picture(content) + Self.words("-c:v libtheora -q:v 9 -c:a libvorbis -ac 2 -r 25")
    let made = try FFmpegTool.make("a.ogv", arguments)
    hold(made, Way(name: "a.ogv", arguments: "", isAlwaysEven: true), content)
  }

  /// FFmpeg omits the empty packets that repeat a picture since 6.1; the pages still count them.
  @Test func theoraWithoutItsEmptyPackets() throws {
    let arguments =
      Self.picture(.slowInTheMiddle) + Self.words("-c:v libtheora -q:v 9 -c:a libvorbis -ac 2 -r 25")
    let made = try FFmpegTool.make("a.ogv", arguments)
    var pages = OggPages(made.allBytes)
    pages.leaveEmptyPacketsOut()
    hold(
      try #require(OpenFile(holding: pages.bytes)), Way(name: "b.ogv", arguments: "", isAlwaysEven: true),
      .slowInTheMiddle)
  }

  @Test func anAVIWithoutAnIndex() throws {
    let base = try Self.base(.slowInTheMiddle, .mpeg4)
    let input = ["-i", base.path, "-map", "0", "-c", "copy"]
    var bytes = try FFmpegTool.make("a.avi", input).allBytes
    let index = try #require(bytes.lastPosition(of: "idx1"))
    // As a writer leaves it that can't seek back.
    bytes.removeSubrange(index...)
    bytes.replaceSubrange(4..<8, with: [0xFF, 0xFF, 0xFF, 0xFF])
    let list = try #require(bytes.position(of: "movi"))
    bytes.replaceSubrange((list - 4)..<list, with: [0xFF, 0xFF, 0xFF, 0xFF])
    hold(
      try #require(OpenFile(holding: bytes)), Way(name: "unfinished.avi", arguments: ""), .slowInTheMiddle)
  }

  /// Pictures that begin long after the audio.
  @Test(arguments: ["a.mkv", "a.ts", "a.flv"]) func lateStreamsCount(name: String) throws {
    let base = try Self.base(.even, .h264)
    let path = base.path
    let input = [
      "-itsoffset", "20", "-i", path, "-i", path, "-map", "0:v", "-map", "1:a", "-c", "copy",
    ]
    let made = try FFmpegTool.make(name, input)
    hold(made, Way(name: name, arguments: "", lasts: Self.seconds + 20), .even)
  }

  @Test(arguments: ["a.mp4", "a.mov"]) func whatAnEditListHidesIsNotCounted(name: String) throws {
    let base = try Self.base(.reordered, .h264)
    let input = ["-i", base.path, "-map", "0", "-c", "copy"]
    let whole = try FFmpegTool.make("a.mp4", input)
    let cut = ["-ss", "11.3", "-i", whole.path, "-map", "0", "-c", "copy"]
    let made = try FFmpegTool.make(name, cut)
    hold(made, Way(name: name, arguments: "", lasts: Self.seconds - 11.3), .reordered)
  }

  /// The clock of MPEG multiplexes is read in windows that are minutes apart.
  @Test(arguments: [
    ("a.ts", Base.h264, "96x64"), ("a.ts", .h264, "192x128"), ("a.vob", .mpeg2, "96x64"),
  ]) func tenMinutesAreTenMinutes(name: String, base: Base, size: String) throws {
    let pictures = "testsrc2=size=\(size):rate=25:duration=20,noise=alls=100:allf=t,format=yuv420p"
    let sources = ["-f", "lavfi", "-i", pictures, "-f", "lavfi", "-i", "sine=sample_rate=44100:duration=20"]
    let part = try FFmpegTool.make("a.mkv", sources + Self.words("\(base.arguments) -g 50 -bf 0"))
    let input = ["-stream_loop", "29", "-i", part.path, "-map", "0"]
    let made = try FFmpegTool.make(name, input + ["-c", "copy"])
    #expect(made.size * 8 / 600 > 1_000_000, "\(made.size)")
    // FFmpeg 7 puts the audio's last frame between two parts.
    let length = try FFmpegTool.length(of: made)
    #expect(abs(length - 600) < 2, "\(length)")
    try holdLength(of: made, length, "\(name) of \(made.size) bytes")
  }

  /// A still part takes few bytes, but most of the time.
  @Test(arguments: [("a.ts", Base.h264, ""), ("a.ts", .h264, "-an"), ("a.vob", .mpeg2, "")])
  func aStillPartTakesItsTime(name: String, base: Base, flags: String) throws {
    // A thousand frames, of which the 501st is displayed for two hundred seconds.
    let pictures =
      "testsrc2=size=96x64:rate=25:duration=40,noise=alls=100:allf=t,loop=loop=5000:size=1:start=500,setpts=N/25/TB,format=yuv420p"
    let sources = ["-f", "lavfi", "-i", pictures, "-f", "lavfi", "-i", "sine=sample_rate=44100:duration=240"]
    let made = try FFmpegTool.make(
      name, sources + Self.words("\(base.arguments) -b:a 64k -g 250 -bf 0 \(flags)"))
    #expect(made.size > 4 << 20, "\(made.size)")
    try holdLength(of: made, 240, "\(name) \(flags) of \(made.size) bytes")
  }

  /// Checks the duration as a local and as a remote file.
  private func holdLength(of file: OpenFile, _ seconds: Double, _ what: String) throws {
    let container = try #require(file.sniffed)
    let thorough = try file.read(as: container, by: [.thorough]).media
    #expect(abs((thorough.duration ?? 0) - seconds) < 1, "\(what), thoroughly: \(thorough.duration ?? 0)")
    #expect(thorough.warnings.isEmpty, "\(what), thoroughly: \(thorough.warnings)")
    for media in [try file.read(as: container).media, try file.readFromAfar(as: container).media] {
      #expect(abs((media.duration ?? 0) - seconds) < 1, "\(what): \(media.duration ?? 0)")
      #expect(!media.warnings.contains { $0.fact == "duration" }, "\(what): \(media.warnings)")
      #expect(media.video?.frameRate?.value == 25, "\(what)")
    }
  }

  // MARK: Making files

  private static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

  /// Noise, which hardly compresses, at a size that is not a multiple of blocks.
  private static func picture(_ content: Content) -> [String] {
    [
      "-f", "lavfi", "-i",
      "testsrc2=size=68x52:rate=25:duration=\(Int(seconds)),noise=alls=100:allf=t+u,format=yuv420p\(content.filter)",
      "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=\(Int(seconds))",
    ]
  }

  private static func base(_ content: Content, _ base: Base) throws -> OpenFile {
    let order = content == .reordered ? "-bf 2" : base == .h264 ? "-bf 0" : ""
    return try FFmpegTool.make(
      "a.mkv", picture(content) + words("\(base.arguments) -g 50 -fps_mode vfr \(order)"))
  }

  // MARK: Checks

  private func hold(_ file: OpenFile, _ way: Way, _ content: Content) {
    let what = "\(way.testDescription), \(content)"
    guard let container = file.sniffed else {
      Issue.record("\(what): not recognized")
      return
    }
    let quick = Result { try file.read(as: container) }
    let thorough = Result { try file.read(as: container, by: [.thorough]) }
    guard case .success(let quick) = quick, case .success(let thorough) = thorough else {
      Issue.record("\(what): \(quick), thoroughly \(thorough)")
      return
    }
    let wrong = LieVerdict(truth: thorough.media, answer: quick.media).silent(after: [])
    #expect(wrong.isEmpty, "\(what): \(wrong), by \(quick.method)")
    for (media, name) in [(quick.media, "quickly"), (thorough.media, "thoroughly")] {
      holdToTruth(media, way, content, "\(what), \(name)")
    }
  }

  private func holdToTruth(_ media: MediaInfo, _ way: Way, _ content: Content, _ what: String) {
    let codes = Set(media.warnings.map(\.code))
    let isUnchecked = codes.contains(.claimUnchecked)
    #expect(codes.subtracting([.claimUnchecked]) == way.warnings, "\(what): \(media.warnings)")
    #expect(!isUnchecked || content.isVariable, "\(what): \(media.warnings)")
    #expect(abs((media.duration ?? 0) - way.lasts) < 0.25, "\(what): \(media.duration ?? 0)")
    let video = media.video
    #expect(video?.storedWidth == 68, "\(what)")
    #expect(video?.storedHeight == 52, "\(what)")
    #expect(video?.rotation == 0, "\(what)")
    let isVariable = content.isVariable && !way.isAlwaysEven
    let rate = isVariable ? content.frames / Self.seconds : 25
    if let told = video?.frameRate?.value, !isUnchecked {
      #expect(abs(told - rate) < 0.01 * rate, "\(what): \(told), not \(rate)")
    }
    if let told = video?.variableFrameRate { #expect(told == isVariable, "\(what)") }
    #expect(media.audio.count == 1, "\(what)")
    #expect(media.audio.first?.channels == 2, "\(what)")
    #expect([44_100, 48_000].contains(media.audio.first?.sampleRate), "\(what)")
  }
}

extension [UInt8] {
  fileprivate func lastPosition(of text: String) -> Int? {
    let mark = Array(text.utf8)
    return indices.last { self[$0] == mark[0] && self[$0...].starts(with: mark) }
  }
}
