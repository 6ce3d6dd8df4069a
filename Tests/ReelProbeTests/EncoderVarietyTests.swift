import Foundation
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Variations that encoders can write into a bit stream, in containers that state less. All ways of reading must
/// agree, and facts that are only in the bit stream must be found.
@Suite(.notQuick, .needsFFmpeg)
struct EncoderVarietyTests {
  static let h264: [[String]] = [
    [], ["-profile:v", "baseline"], ["-pix_fmt", "yuv422p"], ["-pix_fmt", "yuv444p"],
    ["-pix_fmt", "yuv420p10le"],
    ["-pix_fmt", "yuv422p10le"], ["-pix_fmt", "yuvj420p"], ["-pix_fmt", "gray"],
    ["-color_range", "pc"], ["-vf", "setsar=4/3"], ["-vf", "setsar=1000/999"], ["-vf", "scale=66:50"],
    ["-vf", "scale=1920:1080"], ["-flags", "+ildct+ilme"], ["-x264-params", "cqm=jvt"],
    ["-x264-params", "bframes=3:ref=5:slices=4"], ["-vf", FFmpegTool.hlg], ["-vf", FFmpegTool.pq],
    ["-x264-params", "overscan=show:videoformat=pal"], ["-x264-params", "alternative-transfer=18"],
    ["-x264-params", "pic-struct=1"], ["-x264-params", "pulldown=double"],
    ["-x264-params", "nal-hrd=vbr", "-maxrate", "1M", "-bufsize", "1M"],
    ["-x264-params", "repeat-headers=1"], ["-bf", "0", "-g", "1"], ["-tune", "zerolatency"],
  ]
  static let hevc: [[String]] = [
    [], ["-pix_fmt", "yuv420p10le"], ["-pix_fmt", "yuv422p10le"], ["-pix_fmt", "yuv444p"],
    ["-pix_fmt", "yuv420p12le"],
    ["-color_range", "pc"], ["-vf", "scale=66:50,setsar=4/3"], ["-vf", "scale=1920:1080"],
    ["-vf", FFmpegTool.hlg], ["-vf", FFmpegTool.pq],
    ["-x265-params", "scaling-list=default"], ["-x265-params", "temporal-layers=3"],
    ["-x265-params", "bframes=8:ref=6"],
    ["-x265-params", "repeat-headers=1"], ["-x265-params", "interlace=tff"],
    ["-x265-params", "slices=2", "-vf", "scale=256:256"],
    ["-x265-params", "atc-sei=18"], ["-x265-params", "keyint=1"],
    ["-x265-params", "video-signal-type-preset=BT2100_PQ_YCC"],
    ["-pix_fmt", "gray"],
  ]

  /// Codecs whose headers Reel parses itself.
  static let open: [[String]] = [
    ["-c:v", "libvpx"], ["-c:v", "libvpx", "-vf", "scale=66:50,setsar=4/3"],
    ["-c:v", "libvpx", "-auto-alt-ref", "1", "-lag-in-frames", "5"],
    ["-c:v", "libvpx-vp9"], ["-c:v", "libvpx-vp9", "-vf", "scale=66:50,setsar=4/3"],
    ["-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p10le"], ["-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p12le"],
    ["-c:v", "libvpx-vp9", "-pix_fmt", "yuv444p"], ["-c:v", "libvpx-vp9", "-pix_fmt", "yuva420p"],
    ["-c:v", "libvpx-vp9", "-pix_fmt", "gbrp"], ["-c:v", "libvpx-vp9", "-color_range", "pc"],
    ["-c:v", "libvpx-vp9", "-lossless", "1"],
    ["-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p10le", "-vf", FFmpegTool.pq],
    ["-c:v", "libvpx", "-pix_fmt", "yuva420p", "-auto-alt-ref", "0"],
    ["-c:v", "libsvtav1", "-vf", "scale=80:72"],
    ["-c:v", "libsvtav1", "-vf", "scale=80:72,\(FFmpegTool.hlg)", "-pix_fmt", "yuv420p10le"],
    ["-c:v", "libsvtav1", "-vf", "scale=66:66,setsar=4/3"],
    ["-c:v", "libaom-av1", "-cpu-used", "8"],
    ["-c:v", "libaom-av1", "-cpu-used", "8", "-pix_fmt", "yuv420p10le"],
    ["-c:v", "libaom-av1", "-cpu-used", "8", "-pix_fmt", "yuv444p"],
    ["-c:v", "libaom-av1", "-cpu-used", "8", "-pix_fmt", "gray"],
    ["-c:v", "libaom-av1", "-cpu-used", "8", "-color_range", "pc", "-vf", "scale=66:50,setsar=4/3"],
    ["-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime"],
    ["-c:v", "libaom-av1", "-cpu-used", "8", "-vf", FFmpegTool.pq],
  ]

