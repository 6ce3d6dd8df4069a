import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@Suite("paths are bytes")
struct SourcePathTests {
  struct Holder: Codable, Equatable {
    let path: SourcePath

    init(_ path: SourcePath) { self.path = path }

    init(from decoder: any Decoder) throws {
      path = try SourcePath(from: try decoder.container(keyedBy: SourcePathCoding.self))
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: SourcePathCoding.self)
      try path.encode(into: &container)
    }
  }

  @Test("UTF-8 is kept; other bytes are escaped in the text and kept beside it")
  func text() throws {
    let plain = SourcePath("clips/häuser 🎬.mp4")
    #expect(plain.text == "clips/häuser 🎬.mp4")
    let broken = SourcePath(bytes: [0x61, 0xFF, 0xC3, 0xA4, 0xC3, 0x2E, 0x6D])
    #expect(broken.text == #"a\xffä\xc3.m"#)
    #expect(!broken.isUTF8)
    let json = String(decoding: try JSONEncoder().encode(Holder(broken)), as: UTF8.self)
    #expect(json.contains("pathBytes"))
    #expect(!String(decoding: try JSONEncoder().encode(Holder(plain)), as: UTF8.self).contains("pathBytes"))
  }

  @Test("any bytes survive JSON unchanged")
  func roundTrip() throws {
    let seed = TestSeed.drawn()
    let random = SeededRandomness(seed: seed)
    for _ in 0..<500 {
      let path = SourcePath(bytes: random.bytes(Int(random.number(below: 40))))
      let back = try JSONDecoder().decode(Holder.self, from: JSONEncoder().encode(Holder(path)))
      #expect(back.path == path, "seed \(seed)")
    }
  }

  @Test(
    "the claimed extension is found",
    arguments: [
      ("a.MP4", "mp4"), ("dir.mov/a", nil), (".hidden", nil), (".hidden.mp4", "mp4"), ("a.", nil),
      ("a.b.webm", "webm"),
      ("", nil), ("-i.mp4", "mp4"),
    ] as [(String, String?)])
  func claimedExtension(name: String, claim: String?) {
    #expect(SourcePath(name).claimedExtension == claim)
  }

  @Test(
    "the name shown for a file at an address is percent-decoded",
    arguments: [
      ("clips/a%20b.mp4", "a%20b.mp4"), ("s3://bucket/a%20b.mp4", "a%20b.mp4"),
      ("https://host/a%20b.mp4", "a b.mp4"), ("https://host/x/S%C3%BC%C3%9Fes.mp4", "Süßes.mp4"),
      ("http://host/%E6%97%A5.mp4", "日.mp4"), ("https://host/a%2520b.mp4", "a%20b.mp4"),
      // Text that would decode to an invalid name stays as it is.
      ("https://host/a%2Fb.mp4", "a%2Fb.mp4"), ("https://host/a%0Ab.mp4", "a%0Ab.mp4"),
      ("https://host/a%00.mp4", "a%00.mp4"), ("https://host/a%FF.mp4", "a%FF.mp4"),
      ("https://host/100%.mp4", "100%.mp4"), ("https://host/a%7Fb", "a%7Fb"),
      ("https://host/watch/", "watch"), ("https://host/watch//", "watch"), ("https://host/", nil),
      ("https://host/%2E%2E", "%2E%2E"), ("https://host/%2e", "%2e"),
      ("https://host", nil), ("https://host:8080/a.mp4", "a.mp4"), ("HTTPS://host/a%20b", "a b"),
    ] as [(String, String?)])
  func fileName(_ path: String, _ name: String?) { #expect(SourcePath(path).fileName == name) }
}
