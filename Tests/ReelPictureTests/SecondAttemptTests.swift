import Foundation
import ReelCore
import ReelPicture
import ReelTestSupport
import Testing

/// Files without a picture where one is expected, but with pictures elsewhere.
@Suite(.shortTime, .needsFFmpeg)
struct SecondAttemptTests {
  private static let picture = ["-f", "lavfi", "-i", "testsrc=size=192x108:rate=25:duration=2"]

  private static func expectTestPicture(_ bytes: [UInt8], _ what: String) throws {
    let poster = try TestVideo(bytes).poster()
    let look = try Look(jpeg: poster.jpeg)
    let whole = try Look(drawn: "testsrc=size=192x108")
    #expect(look.distance(to: whole) < 40, "\(what)")
  }

  /// Clears the key frame flags of all blocks in a Matroska file.
  static func unmarked(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    func number(_ place: Int) -> (value: Int, width: Int)? {
      guard place < bytes.count, bytes[place] != 0 else { return nil }
      let width = bytes[place].leadingZeroBitCount + 1
      guard place + width <= bytes.count else { return nil }
      let all = bytes[place..<place + width].reduce(0) { $0 << 8 | Int($1) }
      return (all & (1 << (7 * width) - 1), width)
    }
    var place = 0
    while place < bytes.count, bytes[place] >= 0x10 {
      let idWidth = bytes[place].leadingZeroBitCount + 1
      guard place + idWidth <= bytes.count, let size = number(place + idWidth) else { break }
      let id = bytes[place..<place + idWidth].reduce(0) { $0 << 8 | Int($1) }
      let contents = place + idWidth + size.width
      // Segment and Cluster.
      if id == 0x1853_8067 || id == 0x1F43_B675 {
        place = contents
        continue
      }
      if id == 0xA3, contents + 3 < bytes.count { bytes[contents + 3] &= 0x7F }
      // Cues would reveal the key frames, so they become unknown elements.
      if id == 0x1C53_BB6B { bytes.replaceSubrange(place..<place + 4, with: [0x42, 0x86, 0x80, 0x81]) }
      place = contents + size.value
    }
    return bytes
  }

  @Test(arguments: ["mpeg4", "libx264", "libvpx", "libvpx-vp9", "mpeg2video", "mjpeg"])
  func noKeyFrameIsMarked(_ codec: String) throws {
    let whole = try FFmpegTool.make("a.mkv", Self.picture + ["-c:v", codec, "-g", "12"])
    try Self.expectTestPicture(Self.unmarked(whole), codec)
  }

  @Test(arguments: ["a.mkv", "a.mp4", "a.ts", "a.flv"])
  func theFirstKeyFrameIsMissing(_ name: String) throws {
    // With periodic intra refresh there is no other key frame.
    let encoded =
      Self.picture + [
        "-c:v", "libx264", "-x264-params", "intra-refresh=1:keyint=12:bframes=0:repeat-headers=1",
      ]
    let whole = try FFmpegTool.make("whole.mkv", encoded)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-\(UUID().uuidString).mkv")
    try Data(whole).write(to: folder)
    defer { try? FileManager.default.removeItem(at: folder) }
    let cut = try FFmpegTool.make(
      name, ["-i", folder.path, "-c", "copy", "-bsf:v", "noise=drop=lt(n\\,3)"])
    try Self.expectTestPicture(cut, name)
  }

  @Test(arguments: ["msvideo1", "zmbv"]) func codecsOfOldAndOfScreens(_ codec: String) throws {
    let format = codec == "msvideo1" ? ["-pix_fmt", "rgb555le"] : []
    try Self.expectTestPicture(
      try FFmpegTool.make("a.avi", Self.picture + ["-vf", "scale=192:108"] + format + ["-c:v", codec]), codec)
  }

  /// Stereoscopic pictures in one frame: mkvmerge states the size of the whole frame, FFmpeg's muxer that of one eye.
  @Test(arguments: ["left_right", "top_bottom"]) func picturesForBothEyesAreOne(_ mode: String) throws {
    var bytes = try FFmpegTool.make(
      "a.mkv",
      ["-f", "lavfi", "-i", "testsrc=size=96x54:rate=25:duration=1", "-c:v", "mpeg4"]
        + ["-metadata:s:v", "stereo_mode=\(mode)"])
    for (id, own, whole) in [(0xB0, 48, 96), (0xBA, 27, 54)] as [(UInt8, UInt8, UInt8)] {
      if let place = Data(bytes).range(of: Data([0x54, id, 0x81, own])) {
        bytes[place.upperBound - 1] = whole
      }
    }
    let poster = try TestVideo(bytes).poster()
    #expect((poster.width, poster.height) == (96, 54))
  }

  /// A file without pictures is still reported as such.
  @Test func nothingIsNothing() throws {
    var bytes = try FFmpegTool.make("a.mkv", Self.picture + ["-c:v", "mpeg4", "-frames:v", "3"])
    let cluster = try #require(Data(bytes).range(of: Data([0x1F, 0x43, 0xB6, 0x75]))).lowerBound
    bytes.removeSubrange(cluster...)
    let error = #expect(throws: PosterError.self) { try TestVideo(bytes).poster() }
    #expect(error?.code == .noPicture || error?.code == .corrupt)
  }
}
