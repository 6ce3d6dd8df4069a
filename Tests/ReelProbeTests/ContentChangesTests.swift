import ReelCore
import Testing

@testable import ReelProbe

/// Pictures and sound that become others in the middle of a file.
struct ContentChangesTests {
  private func changes(_ bytes: [UInt8]) throws -> [MediaWarning] {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed), by: [.thorough]).media.warnings.filter {
      $0.code == .contentChanges
    }
  }

  /// VP8, from the 31st of 50 pictures on half as high.
  @Test func aSizeThatChanges() throws {
    var bytes = SmallMatroska().bytes
    #expect(try changes(bytes) == [])
    let mark: [UInt8] = [0x9D, 0x01, 0x2A, 64, 0, 48, 0]
    let places = (0..<(bytes.count - mark.count)).filter {
      bytes[$0] == mark[0] && bytes[$0...].starts(with: mark)
    }
    #expect(places.count == 50)
    for place in places.dropFirst(30) { bytes[place + 5] = 24 }
    let told = try changes(bytes)
    #expect(told.map(\.fact) == ["video"])
    #expect(told.map(\.stated) == [.text("64x48")] && told.map(\.measured) == [.text("64x24")])
  }

  /// A second of one and a second of another, one behind the other.
  @Test(
    .enabled(if: FFmpegTool.path != nil, "needs the ffmpeg program"),
    arguments: [
      ("ts", "mpeg2video", "ac3", 0), ("ts", "libx264", "mp2", 0), ("ts", "libx265", "aac", 0),
      ("flv", "libx264", "aac", 13), ("mpg", "mpeg2video", "mp2", 0),
    ] as [(String, String, String, Int)])
  func joinedFiles(name: String, video: String, audio: String, head: Int) throws {
    func part(_ size: String, _ channels: Int, at second: Int) throws -> [UInt8]? {
      try FFmpegTool.make(
        "a.\(name)",
        [
          "-f", "lavfi", "-i", "testsrc=size=\(size):rate=25:duration=1", "-f", "lavfi", "-i",
          "sine=frequency=440:sample_rate=44100:duration=1", "-c:v", video, "-pix_fmt", "yuv420p", "-c:a",
          audio,
          "-ac", "\(channels)", "-output_ts_offset", "\(second)",
        ])?.allBytes
    }
    guard let first = try part("64x48", 1, at: 0), let same = try part("64x48", 1, at: 1),
      let other = try part("96x48", 2, at: 1)
    else { return }
    #expect(try changes(first + same.dropFirst(head)) == [])
    let told = try changes(first + other.dropFirst(head))
    let picture = told.first { $0.fact == "video" }
    #expect(picture?.stated == .text("64x48") && picture?.measured == .text("96x48"), "\(told)")
    let sound = told.first { $0.fact == "audio.0.channels" }
    #expect(sound?.stated == .number(1) && sound?.measured == .number(2), "\(told)")
  }
}
