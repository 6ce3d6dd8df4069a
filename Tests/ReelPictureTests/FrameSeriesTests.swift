import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelPicture

@Suite(.notQuick, .needsFFmpeg)
struct FrameSeriesTests {
  /// The pictures are three years apart.
  @Test func aTimeThatNoVideoHasIsUnknown() throws {
    let video = try TestVideo(
      try FFmpegTool.make(
        "a.mkv",
        ["-f", "lavfi", "-i", "testsrc=size=320x240:rate=1:duration=3", "-vf", "setpts=N*100000000/TB"]
          + ["-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-g", "1", "-c:v", "libx264"]
          + ["-preset", "ultrafast", "-pix_fmt", "yuv420p"]))
    let frames = try video.frames(count: 3)
    #expect(!frames.isEmpty && frames.allSatisfy { $0.time.map { $0 < 31_536_000 } ?? true })
  }

  /// There is one key frame, at the beginning, and no index.
  @Test(arguments: ["a.ts", "a.mpg"]) func aShortTransportStreamHasAllItsPictures(_ name: String) throws {
    let encoder =
      name == "a.ts" ? ["-c:v", "libx264", "-preset", "veryfast"] : ["-c:v", "mpeg2video", "-g", "600"]
    let video = try TestVideo(
      try FFmpegTool.make(
        name, ["-f", "lavfi", "-i", "testsrc2=s=480x480:r=25:d=3", "-pix_fmt", "yuv420p"] + encoder))
    let frames = try video.frames(count: 6)
    let times = frames.compactMap(\.time)
    #expect(frames.count == 6 && times == times.sorted() && Set(times).count == 6, "\(times)")
  }

  /// Cut without re-encoding: the only key frame is before the part that the edit list shows.
  @Test func aTrimmedVideoHasAllItsPictures() throws {
    let whole = try FFmpegTool.make(
      "a.mp4",
      ["-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=4", "-c:v", "libx264", "-preset", "ultrafast"]
        + ["-g", "600", "-pix_fmt", "yuv420p"])
    let path = NSTemporaryDirectory() + "/reel-trim-\(UUID().uuidString).mp4"
    try Data(whole).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let video = try TestVideo(try FFmpegTool.make("b.mp4", ["-ss", "2", "-i", path, "-c", "copy"]))
    let times = try video.frames(count: 4).compactMap(\.time)
    #expect(times.count == 4 && times == times.sorted(), "\(times)")
  }

  @Test func moreThanASheetHasRoomForIsSaid() throws {
    let video = try TestVideo(
      try FFmpegTool.make(
        "a.mp4",
        ["-f", "lavfi", "-i", "testsrc=size=2560x1440:rate=1:duration=14", "-g", "1", "-c:v", "libx264"]
          + ["-preset", "ultrafast", "-pix_fmt", "yuv420p"]))
    #expect(try video.frames(count: 10, side: 2560).count == 10)
    let error = #expect(throws: PosterError.self) { try video.frames(count: 14, side: 2560) }
    #expect(error?.code == .memoryLimit && error?.message.contains("ask for fewer") == true)
  }
}