  @Test(arguments: open) func openCodecsAreTheSameAllWays(options: [String]) throws {
    FFmpegTool.expectAllWaysAgree(
      in: ["a.webm", "a.mkv", "a.mp4"], frames: 12, ["-pix_fmt", "yuv420p"] + options)
    FFmpegTool.expectAllWaysAgree(
      in: ["a.webm", "a.mp4"], frames: 40, ["-pix_fmt", "yuv420p"] + options + Self.live)
  }

  /// As recorded by a browser and as streamed to a player: without a duration, in fragments.
  static let live = ["-live", "1", "-movflags", "frag_keyframe+empty_moov+default_base_moof"]

  @Test(arguments: [
    ("libvpx", "a.webm"), ("libvpx-vp9", "a.webm"), ("libvpx-vp9", "a.mp4"), ("libaom-av1", "a.mp4"),
    ("libsvtav1", "a.mp4"), ("libsvtav1", "a.mkv"),
  ])
  func anOrdinaryHeaderOfAnOpenCodecIsTrusted(encoder: String, name: String) throws {
    let made = try FFmpegTool.make(
      name,
      FFmpegTool.picture + ["-frames:v", "12", "-vf", "scale=80:72", "-c:v", encoder, "-pix_fmt", "yuv420p"])
    let container = try #require(made.sniffed)
    #expect(try made.read(as: container).method == .header)
  }

