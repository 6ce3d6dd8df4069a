import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// What Matroska's headers claim about the shape of pictures, and about which tracks exist.
struct MatroskaShapeTests {
  private func media(_ bytes: [UInt8], by ways: Set<ProbeMethod>) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed), by: ways).media
  }

  private let allWays: [Set<ProbeMethod>] = [FFmpegReader.quickWays, [.full], [.thorough]]

  /// The pixels are 3:2 both in the pictures and in the header, until the header is changed.
  @Test(
    .needsFFmpeg, arguments: ["libx264", "mpeg4"])
  func theHeadersShapeIsHeldToThePictures(codec: String) throws {
    let made = try FFmpegTool.make(
      "a.mkv", FFmpegTool.picture + ["-vf", "setsar=3/2", "-pix_fmt", "yuv420p", "-c:v", codec])
    var bytes = made.allBytes
    for ways in allWays {
      let found = try media(bytes, by: ways)
      #expect(found.warnings == [] && found.video?.width == 96, "\(ways)")
    }
    // DisplayWidth and DisplayHeight as a ratio of 2:1.
    let ratio: [UInt8] = [0x54, 0xB0, 0x81, 2, 0x54, 0xBA, 0x81, 1]
    let place = try #require((0..<4096).first { bytes[$0...].starts(with: ratio) })
    (bytes[place + 3], bytes[place + 7]) = (4, 3)
    for ways in allWays {
      let told = try media(bytes, by: ways).warnings
      #expect(told.map(\.code) == [.pixelShapeMismatch], "\(ways)")
      #expect(told.map(\.stated) == [.text("1:1")] && told.map(\.measured) == [.text("3:2")], "\(ways)")
    }
    // A shape that no pixel has.
    (bytes[place + 3], bytes[place + 7]) = (255, 1)
    for ways in allWays { #expect(try media(bytes, by: ways).video?.width == 96, "\(ways)") }
  }

  /// FFmpeg takes a JPEG with half the claimed height for one field of an interlaced picture.
  @Test(.needsFFmpeg)
  func motionJPEGHasTheHeightOfItsJPEGs() throws {
    let made = try FFmpegTool.make("a.mkv", FFmpegTool.picture + ["-pix_fmt", "yuvj420p", "-c:v", "mjpeg"])
    var bytes = made.allBytes
    let height: [UInt8] = [0xBA, 0x81, 48]
    let place = try #require((0..<4096).first { bytes[$0...].starts(with: height) })
    for stated in [48, 96] as [UInt8] {
      bytes[place + 2] = stated
      for ways in allWays {
        let found = try media(bytes, by: ways)
        #expect(found.video?.storedHeight == 48, "\(ways)")
        #expect(found.warnings.map(\.code) == (stated == 48 ? [] : [.sizeMismatch]), "\(ways)")
      }
    }
  }

  /// Each packet has two JPEGs of half the height.
  @Test func motionJPEGOfFieldsIsAsHighAsBoth() {
    let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8, 0, 24, 0, 64, 3, 0xFF, 0xD9]
    #expect(!MotionJPEG.isOfFields(jpeg))
    #expect(MotionJPEG.isOfFields(jpeg + [0, 0] + jpeg))
    let size = MotionJPEG.size(of: jpeg)
    #expect(size?.width == 64 && size?.height == 24)
    for count in 0..<jpeg.count { _ = MotionJPEG.size(of: jpeg.prefix(count)) }
    let field: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + "AVI1".utf8 + [1, 0, 0]
    #expect(MotionJPEG.isOfFields(field))
  }

  /// Side by side, one above the other, and interleaved by rows or columns: the picture has the size of both views.
  @Test(arguments: [0, 1, 2, 3, 7, 9, 11]) func picturesForBothEyesAreOne(mode: Int) throws {
    var movie = SmallMatroska()
    movie.stereoMode = mode
    for ways in allWays {
      let video = try media(movie.bytes, by: ways).video
      #expect((video?.width, video?.height) == (64, 48), "\(ways)")
      #expect(video?.sampleAspectRatio?.description == "1:1", "\(ways)")
    }
  }

  /// FFmpeg reads nothing of a file that has blocks of a track missing from the header.
  @Test(.needsFFmpeg)
  func blocksOfAnUnlistedTrackHideNoPictures() throws {
    let made = try FFmpegTool.make(
      "a.mkv", FFmpegTool.picture + FFmpegTool.tone + ["-c:v", "mpeg4", "-c:a", "aac"])
    var bytes = made.allBytes
    let head: [UInt8] = [0xAE, 1, 0, 0, 0, 0, 0, 0]
    let tracks = (0..<8192).filter { bytes[$0...].starts(with: head) }
    #expect(tracks.count == 2)
    // Turn the track into a Void element.
    bytes[try #require(tracks.last)] = 0xEC
    for ways in allWays {
      let found = try media(bytes, by: ways)
      #expect(found.audio == [] && found.video?.hasSamples == true, "\(ways)")
    }
  }
}
