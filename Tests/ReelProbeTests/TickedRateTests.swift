import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Clocks with one tick per picture, whose timestamps also fit very different rates.
@Suite(.notQuick, .needsFFmpeg)
struct TickedRateTests {
  @Test(
    arguments: ["24000/1001", "24", "25", "30000/1001", "50", "60000/1001"],
    ["a.mxf -c:v mpeg2video", "a.ogg -c:v libvpx"])
  func isTheClocks(rate: String, kind: String) throws {
    let (name, arguments) = (
      kind.prefix { $0 != " " }, kind.split(separator: " ").dropFirst().map(String.init)
    )
    for seconds in [1, 12] {
      let source = ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=\(rate):duration=\(seconds)"]
      let file = try FFmpegTool.make(
        String(name),
        source + ["-pix_fmt", "yuv420p"] + arguments + (name == "a.ogg" ? ["-f", "ogg"] : []))
      let container = try #require(file.sniffed)
      for ways: Set<ProbeMethod> in [[.header, .packets, .full], [.thorough]] {
        let video = try #require(try file.read(as: container, by: ways).media.video)
        #expect(
          video.frameRate?.description == (rate.contains("/") ? rate : rate + "/1"), "\(seconds) s, \(ways)")
        if name == "a.mxf" { #expect(video.variableFrameRate == false, "\(seconds) s, \(ways)") }
      }
    }
  }

  @Test("H.264 and HEVC that an AVI calls uncompressed are named", arguments: ["libx264", "libx265"])
  func plainPixels(encoder: String) throws {
    let source = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=1", "-pix_fmt", "yuv420p"]
    let made = try FFmpegTool.make("a.avi", source + ["-c:v", encoder])
    var bytes = made.allBytes
    // Both occurrences of the name (AVISTREAMHEADER, BITMAPINFOHEADER); HEVC has none in AVI.
    for place in 0..<400 where bytes[place...].starts(with: "H264".utf8) {
      bytes.replaceSubrange(place..<(place + 4), with: [0, 0, 0, 0])
    }
    let file = try #require(OpenFile(holding: bytes))
    let media = try file.read(as: .avi).media
    #expect(media.video?.pixelFormat == nil && media.video?.bitDepth == nil && media.video?.chroma == nil)
    let warning = try #require(media.warnings.first { $0.fact == "video.codec" }, "\(media.warnings)")
    #expect(warning.measured == .text(encoder == "libx264" ? "h264" : "hevc"))
  }
}