  /// A size in Matroska's track entry that the bit stream contradicts.
  @Test(arguments: ["libvpx", "libvpx-vp9", "libaom-av1"]) func aTrackThatLiesAboutTheSizeIsNotBelieved(
    encoder: String
  ) throws {
    let made = try FFmpegTool.make(
      "a.mkv",
      FFmpegTool.picture + ["-frames:v", "12", "-c:v", encoder, "-cpu-used", "8", "-pix_fmt", "yuv420p"])
    var bytes = made.allBytes
    // PixelWidth and PixelHeight (RFC 9559, 5.1.4.1.28.6), one byte each.
    let width = try #require(bytes.position(of: [0xB0, 0x81, 64, 0xBA, 0x81, 48]))
    bytes[width + 2] = 100
    for media in try #require(OpenFile(holding: bytes)).readBothWays(as: .matroska) {
      #expect(media.video?.storedWidth == 64)
      #expect(media.warnings.map(\.message).contains("its header says 100x48, its pictures are 64x48"))
    }
  }

  @Test(arguments: h264) func h264IsTheSameAllWays(options: [String]) throws {
    let arguments = ["-pix_fmt", "yuv420p", "-c:v", "libx264"] + options
    FFmpegTool.expectAllWaysAgree(in: ["a.mp4", "a.mkv", "a.mov", "a.flv"], frames: 12, arguments)
    FFmpegTool.expectAllWaysAgree(in: ["a.ts"], frames: 40, arguments)
    FFmpegTool.expectAllWaysAgree(in: ["a.mp4", "a.mkv"], frames: 40, arguments + Self.live)
  }

  /// Where FFmpeg guesses timestamps from what a decoder reports, and where there are too few frames to determine a
  /// rate.
  @Test(arguments: [("a.mpg", 12), ("a.mpg", 40), ("a.avi", 40), ("a.ts", 12), ("a.ts", 1), ("a.m2ts", 40)])
  func h264IsTheSameAllWaysWithoutTimes(name: String, frames: Int) throws {
    for options in [[], ["-bf", "0"], ["-flags", "+ildct+ilme"], ["-x264-params", "pulldown=double"]] {
      FFmpegTool.expectAllWaysAgree(
        in: [name], frames: frames, ["-pix_fmt", "yuv420p", "-c:v", "libx264"] + options)
    }
  }

  @Test(arguments: hevc) func hevcIsTheSameAllWays(options: [String]) throws {
    let arguments = ["-pix_fmt", "yuv420p", "-c:v", "libx265"] + options
    FFmpegTool.expectAllWaysAgree(in: ["a.mp4", "a.mkv"], frames: 12, arguments)
    FFmpegTool.expectAllWaysAgree(in: ["a.ts"], frames: 40, arguments)
    FFmpegTool.expectAllWaysAgree(in: ["a.mp4"], frames: 40, arguments + Self.live)
  }

  /// Most streams without a header have one of these codecs.
  @Test(arguments: [
    ("libx264", "a.ts"), ("libx265", "a.ts"), ("libx264", "live.mp4"), ("libvpx", "live.webm"),
  ])
  func noPictureIsDecodedOfOrdinaryPackets(encoder: String, name: String) throws {
    let made = try FFmpegTool.make(
      name,
      FFmpegTool.picture + ["-c:v", encoder, "-pix_fmt", "yuv420p"] + (name == "a.ts" ? [] : Self.live))
    let container = try #require(made.sniffed)
    // Blocks and fragments state their own durations and their frames' steps.
    #expect(try made.read(as: container).method == (name == "a.ts" ? .packets : .header))
  }

  /// Ordinary uploads must be read quickly.
  @Test(arguments: ["libx264", "libx265"], ["a.mp4", "a.mov", "a.mkv"])
  func anOrdinaryHeaderIsTrusted(encoder: String, name: String) throws {
    let made = try FFmpegTool.make(
      name, FFmpegTool.picture + FFmpegTool.tone + ["-c:v", encoder, "-pix_fmt", "yuv420p", "-c:a", "aac"])
    let container = try #require(made.sniffed)
    #expect(try made.read(as: container).method == .header)
  }

  /// With the container's boxes for pixel shape and color renamed, only the bit stream has these facts.
  @Test(arguments: ["libx264", "libx265"]) func whatIsOnlyInTheBitstreamIsSeen(encoder: String) throws {
    let file = try FFmpegTool.make(
      "a.mp4",
      FFmpegTool.picture + [
        "-vf", "setsar=2,\(FFmpegTool.pq)", "-c:v", encoder, "-pix_fmt", "yuv420p10le",
      ])
    let bare = file.allBytes.renaming("pasp", to: "free").renaming("colr", to: "free")
    let media = try #require(OpenFile(holding: bare)).readBothWays(as: .mp4)
    for video in media.compactMap(\.video) {
      #expect(video.sampleAspectRatio?.description == "2:1")
      #expect(video.width == 128)
      #expect(video.hdr?.kind == .pq)
      #expect(video.bitDepth == 10)
      #expect(video.chroma == "4:2:0")
    }
  }

  /// Broadcasts state bt2020 for the sake of old receivers, and HLG in a separate message, which takes precedence.
  @Test(arguments: ["a.mp4", "a.mov", "a.mkv", "a.ts"]) func aTransferThatAMessagePrefersCounts(name: String)
    throws
  {
    let colours = "colorprim=bt2020:transfer=bt2020-10:colormatrix=bt2020nc"
    let arguments = [
      "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p10le", "-x265-params",
      "log-level=0:pools=1:\(colours):atc-sei=18",
    ]
    let made = try FFmpegTool.make(name, FFmpegTool.picture + arguments)
    let container = try #require(made.sniffed)
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
      let media = try made.read(as: container, by: ways).media
      #expect(media.video?.hdr?.kind == .hlg && media.warnings == [], "\(ways) \(media.warnings)")
    }
    // A container that states otherwise, even another high dynamic range, takes precedence, with a warning.
    var bytes = made.allBytes
    guard let place = bytes.position(of: "nclx") ?? bytes.position(of: "nclc") else { return }
    bytes[place + 7] = 16
    let media = try #require(OpenFile(holding: bytes)).read(as: container).media
    #expect(media.video?.hdr?.kind == .pq)
    let told = media.warnings.first { $0.code == .transferMismatch }
    #expect(told?.stated == .text("smpte2084") && told?.measured == .text("arib-std-b67"))
  }

  /// Where the bit stream leaves the transfer open, the container's counts, although an HEVC decoder ignores it.
  @Test(arguments: ["libx264", "libx265"], ["b.mp4", "b.mkv"])
  func whatIsOnlyInTheContainerIsTheSameAllWays(encoder: String, name: String) throws {
    let made = try FFmpegTool.make(
      "a.mp4", FFmpegTool.picture + ["-frames:v", "12", "-pix_fmt", "yuv420p10le", "-c:v", encoder])
    let plain = FileManager.default.temporaryDirectory.appendingPathComponent("reel-\(UUID()).mp4")
    try Data(made.allBytes).write(to: plain)
    defer { try? FileManager.default.removeItem(at: plain) }
    let tagged = try FFmpegTool.make(
      name,
      [
        "-i", plain.path, "-c", "copy", "-color_trc", "smpte2084", "-color_primaries", "bt2020",
        "-colorspace", "bt2020nc", "-movflags", "write_colr",
      ])
    let container = try #require(tagged.sniffed)
    let kinds = try tagged.readBothWays(as: container).map { $0.video?.hdr?.kind }
    #expect(kinds == [.pq, .pq])
  }

  @Test(arguments: ["libx264", "libx265"]) func aHeaderThatLiesAboutTheSizeIsNotBelieved(encoder: String)
    throws
  {
    let made = try FFmpegTool.make(
      "a.mp4",
      FFmpegTool.picture + [
        "-c:v", encoder, "-pix_fmt", "yuv420p", "-tag:v", encoder == "libx264" ? "avc1" : "hvc1",
      ])
    var bytes = made.allBytes
    let entry = try #require(bytes.position(of: encoder == "libx264" ? "avc1" : "hvc1", notBefore: 100))
    bytes.replaceSubrange((entry + 28)..<(entry + 32), with: [0x07, 0x80, 0x04, 0x38])
    for media in try #require(OpenFile(holding: bytes)).readBothWays(as: .mp4) {
      #expect(media.video?.storedWidth == 64)
      #expect(media.video?.storedHeight == 48)
      #expect(media.warnings.map(\.message).contains("its header says 1920x1080, its pictures are 64x48"))
    }
  }

}

extension OpenFile {
  func readBothWays(as container: MediaContainer) throws(ProbeError) -> [MediaInfo] {
    [try read(as: container).media, try read(as: container, alwaysFull: true).media]
  }
}

extension [UInt8] {
  func position(of text: String, notBefore start: Int = 0) -> Int? {
    position(of: Array(text.utf8), notBefore: start)
  }

  func position(of bytes: [UInt8], notBefore start: Int = 0) -> Int? {
    guard count >= bytes.count else { return nil }
    return (start...(count - bytes.count)).first { self[$0...].starts(with: bytes) }
  }

  func renaming(_ box: String, to other: String) -> [UInt8] {
    guard let position = position(of: box) else { return self }
    var renamed = self
    renamed.replaceSubrange(position..<(position + 4), with: Array(other.utf8))
    return renamed
  }
}
