import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

@Suite("sidecars", .shortTime)
struct SidecarTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("clip.mp4")
  }

  private func words(trustAuthor: Bool = false) throws -> PostMetadata? {
    try Sidecar.metadata(
      beside: try FoundFile.named(folder.source("clip.mp4"), followLinks: false), trustAuthor: trustAuthor)
  }

  private func message() -> String? {
    do {
      _ = try words()
      return nil
    } catch {
      let error = error as? SourceError
      return error?.code == .sidecarInvalid ? error?.message : "another code"
    }
  }

  @Test("a sidecar supplies metadata, the author only if trusted; unknown keys have no effect")
  func words() throws {
    #expect(try words() == nil)
    let json =
      #"{"caption":"Sea","music":"","author":"u1","authorName":"Ann","likes":[1,{"a":null}],"caption2":3}"#
    try folder.write("clip.json", Array(json.utf8))
    #expect(try words() == PostMetadata(caption: "Sea"))
    #expect(try words(trustAuthor: true) == PostMetadata(authorID: "u1", authorName: "Ann", caption: "Sea"))
    let clip = try FoundFile.named(folder.source("clip.mp4"), followLinks: false)
    #expect(try Sidecar.contents(beside: clip, trustAuthor: false)?.unknownKeys == ["caption2", "likes"])
  }

  @Test(
    "words of which nothing is seen count as not given",
    arguments: [" ", "\u{A0} ", "\u{200B}", "\u{FEFF} \u{200E}"])
  func blank(_ words: String) throws {
    try folder.write("clip.json", Array(#"{"caption":"\#(words)","music":"a\#(words)"}"#.utf8))
    #expect(try self.words() == PostMetadata(caption: nil, music: "a\(words)"))
    let list = try folder.write(
      "list.csv", Array("path,caption,music\nclip.mp4,\(words),\(words)b\n".utf8))
    let entry = try CaptionList(at: list).entry(for: folder.source("clip.mp4"))
    #expect(entry?.metadata == PostMetadata(music: "\(words)b"))
  }

  @Test(
    "a sidecar whose name looks like its video's is found, whatever the extension's case or the form of accents",
    arguments: [
      ("CLIP.MP4", "CLIP.JSON"), ("clip2.mp4", "clip2.Json"), ("cafe\u{301}.mp4", "caf\u{E9}.json"),
      ("caf\u{E9}.mp4", "cafe\u{301}.JSON"), ("\u{AC00}.mov", "\u{1100}\u{1161}.json"),
    ])
  func alike(_ video: String, _ sidecar: String) throws {
    try folder.folder("a")
    try folder.write("a/" + video)
    try folder.write("a/" + sidecar, Array(#"{"caption":"Sea"}"#.utf8))
    let walked = Walked(["a"], in: folder)
    #expect(walked.orphans == [])
    let file = try #require(walked.files.first)
    #expect(try Sidecar.metadata(beside: file, trustAuthor: false) == PostMetadata(caption: "Sea"))
    // The sidecar moves with its video.
    try folder.folder("done")
    try FileDisposal(.move(folder.source("done"))).apply(to: file)
    #expect(Walked(["a"], in: folder).order.isEmpty && Walked(["done"], in: folder).candidates.count == 1)
    #expect(folder.source("done").appending(sidecar.utf8).exists)
  }

  @Test("a sidecar with exactly the video's name comes first; of several that look alike none is chosen")
  func severalAlike() throws {
    for (name, caption) in [
      ("clip.json", "exact"), ("clip.JSON", "capital"), ("other.JSON", "1"), ("other.Json", "2"),
    ] {
      try folder.write(name, Array(#"{"caption":"\#(caption)"}"#.utf8))
    }
    try folder.write("other.mp4")
    #expect(try words() == PostMetadata(caption: "exact"))
    let other = try FoundFile.named(folder.source("other.mp4"), followLinks: false)
    let error = #expect(throws: SourceError.self) { try Sidecar.metadata(beside: other, trustAuthor: false) }
    #expect(error?.code == .sidecarInvalid && error?.message.contains("other.JSON, other.Json") == true)
  }

  @Test("sidecars without a video are reported, and no other files are")
  func orphans() throws {
    let ours = Array(#"{"caption":"Sea","author":null}"#.utf8)
    for name in ["clip.json", "lone.json", "sub.json", "bare.json"] {
      try folder.write(name, ours)
    }
    // As long as another file has the name, it may be a video.
    for name in ["sub.txt", "bare"] { try folder.write(name, Array("[1]".utf8)) }
    try folder.write("spaced.json", Array("\n {\n  \"authorName\" : \"A\" }".utf8))
    try folder.write("marked.json", Array("\u{FEFF}".utf8) + ours)
    try folder.write("package.json", Array(#"{"name":"x","author":"y"}"#.utf8))
    try folder.write("empty.json", Array("{}".utf8))
    try folder.write("broken.json", Array(#"{"caption":"#.utf8))
    try folder.write("upper.JSON", ours)
    try folder.write(".hidden.json", ours)
    try folder.write("clip-2.json", ours)
    let walked = Walked(all: folder)
    #expect(walked.orphans == ["clip-2.json", "lone.json", "marked.json", "spaced.json"])
    #expect(walked.candidates == ["clip.mp4"])
  }

  @Test("a sidecar named like a video in another folder is an orphan; one that a filter excludes is ignored")
  func orphansElsewhere() throws {
    let ours = Array(#"{"music":"M"}"#.utf8)
    try folder.folder("a")
    try folder.write("a/clip.json", ours)
    try folder.write("a/deep.mp4")
    #expect(Walked(all: folder).orphans == ["a/clip.json"])
    let filter = NameFilter(including: try [#require(GlobPattern("*.mp4"))])
    #expect(Walked(all: folder, WalkOptions(filter: filter)).orphans == [])
  }

  @Test("a sidecar may have a byte order mark or nulls, or be empty")
  func tolerated() throws {
    try folder.write("clip.json", Array("\u{FEFF}{\"caption\": null, \"music\": \"M\"}\n".utf8))
    #expect(try words() == PostMetadata(music: "M"))
    try folder.write("clip.json", Array("{}".utf8))
    #expect(try words() == PostMetadata())
    try folder.write("clip.json", Array(#"{"caption": "music", "x": [{"caption": 1}, "caption", "x"]}"#.utf8))
    #expect(try words() == PostMetadata(caption: "music"))
  }

  @Test(
    "an invalid sidecar is an error with its place",
    arguments: [
      ("{\"caption\": 3}", "caption"), ("{\"author\": [\"x\"]}", "author"), ("[]", "object"),
      ("\"x\"", "object"),
      ("{\"caption\": \"x\"", "JSON"), ("", "JSON"), ("not json", "JSON"),
      (String(repeating: "[", count: 60_000), "JSON"),
      (#"{"caption": "a", "music": "m", "caption": "b"}"#, "\"caption\" twice"),
      (#"{"caption": "a\"{", "c\u0061ption": "b"}"#, "\"caption\" twice"),
      (#"{"x": [{"caption": 1}], "x": null}"#, "\"x\" twice"),
    ])
  func broken(_ json: String, _ place: String) throws {
    try folder.write("clip.json", Array(json.utf8))
    #expect(try #require(message()).contains(place))
  }

  @Test("a sidecar that is not UTF-8, too large, a link, a folder or a FIFO is unusable")
  func unusable() throws {
    try folder.write("clip.json", Array("{\"caption\":\"".utf8) + [0xFF] + Array("\"}".utf8))
    #expect(try #require(message()).contains("UTF-8"))
    try folder.write("clip.json", "{\"caption\":\"x\"}".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), 0] })
    #expect(try #require(message()).contains("UTF-8"))
    try folder.write("clip.json", [UInt8](repeating: 0x20, count: Sidecar.largest + 1))
    #expect(try #require(message()).contains("64 KB"))
    try folder.remove("clip.json")
    try folder.link("clip.json", to: "/etc/hostname")
    #expect(try #require(message()).contains("link"))
    try folder.remove("clip.json")
    try folder.folder("clip.json")
    #expect(try #require(message()).contains("folder"))
    try folder.remove("clip.json")
    try folder.fifo("clip.json")
    #expect(try #require(message()).contains("FIFO"))
  }

  @Test(
    "a sidecar is named after its video",
    arguments: [
      ("clip.mp4", "clip.json"), ("clip", "clip.json"), (".clip", ".clip.json"), ("a.b.mov", "a.b.json"),
      ("clip.", "clip.json"),
    ])
  func names(_ video: String, _ sidecar: String) {
    #expect(Sidecar.name(for: Array(video.utf8)) == Array(sidecar.utf8))
  }

  @Test("a file is not its own sidecar, and an overlong name has none")
  func edges() throws {
    let json = try FoundFile.named(try folder.write("x.json", Sample.mp4), followLinks: false)
    #expect(try Sidecar.metadata(beside: json, trustAuthor: true) == nil)
    let long = try folder.write(nameBytes: [UInt8](repeating: 0x78, count: 255))
    #expect(
      try Sidecar.metadata(beside: try FoundFile.named(long, followLinks: false), trustAuthor: true) == nil)
  }
}

extension SourcePath {
  fileprivate var exists: Bool { (try? FoundFile.named(self, followLinks: false)) != nil }
}
