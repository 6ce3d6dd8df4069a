import FoundationEssentials
import ReelCore
import ReelIngest
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct ProbeDocumentTests {
  private func json(_ document: ProbedFile) throws -> JSONValue {
    try JSONOutput.decode(JSONValue.self, from: try document.json().utf8)
  }

  /// The example of the design, with the keys that Reel adds (`hasSamples`, `presentDuration`, `media.hasCover`).
  private static let example = #"""
    {"path": "clip.mov", "ok": true, "media": {
      "container": "mov", "extension": "mov", "contentType": "video/quicktime", "extensionMismatch": false,
      "size": 1203944, "duration": 12.512, "durationSource": "container", "truncated": false,
      "presentDuration": null, "external": false, "fastStart": true,
      "fragmented": false,
      "video": {"codec": "h264", "width": 1080, "height": 1920, "storedWidth": 1920, "storedHeight": 1080,
        "rotation": 90, "mirrored": false, "sampleAspectRatio": "1:1", "frameRate": "30000/1001",
        "variableFrameRate": false, "pixelFormat": "yuv420p", "chroma": "4:2:0", "bitDepth": 8, "profile": "High",
        "bitRate": 4200000, "hdr": null, "streams": 1, "hasCover": false, "hasSamples": true},
      "audio": [{"codec": "aac", "channels": 2, "sampleRate": 48000}],
      "title": null, "artist": null, "createdAt": "2024-05-01T10:11:12Z", "hasLocation": true, "contentCredentials": false, "encrypted": false,
      "contentIdentifier": null, "bitRate": 4500000, "hasCover": false, "warnings": []},
     "probe": {"method": "header", "isolation": "landlock+seccomp", "ffmpeg": "59.27.100"}}
    """#

  @Test func aFileIsAsInTheDesign() throws {
    var report = Samples.report
    report.media.createdAt = Date(timeIntervalSince1970: 1_714_558_272)
    report.media.video?.hdr = nil
    let document = ProbedFile(path: SourcePath("clip.mov"), result: .success(report))
    #expect(try json(document) == JSONOutput.decode(JSONValue.self, from: Self.example.utf8))
  }

  @Test func aFailureIsAsInTheDesign() throws {
    let failure = FileFailure(code: "playlist", message: "it is an HLS playlist, not a video")
    let document = ProbedFile(path: SourcePath("notes.mp4"), result: .failure(failure))
    #expect(
      try document.json()
        == #"{"error":{"code":"playlist","message":"notes.mp4 is an HLS playlist, not a video"},"#
        + #""ok":false,"path":"notes.mp4"}"# + "\n")
  }

  /// A line that needs no escapes is assembled without the encoder, with the same bytes.
  @Test func aLineIsWhatTheEncoderWrites() throws {
    var random = SplitMix64(seed: 1707)
    for round in 0..<1500 {
      var media = RandomValues.media(&random)
      if round.isMultiple(of: 2) { media.makePlain(&random) }
      var report = Samples.report
      report.media = media
      let path = round.isMultiple(of: 3) ? RandomValues.path(&random) : SourcePath("/a/clip \(round).mov")
      let document = ProbedFile(path: path, result: .success(report))
      #expect(try document.jsonLine() == document.json())
    }
    let failure = ProbedFile(path: SourcePath("a"), result: .failure(FileFailure(code: "b", message: "c")))
    #expect(try failure.jsonLine() == failure.json())
    var report = Samples.report
    for seconds in [0.0001, 0.00009, 1e-9, 0.1, 1, 2.0373293, 100_000, 31_535_999.99, 1e15, 1e17] {
      (report.media.duration, report.media.presentDuration) = (seconds, -seconds)
      let document = ProbedFile(path: SourcePath("a.mov"), result: .success(report))
      #expect(try document.jsonLine() == document.json())
    }
  }

  @Test(arguments: [("clip.mp4", true), ("clip.MOV", false), ("clip", false), ("clip.exe", true)])
  func theNameIsAClaim(name: String, mismatch: Bool) throws {
    let document = ProbedFile(path: SourcePath(name), result: .success(Samples.report))
    #expect(try json(document)["media"]?["extensionMismatch"] == .bool(mismatch))
  }

  @Test func aNameThatIsNoTextKeepsItsBytes() throws {
    let path = SourcePath(bytes: [0x61, 0xFF, 0x2E, 0x6D, 0x70, 0x34])
    let written = try json(ProbedFile(path: path, result: .success(Samples.report)))
    #expect(written["path"] == .string(#"a\xff.mp4"#))
    #expect(written["pathBytes"] == .string("Yf8ubXA0"))
  }

  @Test func theUnknownIsNullAndAudioAloneHasNoVideo() throws {
    let report = ProbeReport(media: MediaInfo(container: .mp4, size: 1), provenance: Samples.provenance)
    let media = try json(ProbedFile(path: SourcePath("a.mp4"), result: .success(report)))["media"]
    for key in [
      "video", "duration", "durationSource", "truncated", "presentDuration", "hasCover", "createdAt",
      "bitRate", "title",
    ] {
      #expect(media?[key] == .null, "\(key)")
    }
  }

  @Test func aWarningHasACodeAndASentence() throws {
    var report = Samples.report
    (report.media.truncated, report.media.presentDuration) = (true, 3.5)
    report.media.warnings = [
      MediaWarning(.truncated, "it was cut off", fact: "duration", stated: .number(16), measured: .text("2"))
    ]
    let media = try json(ProbedFile(path: SourcePath("a.mov"), result: .success(report)))["media"]
    #expect(media?["presentDuration"] == .number(3.5))
    #expect(media?["warnings"]?.elements.first?["code"] == .string("truncated"))
    #expect(media?["warnings"]?.elements.first?["message"] == .string("it was cut off"))
    #expect(media?["warnings"]?.elements.first?["fact"] == .string("duration"))
    #expect(media?["warnings"]?.elements.first?["stated"] == .integer(16))
    #expect(media?["warnings"]?.elements.first?["measured"] == .string("2"))
  }

  @Test func severalFilesAreAList() throws {
    let document = ProbedFile(path: SourcePath("a.mp4"), result: .success(Samples.report))
    let list = try JSONOutput.decode(
      JSONValue.self, from: try AnswerDocument(ProbeListDocument([document, document])).json().utf8)
    #expect(list["v"] == .integer(1))
    #expect(list["files"]?.elements.count == 2)
  }
}

extension MediaInfo {
  /// Sets random facts without any text that needs an escape, as in most files.
  fileprivate mutating func makePlain(_ random: inout SplitMix64) {
    container = MediaContainer.allCases.randomElement(using: &random) ?? .mp4
    (title, artist) = (random.maybe("A day out: part 2"), random.maybe("a#b"))
    contentIdentifier = random.maybe("0D2C-77")
    video = random.maybe(Samples.video)
    video?.hdr = random.maybe(HDR(kind: .dolbyVision, profile: random.maybe(8)))
    audio = (0..<3).map { AudioFacts(codec: "aac", channels: random.maybe($0), sampleRate: 48_000) }
    warnings = [
      MediaWarning(
        .sizeMismatch, "its header says 1x1", fact: "video.storedWidth", stated: .text("1x1"),
        measured: .text("2x2")),
      MediaWarning(
        .durationMismatch, "its header says 16 seconds", fact: "duration", stated: .number(16),
        measured: .number(2.5)),
      MediaWarning(.truncated, "it is cut"),
    ]
    createdAt = random.maybe(Date(timeIntervalSince1970: 1_714_558_272.25))
  }
}
