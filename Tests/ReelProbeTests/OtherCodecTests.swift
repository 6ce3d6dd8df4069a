import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Codecs other than H.264, HEVC and the open ones: those whose frames have their own headers, and those whose decoder
/// parses a header without decoding a picture. All ways of reading must agree.
@Suite(.notQuick, .needsFFmpeg)
struct OtherCodecTests {
  private static let proRes: [[String]] = [
    [], ["-profile:v", "proxy"], ["-profile:v", "lt"], ["-profile:v", "hq"], ["-flags", "+ildct"],
    ["-profile:v", "4444", "-pix_fmt", "yuv444p10le"], ["-profile:v", "4444", "-pix_fmt", "yuva444p10le"],
    ["-profile:v", "4444xq", "-pix_fmt", "yuv444p10le"], ["-vf", "setsar=4/3"],
    ["-vf", FFmpegTool.pq], ["-vf", FFmpegTool.hlg],
  ].map { ["-pix_fmt", "yuv422p10le", "-c:v", "prores_ks"] + $0 }

  private static let dnx: [[String]] = [
    ["-profile:v", "dnxhr_lb", "-pix_fmt", "yuv422p", "-vf", "scale=256:128"],
    ["-profile:v", "dnxhr_sq", "-pix_fmt", "yuv422p", "-vf", "scale=256:128"],
    ["-profile:v", "dnxhr_hq", "-pix_fmt", "yuv422p", "-vf", "scale=256:128"],
    ["-profile:v", "dnxhr_hqx", "-pix_fmt", "yuv422p10le", "-vf", "scale=256:128"],
    ["-profile:v", "dnxhr_444", "-pix_fmt", "yuv444p10le", "-vf", "scale=256:128"],
    ["-profile:v", "dnxhr_444", "-pix_fmt", "gbrp10le", "-vf", "scale=256:128"],
    ["-profile:v", "dnxhr_sq", "-pix_fmt", "yuv422p", "-vf", "scale=256:1200,setsar=4/3"],
    ["-b:v", "120M", "-pix_fmt", "yuv422p", "-vf", "scale=1920:1080"],
    ["-b:v", "185M", "-pix_fmt", "yuv422p10le", "-vf", "scale=1920:1080"],
    ["-b:v", "120M", "-pix_fmt", "yuv422p", "-flags", "+ildct", "-vf", "scale=1920:1080"],
    ["-b:v", "90M", "-pix_fmt", "yuv422p10le", "-vf", "scale=1280:720"],
  ].map { ["-c:v", "dnxhd"] + $0 }

  @Test(arguments: proRes + dnx) func studioCodecsAreTheSameAllWays(arguments: [String]) throws {
    FFmpegTool.expectAllWaysAgree(in: ["a.mov", "a.mkv", "a.avi"], frames: 3, arguments)
    // MXF accepts only some profiles.
    FFmpegTool.expectAllWaysAgree(in: ["a.mxf", "a.mov"], frames: 24, arguments)
  }

  /// Uncompressed pixels have no mark.
  @Test(arguments: ["yuyv422", "uyvy422", "yuv420p", "rgb24", "bgr24", "bgra", "rgb555le", "gray", "pal8"])
  func pixelsAreWhatTheirHeaderSays(format: String) throws {
    for name in ["a.avi", "a.mov", "a.mkv"] {
      let source = ["-f", "lavfi", "-i", "testsrc2=size=66x50:rate=10:duration=0.5"]
      guard let file = try? FFmpegTool.make(name, source + ["-c:v", "rawvideo", "-pix_fmt", format]) else {
        continue
      }
      for media in try file.readBothWays(as: #require(file.sniffed)) {
        // QuickTime has no name for planar formats.
        #expect(media.video?.pixelFormat != nil || name == "a.mov" && format == "yuv420p", "\(name)")
        #expect(media.warnings.isEmpty, "\(name): \(media.warnings)")
      }
    }
  }

