import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Texts longer than the part that is kept are cut between two characters.
@Suite(.notQuick, .needsFFmpeg)
struct LongTextTests {
  /// With and without an additional byte before the cut, so that it falls within a character in one of the cases.
  @Test(arguments: ["a.avi", "a.mkv", "a.mp4", "a.mov", "a.wmv", "a.ogv"], ["", "a"])
  func aLongTitleStaysWhatItIs(name: String, start: String) throws {
    // Longer than any text that is read.
    let title = start + String(repeating: "é", count: 9000)
    let codec = name == "a.ogv" ? "libtheora" : name == "a.wmv" ? "wmv2" : "mpeg4"
    let arguments = ["-frames:v", "5", "-c:v", codec, "-pix_fmt", "yuv420p", "-metadata", "title=\(title)"]
    let file = try FFmpegTool.make(name, FFmpegTool.picture + arguments)
    let container = try #require(file.sniffed)
    let told = try #require(try file.read(as: container).media.title)
    #expect(title.hasPrefix(told), "\(told.prefix(8))…\(told.suffix(8))")
    #expect((Tags.longestValue - 4...Tags.longestValue).contains(told.utf8.count), "\(told.utf8.count)")
  }
}
