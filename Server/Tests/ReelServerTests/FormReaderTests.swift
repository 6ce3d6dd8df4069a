import NIOCore
import Testing

@testable import ReelServer

@Suite struct FormReaderTests {
  private static let video = String(repeating: "v", count: 500_000)
  private static let whole = part("video; filename=a.mp4", video) + "--b--\r\n"

  private static func part(_ name: String, _ value: String) -> String {
    "--b\r\nContent-Disposition: form-data; name=\(name)\r\n\r\n\(value)\r\n"
  }

  /// Returns the form, and its video.
  private func read(_ text: String, by size: Int = 5_000) throws -> (FormReader, String) {
    let form = try #require(try FormReader(contentType: "multipart/form-data; boundary=b"))
    var (rest, video) = (ByteBuffer(string: text), "")
    while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
      video += String(buffer: try form.video(in: piece))
    }
    try form.check()
    return (form, video)
  }

  @Test func takesVideoAndWords() throws {
    let words = Self.part("caption", "Hi") + Self.part("other", String(repeating: "x", count: 40_000))
    for size in [4_999, 1_000_000] {
      let (form, video) = try read(words + Self.whole + "epilogue", by: size)
      #expect(video == Self.video)
      #expect(form["caption"] == "Hi" && form["author"] == nil && form["other"] == nil)
    }
  }

  @Test func aFileWithoutBytesIsNone() throws {
    #expect(try read(Self.part("a; filename=\"\"", "") + Self.whole).1 == Self.video)
    #expect(throws: Problem.self) { _ = try read(Self.part("a; filename=a.mp4", "") + "--b--") }
    #expect(try read(Self.part("caption", "") + Self.whole).0["caption"] == nil)
  }

  @Test(arguments: [
    whole + String(repeating: "x", count: 70_000),
    part("other", String(repeating: "x", count: 70_000)) + whole,
    String(repeating: part("x", ""), count: 3_000) + whole,
    part("caption", String(repeating: "x", count: 20_000)) + whole,
    part("caption", "Hi") + "--b--",
    part("caption", "Hi") + part("caption", "") + whole,
    part("v; filename=a", "a") + whole,
  ])
  func refusesWhatHasNoEnd(text: String) {
    #expect(throws: Problem.self) { _ = try read(text) }
  }
}