  private static let described: [[String]] =
    [
      [], ["-vf", "scale=66:50,setsar=4/3"], ["-bf", "2"], ["-flags", "+ildct+ilme"], ["-b:v", "100k"],
      ["-minrate", "2M", "-maxrate", "2M", "-b:v", "2M", "-bufsize", "1M"],
      ["-vf", FFmpegTool.pq],
    ].flatMap { options in
      ["mpeg1video", "mpeg2video", "mpeg4"]
        // MPEG-1 has no fields.
        .filter { $0 != "mpeg1video" || !options.contains("+ildct+ilme") }
        .map { ["-pix_fmt", "yuv420p", "-c:v", $0] + options }
    } + [
      ["-pix_fmt", "yuv422p", "-c:v", "mpeg2video"],
      ["-pix_fmt", "yuv420p", "-c:v", "mpeg4", "-profile:v", "15"],
      ["-pix_fmt", "yuv420p", "-c:v", "mpeg4", "-flags", "+qpel"], ["-pix_fmt", "yuvj420p", "-c:v", "mjpeg"],
      ["-pix_fmt", "yuvj422p", "-c:v", "mjpeg"], ["-pix_fmt", "yuvj444p", "-c:v", "mjpeg"],
      ["-pix_fmt", "yuv420p", "-strict", "-1", "-c:v", "mjpeg", "-vf", "scale=66:50,setsar=4/3"],
      ["-pix_fmt", "yuv420p", "-vf", "scale=176:144", "-c:v", "h263"],
      ["-pix_fmt", "yuv420p", "-vf", "scale=128:96", "-c:v", "h263p"],
      ["-pix_fmt", "yuv420p", "-c:v", "msmpeg4v2"], ["-pix_fmt", "yuv420p", "-c:v", "msmpeg4"],
      ["-pix_fmt", "yuv420p", "-c:v", "wmv1"], ["-pix_fmt", "yuv420p", "-c:v", "wmv2"],
      ["-pix_fmt", "yuv420p", "-c:v", "flv"], ["-pix_fmt", "yuv420p", "-c:v", "ffv1"],
      ["-pix_fmt", "rgb24", "-c:v", "png"], ["-pix_fmt", "rgb24", "-c:v", "jpeg2000"],
      ["-pix_fmt", "yuv420p", "-vf", "scale=720:576", "-c:v", "dvvideo"],
    ]

  @Test(arguments: described) func codecsWithADecoderAreTheSameAllWays(arguments: [String]) throws {
    FFmpegTool.expectAllWaysAgree(
      in: ["a.mov", "a.mp4", "a.3gp", "a.mkv", "a.avi", "a.ts", "a.mpg", "a.flv", "a.wmv"], frames: 40,
      arguments)
    FFmpegTool.expectAllWaysAgree(in: ["a.mov", "a.mkv"], frames: 1, arguments)
  }

