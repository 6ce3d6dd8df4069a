import ReelCore
import ReelTestSupport
import Testing

@testable import ReelPicture

/// Videos whose right poster is known, each checked once by eye: the poster is compared with the picture drawn into
/// the video.
@Suite(.notQuick, .needsFFmpeg)
struct PosterTableTests {
  /// Bars of many colors that look different upside down and in a mirror.
  static let bars = "smptebars=size=640x360:rate=25:duration=1"

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var file = "a.mp4"
    /// The arguments that make the video, except for its name.
    let recipe: [String]
    /// The filter that makes the still look like the right picture.
    var filter = "null"
    var size = (width: 512, height: 288)
    /// The largest permitted distance from it.
    var distance = 3.0
    /// A change of the file's bytes.
    var change: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    init(_ name: String, _ recipe: [String]) {
      (testDescription, self.recipe) = (name, recipe)
    }

    func with(_ change: (inout Case) -> Void) -> Case {
      var copy = self
      change(&copy)
      return copy
    }
  }

  private static let h264 = ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "12", "-pix_fmt", "yuv420p"]
  private static let still = ["-f", "lavfi", "-i", bars]

  /// Good enough for a poster, but with less contrast than black on white.
  private static let dim = "drawbox=color=0x606060:t=fill,drawgrid=w=40:h=40:t=2:color=0xA0A0A0"

  private static func turned(_ name: String, _ matrix: [Int32], _ filter: String) -> Case {
    Case(name, still + h264).with {
      $0.filter = filter
      if filter.contains("transpose") { $0.size = (288, 512) }
      $0.change = { DisplayMatrixPatch.apply(matrix, to: $0) }
    }
  }

  private static func wide(_ name: String, _ transfer: String) -> Case {
    Case(
      name,
      still + [
        "-vf",
        "format=gbrp,setparams=color_primaries=bt709:color_trc=iec61966-2-1:colorspace=gbr:range=pc,"
          + "zscale=t=linear:npl=203,format=gbrpf32le,"
          + "zscale=p=2020:t=\(transfer):m=2020_ncl:r=limited:npl=203,format=yuv420p10le",
        "-c:v", "libx265", "-preset", "ultrafast", "-crf", "8", "-tag:v", "hvc1", "-x265-params",
        "log-level=none:pools=1:frame-threads=1", "-color_primaries", "bt2020", "-color_trc", transfer,
        "-colorspace", "bt2020nc",
      ]
    ).with { $0.distance = 9 }
  }

  static let cases: [Case] = [
    Case("plain", still + h264),
    Case("Matroska", still + h264).with { $0.file = "a.mkv" },
    Case("MPEG-TS", still + h264).with { $0.file = "a.ts" },
    Case("VP9", still + ["-c:v", "libvpx-vp9", "-cpu-used", "8", "-crf", "20", "-b:v", "0"]).with {
      $0.file = "a.webm"
    },
    Case("AV1", still + ["-c:v", "libsvtav1", "-preset", "12", "-crf", "20"]).with { $0.file = "a.mkv" },
    Case("MPEG-2", still + ["-c:v", "mpeg2video", "-q:v", "2"]).with { $0.file = "a.mpg" },
    Case(
      "black for three seconds",
      [
        "-f", "lavfi", "-i", "color=black:s=640x360:r=25:d=3", "-f", "lavfi", "-i",
        "smptebars=s=640x360:r=25:d=5",
      ]
        + ["-filter_complex", "concat=n=2"] + h264),
    Case(
      "black for three seconds, no key frame after",
      [
        "-f", "lavfi", "-i", "color=black:s=640x360:r=25:d=3", "-f", "lavfi", "-i",
        "smptebars=s=640x360:r=25:d=5",
      ]
        + ["-filter_complex", "concat=n=2"] + h264 + ["-g", "1000", "-sc_threshold", "0"]),
    Case(
      "a white flash at a tenth",
      still + [
        "-f", "lavfi", "-i", "color=white:s=640x360:r=25:d=0.4", "-f", "lavfi", "-i",
        "smptebars=s=640x360:r=25:d=6", "-filter_complex", "[0]trim=duration=0.6[a];[a][1][2]concat=n=3",
        "-force_key_frames", "0.6,1,3",
      ] + h264),
    Case(
      "fading in",
      ["-f", "lavfi", "-i", "smptebars=s=640x360:r=25:d=6", "-vf", "fade=in:0:50"] + h264 + ["-g", "1000"]
    ).with { $0.distance = 8 },
    Case(
      "blurred for two seconds",
      ["-f", "lavfi", "-i", "smptebars=s=640x360:r=25:d=2,gblur=sigma=60"]
        + ["-f", "lavfi", "-i", "smptebars=s=640x360:r=25:d=6", "-filter_complex", "[0][1]concat=n=2"] + h264
        + ["-force_key_frames", "0,1,2,3,5"]),
    Case(
      "a white card with little on it before a dim picture",
      [
        "-f", "lavfi", "-i",
        "color=white:s=640x360:r=25:d=2,drawgrid=w=80:h=80:t=2:color=black",
        "-f", "lavfi", "-i", "smptebars=s=640x360:r=25:d=6,\(dim)", "-filter_complex", "[0][1]concat=n=2",
      ] + h264 + ["-force_key_frames", "0,1,2,3,5"]
    ).with { $0.filter = dim },
    turned("turned by 90", [0, 1, -1, 0], "transpose=1"),
    turned("turned by 180", [-1, 0, 0, -1], "hflip,vflip"),
    turned("turned by 270", [0, -1, 1, 0], "transpose=2"),
    turned("mirrored", [-1, 0, 0, 1], "hflip"),
    turned("upside down in a mirror", [1, 0, 0, -1], "vflip"),
    turned("turned by 90 and mirrored", [0, 1, 1, 0], "transpose=0"),
    turned("turned by 270 and mirrored", [0, -1, -1, 0], "transpose=3"),
    Case("wide pixels", still + ["-vf", "scale=320:360,setsar=2"] + h264),
    Case("high pixels", still + ["-vf", "scale=640:180,setsar=1/2"] + h264).with { $0.size = (320, 180) },
    Case("small", still + ["-vf", "scale=160:90"] + h264).with { $0.size = (160, 90) },
    Case("large", still + ["-frames:v", "1", "-vf", "scale=7680:4320:out_color_matrix=bt709"] + h264),
    Case("one frame", still + ["-frames:v", "1"] + h264),
    Case("full range", still + ["-vf", "scale=out_range=pc", "-pix_fmt", "yuvj420p", "-c:v", "libx264"]),
    Case(
      "BT.709",
      still + ["-vf", "scale=out_color_matrix=bt709", "-colorspace", "bt709", "-color_primaries", "bt709"]
        + ["-color_trc", "bt709"] + h264),
    Case(
      "BT.709, by its size",
      ["-f", "lavfi", "-i", "smptebars=s=1280x720:r=25:d=0.4", "-vf", "scale=out_color_matrix=bt709"] + h264),
    Case(
      "BT.709, by its size, decoded at half of it",
      ["-f", "lavfi", "-i", "smptebars=s=1280x720:r=25:d=0.4", "-vf", "scale=out_color_matrix=bt709"]
        + ["-c:v", "mpeg2video", "-q:v", "2"]
    ).with {
      $0.file = "a.mpg"
      $0.distance = 4
    },
    Case(
      "narrow pixels that are many",
      still + ["-vf", "scale=1024:576,setsar=1/2", "-c:v", "mpeg4", "-q:v", "2"]
    ).with { $0.size = (455, 512) },
    Case("4:4:4", still + ["-c:v", "libx264", "-pix_fmt", "yuv444p", "-crf", "12"]),
    Case("ten bits", still + ["-c:v", "libx264", "-pix_fmt", "yuv420p10le", "-crf", "12"]),
    Case("red, green and blue", still + ["-c:v", "qtrle"]).with { $0.file = "a.mov" },
    Case("a palette at the beginning", still + ["-c:v", "rawvideo", "-pix_fmt", "pal8"]).with {
      $0.file = "a.avi"
      $0.distance = 6
    },
    Case(
      "a fourth byte of zeros in uncompressed AVI",
      still + ["-vf", "format=rgba,colorchannelmixer=aa=0", "-c:v", "rawvideo", "-pix_fmt", "bgra"]
    ).with { $0.file = "a.avi" },
    wide("HDR10", "smpte2084"),
    // zscale maps diffuse white differently than BT.2408; ToneMapperTests has the numbers.
    wide("HLG", "arib-std-b67").with { $0.distance = 17 },
    Case(
      "cut off",
      ["-f", "lavfi", "-i", "smptebars=s=640x360:r=25:d=8"] + h264 + ["-movflags", "+faststart", "-g", "12"]
    )
    .with { $0.change = { Array($0.prefix($0.count * 2 / 3)) } },
    Case("cut off within a transport stream", ["-f", "lavfi", "-i", "smptebars=s=640x360:r=25:d=4"] + h264)
      .with {
        $0.file = "a.ts"
        $0.change = { Array($0.prefix($0.count / 2)) }
      },
  ]

  @Test(arguments: cases)
  func showsTheRightPicture(_ one: Case) throws {
    let bytes = one.change(try FFmpegTool.make(one.file, one.recipe))
    let poster = try TestVideo(bytes).poster()
    #expect(poster.width == one.size.width && poster.height == one.size.height)
    let distance = try Look(jpeg: poster.jpeg).distance(to: try Look(drawn: Self.bars, one.filter))
    #expect(distance < one.distance, "it is \(distance) away")
    #expect(!poster.isCover)
    #expect(poster.time != nil)
  }

  /// Otherwise every picture would count as right.
  @Test func whatIsNotTheRightPictureIsFarAway() throws {
    let bars = try Look(drawn: Self.bars)
    for filter in ["hflip", "vflip", "hflip,vflip", "negate", "hue=h=90", "eq=brightness=-0.3"] {
      #expect(bars.distance(to: try Look(drawn: Self.bars, filter)) > 20, "\(filter)")
    }
  }

  @Test func transparencyStandsOnGrey() throws {
    let bytes = try FFmpegTool.make(
      "a.mov",
      ["-f", "lavfi", "-i", "color=red@0.5:s=320x180,format=argb", "-frames:v", "1", "-c:v", "qtrle"])
    let look = try Look(jpeg: try TestVideo(bytes).poster().jpeg)
    let pixel = look.colours[0..<3].map(Int.init)
    #expect(abs(pixel[0] - 191) < 6 && abs(pixel[1] - 64) < 6 && abs(pixel[2] - 64) < 6, "\(pixel)")
  }

  @Test(arguments: ["yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuva420p", "yuv420p10le", "gray", "bgr0"])
  func noColumnIsLeftOut(_ format: String) throws {
    for width in [16, 20, 22, 23, 24, 30, 100, 350, 360, 500] {
      let bytes = try FFmpegTool.make(
        "a.mkv",
        ["-f", "lavfi", "-i", "color=white:s=\(2 * width)x96,scale=\(width):48", "-frames:v", "1"]
          + ["-c:v", "ffv1", "-pix_fmt", format])
      // Unscaled and scaled.
      for side in [512, width - 3] {
        let frames = try TestVideo(bytes).frames(count: 1, side: max(side, 48))
        let picture = try #require(frames.first?.picture)
        #expect(picture.bytes.allSatisfy { $0 > 240 }, "\(width) columns, shown as \(picture.width)")
      }
    }
  }

  @Test func onePixelIsAPicture() throws {
    let bytes = try FFmpegTool.make(
      "a.mkv",
      ["-f", "lavfi", "-i", "color=lime:s=2x2:r=25:d=1,scale=1:1", "-c:v", "ffv1", "-pix_fmt", "bgr0"])
    let poster = try TestVideo(bytes).poster()
    #expect(poster.width == 1 && poster.height == 1)
    #expect(try Look(jpeg: poster.jpeg).colours[1] > 200)
  }

  @Test(arguments: ["mpeg2video", "libx264"])
  func interlacedPicturesHaveNoCombs(_ codec: String) throws {
    // A bar that moves across the picture, at a different place in each field.
    let bytes = try FFmpegTool.make(
      "a.ts",
      [
        "-f", "lavfi", "-i", "color=gray:s=352x288:r=50:d=2", "-f", "lavfi", "-i",
        "testsrc2=s=96x288:r=50:d=2", "-filter_complex",
        "[0][1]overlay=x='mod(t*600,256)',tinterlace=interleave_top,setfield=tff", "-c:v", codec, "-b:v",
        "8M",
        "-flags", "+ildct+ilme",
      ])
    let frames = try TestVideo(bytes).frames(count: 1, side: 352)
    let picture = try #require(frames.first?.picture)
    #expect(Self.combs(picture) < 1.2, "\(Self.combs(picture))")
  }

  /// The ratio of the differences between adjacent rows to those between every other row.
  private static func combs(_ picture: RawPicture) -> Double {
    let row = 3 * picture.width
    var (next, second) = (1, 1)
    for y in 0..<picture.height - 2 {
      for x in 0..<row {
        let here = Int(picture.bytes[y * row + x])
        next += abs(here - Int(picture.bytes[(y + 1) * row + x]))
        second += abs(here - Int(picture.bytes[(y + 2) * row + x]))
      }
    }
    return Double(next) / Double(second)
  }

  // MARK: Covers

  private static let withCover =
    ["-f", "lavfi", "-i", "color=gray:s=64x48:r=25:d=1,noise=alls=60", "-f", "lavfi", "-i", bars]
    + ["-map", "0", "-map", "1", "-c:v:0", "libx264", "-c:v:1", "png", "-disposition:v:1", "attached_pic"]

  @Test func aCoverIsTakenWhereItIsAskedFor() throws {
    let video = try TestVideo(try FFmpegTool.make("a.mp4", Self.withCover))
    let cover = try video.poster(prefersCover: true)
    #expect(cover.isCover && cover.time == nil && cover.width == 512)
    #expect(try Look(jpeg: cover.jpeg).distance(to: try Look(drawn: Self.bars)) < 5)
    let frame = try video.poster()
    #expect(!frame.isCover && frame.width == 64)
  }

  @Test func soundWithACoverHasOneOnlyWhereItIsAskedFor() throws {
    let bytes = try FFmpegTool.make(
      "a.mp4",
      ["-f", "lavfi", "-i", "sine=d=1", "-f", "lavfi", "-i", Self.bars, "-map", "0", "-map", "1"]
        + ["-c:v", "png", "-disposition:v:0", "attached_pic"])
    let video = try TestVideo(bytes)
    #expect(try video.poster(prefersCover: true).isCover)
    #expect(throws: PosterError.self) { try video.poster() }
    #expect((try? video.poster()) == nil)
  }
}

/// Writes a display matrix into an MP4's first track.
enum DisplayMatrixPatch {
  static func apply(_ matrix: [Int32], to bytes: [UInt8]) -> [UInt8] {
    let name = Array("tkhd".utf8)
    guard let place = bytes.indices.dropLast(100).first(where: { bytes[$0..<$0 + 4].elementsEqual(name) })
    else {
      return bytes
    }
    var bytes = bytes
    let nine = [matrix[0], matrix[1], 0, matrix[2], matrix[3], 0, 0, 0]
    for (index, number) in nine.enumerated() {
      let fixed = UInt32(bitPattern: number << 16)
      for byte in 0..<4 {
        bytes[place + 44 + 4 * index + byte] = UInt8(truncatingIfNeeded: fixed >> (24 - 8 * UInt32(byte)))
      }
    }
    return bytes
  }
}
