import FoundationEssentials
import ReelCore
import Testing

@Suite("facts")
struct FactsTests {
  @Test("a meaningless ratio is unknown", arguments: [(0, 0), (30, 0), (0, 1), (-1, 1), (1, -1)])
  func ratios(numerator: Int, denominator: Int) {
    #expect(Rational(numerator, denominator) == nil)
  }

  @Test("rates and pixel aspect ratios are written as the file states them")
  func ratioJSON() throws {
    let rate = FrameRate(try #require(Rational(30000, 1001)))
    let shape = SampleAspectRatio(try #require(Rational(4, 3)))
    #expect(try JSONEncoder().encode([rate]) == Data(#"["30000\/1001"]"#.utf8))
    #expect(try JSONEncoder().encode([shape]) == Data(#"["4:3"]"#.utf8))
    #expect(try JSONDecoder().decode([FrameRate].self, from: Data(#"["30000/1001"]"#.utf8)) == [rate])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([FrameRate].self, from: Data(#"["0/0"]"#.utf8))
    }
  }

  @Test("unknown facts are written as null, and null is read as unknown")
  func unknown() throws {
    let media = MediaInfo(container: .webm, size: 10)
    let json = try JSONEncoder().encode(media)
    #expect(String(decoding: json, as: UTF8.self).contains(#""duration":null"#))
    #expect(try JSONDecoder().decode(MediaInfo.self, from: json) == media)
  }

  @Test("a digest has 32 bytes and is read and written as hexadecimal")
  func digest() throws {
    #expect(ContentDigest(sha256: [1, 2]) == nil)
    let digest = try #require(ContentDigest(sha256: (0..<32).map { UInt8($0 * 8) }))
    #expect(ContentDigest(hex: digest.hex) == digest)
    #expect(ContentDigest(hex: digest.description.uppercased()) == nil)
    #expect(ContentDigest(hex: digest.hex.uppercased()) == digest)
    #expect(ContentDigest(hex: "zz" + digest.hex.dropFirst(2)) == nil)
  }

  @Test("a name's extension is compared with the container")
  func extensions() {
    #expect(MediaContainer.mov.contradicts(claimedExtension: "mp4"))
    #expect(!MediaContainer.mp4.contradicts(claimedExtension: "m4v"))
    #expect(!MediaContainer.webm.contradicts(claimedExtension: nil))
    for container in MediaContainer.allCases {
      #expect(!container.contradicts(claimedExtension: container.fileExtension))
    }
  }

  @Test("metadata from one source is not overwritten by a later source")
  func words() {
    let flags = PostMetadata(authorID: "flag")
    let list = PostMetadata(authorID: "list", caption: "list")
    let sidecar = PostMetadata(caption: "sidecar", music: "sidecar")
    #expect(
      flags.completed(by: list).completed(by: sidecar)
        == PostMetadata(authorID: "flag", caption: "list", music: "sidecar"))
  }
}

@Suite("the default policy")
struct DefaultIntakePolicyTests {
  static func video() -> MediaInfo {
    var media = MediaInfo(container: .mp4, size: 10)
    var video = VideoFacts()
    video.width = 16
    video.height = 9
    video.hasSamples = true
    media.video = video
    media.truncated = false
    return media
  }

  struct Case: Sendable {
    var hasVideo = true
    var truncated: Bool? = false
    var hasSamples: Bool? = true
    var width: Int? = 16
    var external: Bool?
    var rules: [String] = []

    var media: MediaInfo {
      var media = DefaultIntakePolicyTests.video()
      media.truncated = truncated
      media.video?.hasSamples = hasSamples
      media.video?.width = width
      media.external = external
      if !hasVideo { media.video = nil }
      return media
    }
  }

  @Test(
    "the default policy accepts whole videos, and names every rule that others break",
    arguments: [
      Case(),
      Case(truncated: nil),
      Case(hasSamples: nil),
      Case(hasVideo: false, rules: ["video.none"]),
      Case(truncated: true, rules: ["file.truncated"]),
      Case(hasSamples: false, width: nil, rules: ["video.empty", "video.size"]),
      Case(external: false),
      Case(external: true, rules: ["media.external"]),
      Case(hasVideo: false, truncated: true, rules: ["video.none", "file.truncated"]),
    ])
  func verdicts(given: Case) {
    #expect(DefaultIntakePolicy().violations(in: given.media).map(\.rule) == given.rules)
  }
}