  /// Its decoder may not be opened, and FFmpeg 5.1 omits the size in the metadata.
  @Test(arguments: [("flashsv", "a.flv"), ("flashsv2", "a.flv"), ("flashsv", "a.avi")])
  func screenVideoTellsItsSize(encoder: String, name: String) throws {
    let coded = FFmpegTool.picture + ["-frames:v", "12", "-c:v", encoder]
    let file = try FFmpegTool.make(name, coded)
    let container = try #require(file.sniffed)
    ReelProbeTests.expectAllWaysAgree(on: file, "\(encoder) in \(name)")
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let media = try file.read(as: container, by: ways).media
      #expect(media.video?.width == 64 && media.video?.height == 48 && media.video?.pixelFormat == "bgr24")
      #expect(media.warnings == [])
    }
  }

  /// Where the header states the rest, neither is a picture decoded nor are twenty packets read.
  @Test(arguments: [
    ("prores_ks", "yuv422p10le", "a.mov"), ("dnxhd", "yuv422p", "a.mov"),
    ("prores_ks", "yuv422p10le", "a.mkv"),
    ("mpeg4", "yuv420p", "a.mp4"), ("mpeg4", "yuv420p", "a.mkv"), ("mjpeg", "yuvj420p", "a.mov"),
    ("mpeg2video", "yuv420p", "a.mov"),
  ])
  func anOrdinaryHeaderIsTrusted(encoder: String, format: String, name: String) throws {
    let profile = encoder == "dnxhd" ? ["-profile:v", "dnxhr_sq", "-vf", "scale=256:128"] : []
    let made = try FFmpegTool.make(
      name, FFmpegTool.picture + ["-frames:v", "12", "-c:v", encoder, "-pix_fmt", format] + profile)
    let container = try #require(made.sniffed)
    #expect(try made.read(as: container).method == .header)
  }

  /// A recording that begins between two key frames.
  @Test(arguments: [("libx264", []), ("libx264", ["-x264-params", "pic-struct=1"]), ("libx265", [])])
  func aStreamThatBeginsInTheMiddleIsTheSameAllWays(encoder: String, options: [String]) throws {
    let arguments = FFmpegTool.picture + ["-c:v", encoder, "-pix_fmt", "yuv420p", "-g", "12"] + options
    let made = try FFmpegTool.make("a.ts", arguments)
    var methods: Set<ProbeMethod> = []
    for packets in [3, 5, 8, 12, 20, 30] {
      let tables = made.allBytes.prefix(3 * 188)
      let file = try #require(OpenFile(holding: Array(tables + made.allBytes[(188 * packets)...])))
      methods.formUnion(ReelProbeTests.expectAllWaysAgree(on: file, "\(encoder) from packet \(packets)"))
    }
    #expect(methods.contains(.packets))
  }

  /// Its packets begin anywhere in a picture, which does not count against the codec.
  @Test(arguments: ["mpeg2video", "mpeg1video"]) func aCutMultiplexIsOfItsCodec(encoder: String) throws {
    let arguments = FFmpegTool.picture + FFmpegTool.tone + ["-c:v", encoder, "-b:v", "2M", "-c:a", "mp2"]
    let made = try FFmpegTool.make("a.mpg", arguments)
    let bytes = made.allBytes
    for part in 1...8 {
      let from = part * bytes.count / 20
      for start in [from, from / 2048 * 2048] {
        let file = try #require(OpenFile(holding: Array(bytes[start...])))
        guard let container = file.sniffed else { continue }
        let warnings = try file.read(as: container).media.warnings
        #expect(!warnings.contains { $0.fact == "video.codec" }, "\(start): \(warnings)")
      }
    }
  }

  /// Codecs for which FFmpeg trusts the size in the sample entry.
  @Test(
    arguments: [("cfhd", "yuv422p10le"), ("svq1", "yuv410p"), ("cinepak", "rgb24"), ("hap", "rgba")],
    [(192, 144), (64, 48), (126, 96), (96, 128)])
  func aSizeThatIsClaimedIsHeldToThePictures(codec: (String, String), claim: (Int, Int)) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=0.4"]
    let coded = ["-c:v", codec.0, "-pix_fmt", codec.1]
    let made = try FFmpegTool.make("a.mov", source + coded)
    for media in try made.readBothWays(as: .mov) {
      #expect(media.video?.storedWidth == 128 && media.video?.storedHeight == 96 && media.warnings.isEmpty)
    }
    var movie = MovieBytes(made.allBytes)
    let entry = try #require(movie.entry(of: "vide"))
    movie.write(UInt64(claim.0), at: entry + 32, bytes: 2)
    movie.write(UInt64(claim.1), at: entry + 34, bytes: 2)
    for media in try #require(OpenFile(holding: movie.bytes)).readBothWays(as: .mov) {
      // Players crop this much; blocks do not show which side is longer.
      if claim.0 == 126 || codec.0 == "hap" && claim.0 == 96 {
        #expect(media.video?.storedWidth == claim.0 && !media.warnings.contains { $0.fact == "video" })
        continue
      }
      let warning = try #require(media.warnings.first { $0.fact == "video" }, "\(media.warnings)")
      #expect(warning.stated == .text("\(claim.0)x\(claim.1)"))
      #expect(warning.code == (codec.0 == "hap" ? .claimUnchecked : .sizeMismatch))
      #expect(media.video?.storedWidth == (codec.0 == "hap" ? claim.0 : 128))
    }
  }

  /// A size in the sample entry that the pictures contradict.
  @Test(arguments: [("mpeg2video", "m2v1"), ("prores_ks", "apch")])
  func aHeaderThatLiesAboutTheSizeIsNotBelieved(encoder: String, tag: String) throws {
    let options = encoder == "prores_ks" ? ["-pix_fmt", "yuv422p10le", "-profile:v", "hq"] : []
    let made = try FFmpegTool.make("a.mov", FFmpegTool.picture + ["-c:v", encoder] + options)
    var bytes = made.allBytes
    let entry = try #require(bytes.position(of: tag, notBefore: bytes.position(of: "stsd") ?? 0))
    bytes.replaceSubrange((entry + 28)..<(entry + 32), with: [0x07, 0x80, 0x04, 0x38])
    let file = try #require(OpenFile(holding: bytes))
    for media in try file.readBothWays(as: .mov) {
      #expect(media.video?.storedWidth == 64)
      #expect(media.warnings.map(\.message).contains("its header says 1920x1080, its pictures are 64x48"))
    }
  }

}
