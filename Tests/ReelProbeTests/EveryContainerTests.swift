import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// How to make a file, and the facts that must be found.
struct Recipe: Sendable, CustomTestStringConvertible {
  let name: String
  let container: MediaContainer
  let arguments: [String]
  /// Whether a truncated half can be recognized as such.
  var showsCut = true
  var width = 64
  var height = 48

  var testDescription: String { name }

  static let all: [Recipe] = [
    Recipe(name: "a.mp4", container: .mp4, arguments: h264 + aac),
    Recipe(name: "fast.mp4", container: .mp4, arguments: h264 + aac + ["-movflags", "+faststart"]),
    Recipe(
      name: "fragments.mp4", container: .mp4,
      arguments: h264 + aac + ["-g", "10", "-movflags", "frag_keyframe+empty_moov"]),
    Recipe(
      name: "sidx.mp4", container: .mp4,
      arguments: h264 + aac + ["-g", "10", "-movflags", "dash+global_sidx+frag_keyframe"]),
    Recipe(name: "a.mov", container: .mov, arguments: h264 + aac),
    Recipe(
      name: "hevc.mov", container: .mov,
      arguments: ["-c:v", "libx265", "-x265-params", "log-level=none"] + aac),
    Recipe(name: "a.m4v", container: .m4v, arguments: h264 + aac),
    Recipe(name: "a.3gp", container: .threeGP, arguments: h264 + aac),
    Recipe(name: "a.3g2", container: .threeG2, arguments: h264 + aac),
    Recipe(name: "a.mkv", container: .matroska, arguments: h264 + aac),
    Recipe(name: "vp8.webm", container: .webm, arguments: ["-c:v", "libvpx"] + opus),
    Recipe(name: "vp9.webm", container: .webm, arguments: ["-c:v", "libvpx-vp9"] + opus),
    Recipe(name: "a.avi", container: .avi, arguments: ["-c:v", "mpeg4", "-c:a", "mp2"]),
    Recipe(name: "a.ts", container: .mpegTS, arguments: h264 + aac, showsCut: false),
    Recipe(
      name: "a.m2ts", container: .m2ts, arguments: h264 + aac + ["-mpegts_m2ts_mode", "1"], showsCut: false),
    Recipe(
      name: "a.mpg", container: .mpegPS, arguments: ["-c:v", "mpeg2video", "-c:a", "mp2"], showsCut: false),
    Recipe(
      name: "a.vob", container: .mpegPS, arguments: ["-c:v", "mpeg2video", "-c:a", "ac3"], showsCut: false),
    Recipe(name: "a.flv", container: .flv, arguments: h264 + aac),
    Recipe(name: "flv1.flv", container: .flv, arguments: ["-c:v", "flv", "-an"]),
    Recipe(name: "a.ogv", container: .ogg, arguments: ["-c:v", "libtheora", "-c:a", "libvorbis"]),
    Recipe(name: "a.wmv", container: .asf, arguments: ["-c:v", "wmv2", "-c:a", "wmav2"]),
    Recipe(
      name: "a.mxf", container: .mxf, arguments: ["-c:v", "mpeg2video", "-c:a", "pcm_s16le", "-ar", "48000"]),
  ]

  private static let h264 = ["-c:v", "libx264"]
  private static let aac = ["-c:a", "aac"]
  private static let opus = ["-c:a", "libopus"]
}

@Suite(.notQuick, .needsFFmpeg)
struct EveryContainerTests {
  @Test(arguments: Recipe.all) func isReadWhole(recipe: Recipe) throws {
    let file = try make(recipe)
    #expect(file.sniffed == recipe.container)
    let media = try file.read(as: recipe.container).media
    let video = try #require(media.video)
    #expect(media.container == recipe.container)
    #expect(video.width == recipe.width)
    #expect(video.height == recipe.height)
    #expect(video.rotation == 0)
    #expect(video.mirrored == false)
    #expect(video.hasSamples == true)
    #expect(video.frameRate?.value == 25)
    #expect(video.variableFrameRate == false)
    #expect(video.pixelFormat?.hasPrefix("yuv4") == true)
    #expect(media.truncated != true)
    #expect(media.encrypted != true)
    #expect(media.warnings == [])
    #expect(abs((media.duration ?? 0) - 2) < 0.15, "\(media.duration ?? 0)")
    #expect(media.audio.allSatisfy { $0.codec != nil && $0.channels != nil && $0.sampleRate != nil })
  }

  @Test(arguments: Recipe.all) func allWaysAgree(recipe: Recipe) throws {
    let file = try make(recipe)
    expectAllWaysAgree(on: file, recipe.name)
    let half = try #require(OpenFile(holding: Array(file.allBytes.prefix(Int(file.size) / 2))))
    expectAllWaysAgree(on: half, "half of \(recipe.name)")
  }

  /// FFmpeg has stopped looking before it reaches the picture. (Without `mpeg4` in a Blu-ray stream, where it is private
  /// data, and one picture too little to recognise it by.)
  @Test(
    arguments: ["libx264", "libx265", "mpeg2video"].flatMap { encoder in
      ["a.ts", "a.m2ts", "a.mkv"].map { ($0, encoder) }
    } + [("a.ts", "mpeg4"), ("a.mkv", "mpeg4")])
  func aStillPictureBesideSoundIsSeen(name: String, encoder: String) throws {
    // Not `-frames:v 1`, with which FFmpeg 5.1 ends the sound, too.
    let still = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=0.04"]
    let tone = ["-f", "lavfi", "-i", "sine=duration=60"]
    let coded = ["-pix_fmt", "yuv420p", "-c:v", encoder, "-c:a", "aac"]
    let m2ts = name == "a.m2ts" ? ["-mpegts_m2ts_mode", "1"] : []
    let file = try FFmpegTool.make(name, still + tone + coded + m2ts)
    let container = try #require(file.sniffed)
    expectAllWaysAgree(on: file, name)
    for ways in [FFmpegReader.quickWays, [.thorough]] {
      let media = try file.read(as: container, by: ways).media
      let video = media.video
      #expect(media.warnings == [])
      #expect(media.audio.map(\.codec) == ["aac"])
      #expect(video?.width == 64 && video?.height == 48 && video?.pixelFormat == "yuv420p")
      #expect(video?.chroma == "4:2:0" && video?.bitDepth == 8 && video?.variableFrameRate != true)
    }
  }

  @Test(arguments: Recipe.all.filter(\.showsCut)) func halfOfItIsTruncated(recipe: Recipe) throws {
    let file = try make(recipe)
    let half = try #require(OpenFile(holding: Array(file.allBytes.prefix(Int(file.size) / 2))))
    let media: MediaInfo
    do throws(ProbeError) {
      media = try half.read(as: recipe.container).media
    } catch {
      // If the index is at the end, half of the file has none.
      #expect(error.code == .truncated || error.code == .indexMissing, "\(error.message)")
      return
    }
    #expect(media.truncated == true)
    let present = try #require(media.presentDuration)
    #expect((0.3...1.9).contains(present), "\(present) of 2 s")
    #expect(media.warnings.map(\.code) == [.truncated])
    let message = media.warnings.first?.message ?? ""
    #expect(message.contains("seconds are there") || message.contains("seconds of it"), "\(message)")
  }

  private func make(_ recipe: Recipe) throws -> OpenFile {
    try FFmpegTool.make(
      recipe.name, FFmpegTool.picture + FFmpegTool.tone + ["-pix_fmt", "yuv420p"] + recipe.arguments)
  }
}
