import ReelCore
import ReelValidation
import Testing

/// A rule with a setting for it, a file that passes, and one that breaks this rule and no other.
struct RuleCase: Sendable, CustomTestStringConvertible {
  let rule: String
  let setting: String
  var good = Facts.fixture()
  let bad: FixtureFacts

  var testDescription: String { "\(rule): \(setting)" }

  static let fileRules = [
    RuleCase(
      rule: "file.unreadable", setting: "error",
      bad: FixtureFacts(
        path: SourcePath("a.mp4"), reading: .unreachable(SourceError(.denied, "no permission")))),
    RuleCase(rule: "file.unreadable", setting: "error", bad: Facts.unread(.unreadable)),
    RuleCase(rule: "file.empty", setting: "error", bad: Facts.unread(.empty, found: "an empty file")),
    RuleCase(rule: "file.lfsPointer", setting: "error", bad: Facts.unread(.lfsPointer, found: "a pointer")),
    RuleCase(rule: "file.truncated", setting: "error", bad: Facts.fixture { $0.truncated = true }),
    RuleCase(rule: "file.truncated", setting: "error", bad: Facts.unread(.truncated, "it was cut off")),
    RuleCase(rule: "media.external", setting: "error", bad: Facts.fixture { $0.external = true }),
    RuleCase(rule: "media.external", setting: "error", bad: Facts.unread(.externalMedia)),
    RuleCase(
      rule: "container.unrecognised", setting: "error",
      bad: Facts.unread(.notMedia, found: "a text file", path: "clips/a.bin")),
    RuleCase(rule: "container.unrecognised", setting: "error", bad: Facts.unread(.notMedia)),
    RuleCase(
      rule: "container.disguised", setting: "error", bad: Facts.unread(.notMedia, found: "a text file")),
    RuleCase(
      rule: "container.disguised", setting: "error", bad: Facts.unread(.playlist, found: "a playlist")),
    RuleCase(rule: "container.disguised", setting: "error", bad: Facts.unread(.unsupported, found: "a PNG")),
    RuleCase(
      rule: "container.unsupported", setting: "error",
      bad: Facts.unread(.unsupported, found: "a raw stream", path: "a.h264")),
    RuleCase(rule: "container.corrupt", setting: "error", bad: Facts.unread(.corrupt)),
    RuleCase(
      rule: "container.allowed", setting: "[mp4, mov]", bad: Facts.fixture("a.webm") { $0.container = .webm }),
    RuleCase(rule: "ext.mismatch", setting: "error", bad: Facts.fixture("a.mov")),
    RuleCase(
      rule: "mp4.noMoov", setting: "error", bad: Facts.unread(.indexMissing, "its index (moov) is missing: …")
    ),
    RuleCase(rule: "mp4.notFastStart", setting: "error", bad: Facts.fixture { $0.fastStart = false }),
    RuleCase(rule: "mp4.fragmented", setting: "error", bad: Facts.fixture { $0.fragmented = true }),
    RuleCase(rule: "privacy.location", setting: "error", bad: Facts.fixture { $0.hasLocation = true }),
    RuleCase(
      rule: "credentials.present", setting: "error", bad: Facts.fixture { $0.contentCredentials = true }),
    RuleCase(
      rule: "credentials.missing", setting: "error", good: Facts.fixture { $0.contentCredentials = true },
      bad: Facts.fixture()),
    RuleCase(rule: "name.unsafe", setting: "error", bad: Facts.fixture("clips/a\nb.mp4")),
    RuleCase(rule: "name.unsafe", setting: "error", bad: Facts.fixture("clips/-i.mp4")),
    RuleCase(rule: "duplicate.exact", setting: "error", bad: likeness(.sameAs(SourcePath("first.mp4")))),
    RuleCase(
      rule: "sidecar.invalid", setting: "error", good: sidecar(.valid),
      bad: sidecar(.invalid("it is not JSON"))),
    RuleCase(
      rule: "sidecar.orphan", setting: "error",
      bad: FixtureFacts(path: SourcePath("a.json"), size: 9, reading: .orphanSidecar)),
  ]

  static let mediaRules = [
    RuleCase(rule: "duration.missing", setting: "error", bad: Facts.fixture { $0.duration = nil }),
    RuleCase(
      rule: "duration.unstated", setting: "error",
      good: Facts.fixture("a.webm") {
        $0.container = .webm
        $0.durationSource = .container
      },
      bad: Facts.fixture("a.webm") {
        $0.container = .webm
        $0.durationSource = .packets
      }),
    RuleCase(rule: "duration.min", setting: "10s", bad: Facts.fixture { $0.duration = 9.9 }),
    RuleCase(rule: "duration.max", setting: "10s", bad: Facts.fixture { $0.duration = 10.001 }),
    RuleCase(
      rule: "duration.max", setting: "{value: 10s, tolerance: 1%}",
      good: Facts.fixture { $0.duration = 10.1 },
      bad: Facts.fixture { $0.duration = 10.2 }),
    RuleCase(rule: "duration.expected", setting: "0:10", bad: Facts.fixture { $0.duration = 10.2 }),
    RuleCase(
      rule: "duration.mismatch", setting: "error",
      bad: Facts.fixture {
        $0.warnings = [MediaWarning(.durationMismatch, "its header says 20.0 seconds, it really lasts 10.0")]
      }),
    RuleCase(rule: "video.none", setting: "error", bad: Facts.fixture { $0.video = nil }),
    RuleCase(
      rule: "video.coverOnly", setting: "error",
      bad: Facts.fixture {
        ($0.video, $0.hasCover) = (nil, true)
      }),
    RuleCase(rule: "video.empty", setting: "error", bad: Facts.picture { $0.hasSamples = false }),
    RuleCase(rule: "video.multiple", setting: "error", bad: Facts.picture { $0.streams = 2 }),
    RuleCase(rule: "encryption.present", setting: "error", bad: Facts.fixture { $0.encrypted = true }),
    RuleCase(rule: "codec.video", setting: "[h264, hevc]", bad: Facts.picture { $0.codec = "mpeg4" }),
    RuleCase(rule: "codec.audio", setting: "aac", bad: audio { $0.codec = "ac3" }),
    RuleCase(rule: "audio.channels", setting: "[1, 2]", bad: audio { $0.channels = 6 }),
    RuleCase(rule: "audio.sampleRate", setting: "48000", bad: audio { $0.sampleRate = 8000 }),
    RuleCase(rule: "audio.none", setting: "error", bad: Facts.fixture { $0.audio = [] }),
    RuleCase(rule: "size.unknown", setting: "error", bad: Facts.picture { $0.width = nil }),
    RuleCase(rule: "size.min", setting: "1080x1920", bad: Facts.picture { $0.width = 1078 }),
    RuleCase(rule: "size.max", setting: "1080x1920", bad: Facts.picture { $0.height = 1922 }),
    RuleCase(rule: "size.odd", setting: "error", bad: Facts.picture { $0.storedWidth = 1079 }),
    RuleCase(rule: "size.aspect", setting: "\"9:16\"", bad: Facts.picture { $0.width = 1200 }),
    RuleCase(
      rule: "size.aspect", setting: "[\"1:1\", \"9:16\"]", good: Facts.picture { $0.width = 1920 },
      bad: Facts.picture { $0.width = 2560 }),
    RuleCase(
      rule: "size.orientation", setting: "portrait",
      bad: Facts.picture { ($0.width, $0.height) = (1920, 1080) }),
    RuleCase(
      rule: "size.orientation", setting: "[landscape, portrait]",
      bad: Facts.picture { ($0.width, $0.height) = (1080, 1080) }),
    RuleCase(
      rule: "size.orientation", setting: "[square, landscape]",
      good: Facts.picture { ($0.width, $0.height) = (1080, 1080) }, bad: Facts.picture { $0.rotation = 0 }),
    RuleCase(rule: "rotation.present", setting: "error", bad: Facts.picture { $0.rotation = 90 }),
    RuleCase(
      rule: "sar.nonSquare", setting: "error",
      bad: Facts.picture { $0.sampleAspectRatio = Rational(4, 3).map { SampleAspectRatio($0) } }),
    RuleCase(rule: "fps.unknown", setting: "error", bad: Facts.picture { $0.frameRate = nil }),
    RuleCase(rule: "fps.min", setting: "29.97", good: rate(30000, 1001, "29.97"), bad: rate(25, 1, "25")),
    RuleCase(rule: "fps.max", setting: "30000/1001", good: rate(2997, 100, "29.97"), bad: rate(30, 1, "30")),
    RuleCase(rule: "fps.variable", setting: "error", bad: Facts.picture { $0.variableFrameRate = true }),
    RuleCase(rule: "pixel.format", setting: "yuv420p", bad: Facts.picture { $0.pixelFormat = "yuv444p" }),
    RuleCase(rule: "pixel.depth", setting: "8", bad: Facts.picture { $0.bitDepth = 10 }),
    RuleCase(rule: "pixel.chroma", setting: "\"4:2:0\"", bad: Facts.picture { $0.chroma = "4:4:4" }),
    RuleCase(rule: "hdr.present", setting: "error", bad: Facts.picture { $0.hdr = HDR(kind: .pq) }),
    RuleCase(rule: "bitrate.min", setting: "800kbps", bad: Facts.fixture { $0.bitRate = 799_999 }),
    RuleCase(rule: "bitrate.max", setting: "0.8Mb/s", bad: Facts.fixture { $0.bitRate = 800_001 }),
    RuleCase(rule: "bytes.max", setting: "1MB", bad: Facts.fixture { $0.size = 1_000_001 }),
  ]

  private static func audio(_ change: (inout AudioFacts) -> Void) -> FixtureFacts {
    var other = AudioFacts(codec: "aac", channels: 2, sampleRate: 48000)
    change(&other)
    return Facts.fixture { $0.audio.append(other) }
  }

  private static func rate(_ top: Int, _ bottom: Int, _ text: String) -> FixtureFacts {
    Facts.picture { $0.frameRate = Rational(top, bottom).map { FrameRate($0) } }
  }

  private static func likeness(_ likeness: Likeness) -> FixtureFacts {
    var facts = Facts.fixture()
    facts.likeness = likeness
    return facts
  }

  private static func sidecar(_ status: SidecarStatus) -> FixtureFacts {
    var facts = Facts.fixture()
    facts.sidecar = status
    return facts
  }
}

@Suite("rules") struct RuleTests {
  private func findings(_ facts: FixtureFacts, _ policy: Policy) -> [Finding] {
    RuleEvaluator.findings(facts, by: policy.rules(for: facts.patternPath))
  }

  @Test(
    "one file passes, and one breaks exactly this rule", arguments: RuleCase.fileRules + RuleCase.mediaRules)
  func each(example: RuleCase) throws {
    // The warnings of the sanity rules count, too: nothing else may be broken.
    let policy = try policy("rules: {\(example.rule): \(example.setting)}")
    #expect(findings(example.good, policy).filter { $0.state == .broken } == [])
    let found = findings(example.bad, policy).filter { $0.state == .broken }
    #expect(found.map(\.rule) == [example.rule])
    let finding = try #require(found.first)
    #expect(finding.severity == .error)
    #expect(finding.expected?.isEmpty == false && finding.found?.isEmpty == false)
    #expect(!finding.sentence.isEmpty && !finding.sentence.hasSuffix("."))
    #expect(finding.fix.map { !$0.contains("FILE") && !$0.contains("OUT.") } ?? true)
  }

  @Test("every rule has a case")
  func complete() {
    let tested = Set((RuleCase.fileRules + RuleCase.mediaRules).map(\.rule))
    #expect(tested == Set(RuleRegistry.rules.map(\.id)))
    #expect(RuleRegistry.rules.count == Set(RuleRegistry.rules.map(\.id)).count)
  }

  @Test(
    "an unknown fact is unverified, neither passed nor broken",
    arguments: [
      ("duration.max", "1s", Facts.fixture { $0.duration = nil }),
      ("size.max", "10x10", Facts.picture { $0.width = nil }),
      ("fps.max", "10", Facts.picture { $0.frameRate = nil }),
      ("codec.video", "vp9", Facts.picture { $0.codec = nil }),
      ("mp4.notFastStart", "error", Facts.fixture { $0.fastStart = nil }),
      ("bitrate.max", "1", Facts.fixture { $0.bitRate = nil }),
      ("hdr.present", "off", Facts.fixture()),
    ])
  func unknown(rule: String, setting: String, facts: FixtureFacts) throws {
    let found = findings(facts, try policy("extends: none\nrules: {\(rule): \(setting)}"))
    #expect(found.map(\.state) == (setting == "off" ? [] : [.unverified]))
    let file = ValidatedFile(path: facts.path, findings: found)
    #expect(file.standing(strict: false) == .passed)
    #expect(file.standing(strict: true) == (found.isEmpty ? .passed : .failed))
  }

  @Test("an unreadable file is judged only by the reason why it can't be read")
  func unread() throws {
    let all = try policy("rules: {duration.max: 1s, codec.video: h264, audio.none: error, bytes.max: 1MB}")
    #expect(findings(Facts.unread(.corrupt), all).map(\.rule) == ["container.corrupt"])
    #expect(findings(Facts.unread(.timeout), all) == [])
    #expect(ProbeError.Code.timeout.leavesFileUnjudged && !ProbeError.Code.unreadable.leavesFileUnjudged)
  }

  @Test("commands quote the file's name for the shell")
  func quoting() throws {
    let policy = try policy("rules: {audio.none: error}")
    for (path, word) in [
      ("a b.mp4", "'a b.mp4'"), ("-i.mp4", "./-i.mp4"), ("it's.mp4", #"'it'\''s.mp4'"#),
      ("a'\u{301};x '\u{301}.mp4", "'a'\\''\u{301};x '\\''\u{301}.mp4'"),
      ("a\nb.mp4", #"$'a\x0ab.mp4'"#),
      ("$(rm).mp4", "'$(rm).mp4'"),
      // ffmpeg takes the text before a colon for a protocol.
      ("concat:a|b.mp4", "'./concat:a|b.mp4'"), ("s3:a.mp4", "'./s3:a.mp4'"), ("/x/a:b.mp4", "'/x/a:b.mp4'"),
    ] {
      let facts = Facts.fixture(path) { $0.audio = [] }
      let fix = findings(facts, policy).first { $0.rule == "audio.none" }?.fix
      #expect(fix?.hasPrefix("ffmpeg -n -i \(word) ") == true, "\(fix ?? "none")")
    }
  }

  @Test("a warning neither replaces nor prevents an error's command")
  func errorsFirst() throws {
    func fixes(_ rules: String, _ change: (inout MediaInfo) -> Void) throws -> [String: String] {
      var facts = Facts.fixture("a.mp4", change)
      facts.likeness = .sameAs(SourcePath("b.mp4"))
      let found = findings(facts, try policy("rules: {\(rules)}")).map { ($0.rule, $0.fix ?? "none") }
      return Dictionary(uniqueKeysWithValues: found)
    }
    let move = "mv -n -- a.mp4 a.mp4.duplicate"
    let mended = "reel mend a.mp4 --faststart -o a-mended.mp4"
    let slow = { (media: inout MediaInfo) in media.fastStart = false }
    #expect(
      try fixes("mp4.notFastStart: error", slow) == ["mp4.notFastStart": mended, "duplicate.exact": "none"])
    for rules in ["mp4.notFastStart: warn", "mp4.notFastStart: warn, duplicate.exact: error"] {
      #expect(try fixes(rules, slow) == ["mp4.notFastStart": move, "duplicate.exact": move])
    }
    // The warning's demand can't be met: nothing is known about the audio, or a signed file must not be changed.
    let unknown = { (media: inout MediaInfo) in
      (media.fastStart, media.audio) = (false, [AudioFacts(channels: 1)])
    }
    #expect(
      try fixes(
        "duplicate.exact: off, mp4.notFastStart: error, audio.channels: {value: 2, severity: warn}", unknown)
        == ["mp4.notFastStart": mended, "audio.channels": "none"])
    let signed = { (media: inout MediaInfo) in (media.fastStart, media.contentCredentials) = (false, true) }
    #expect(
      try fixes("duplicate.exact: off, mp4.notFastStart: error, credentials.missing: warn", signed)
        == ["mp4.notFastStart": "reel mend a.mp4 --faststart --drop-credentials -o a-mended.mp4"])
  }

  @Test("what gets slightly longer when it is encoded again is cut where it would be too long")
  func cut() throws {
    let cases: [(rules: String, duration: Double, isCut: Bool)] = [
      ("fps.max: 25, duration.max: 10s", 10, true), ("fps.max: 25, duration.max: 10s", 9.7, false),
      ("audio.sampleRate: 44100, duration.max: 10s", 9.9, true),
      ("size.max: 600x600, duration.max: 10s", 10, false),
      ("container.allowed: mkv, duration.max: 10s", 10, false),
    ]
    for (rules, duration, isCut) in cases {
      let facts = Facts.fixture { $0.duration = duration }
      let fix = findings(facts, try policy("rules: {\(rules)}")).lazy.compactMap(\.fix).first
      #expect(fix?.contains(" -t 9.75 ") == isCut, "\(rules): \(fix ?? "none")")
    }
  }

  /// A fixture with the reader's facts for rewriting.
  private func fixture(
    _ path: String, _ rewriting: RewritingFacts, _ change: (inout MediaInfo) -> Void
  ) -> FixtureFacts {
    var facts = Facts.fixture(path, change)
    if case .media(var report) = facts.reading {
      report.rewriting = rewriting
      facts.reading = .media(report)
    }
    return facts
  }

  private func fix(_ facts: FixtureFacts, _ rules: String) throws -> String? {
    findings(facts, try policy("rules: {\(rules)}")).lazy.compactMap(\.fix).first
  }

  @Test("of several video streams the judged one is kept, if it is known")
  func severalStreams() throws {
    let two: (inout MediaInfo) -> Void = { $0.video?.streams = 2 }
    let known = fixture("a.mp4", RewritingFacts(shownStream: 2), two)
    #expect(try fix(known, "video.multiple: error")?.contains(" -map 0:2 -map 0:a? ") == true)
    #expect(try fix(fixture("a.mp4", RewritingFacts(), two), "video.multiple: error") == nil)
    #expect(try fix(Facts.fixture { $0.audio = [] }, "audio.none: error")?.contains(" -map 0:V:0 ") == true)
  }

  @Test("a location in visible text is not for reel mend, and one in pictures is removed with their messages")
  func shownPlaces() throws {
    func advice(_ rewriting: RewritingFacts, _ container: MediaContainer, _ codec: String) throws -> String {
      let facts = fixture("a.\(container.fileExtension)", rewriting) {
        $0.container = container
        $0.hasLocation = true
        $0.video?.codec = codec
      }
      return try fix(facts, "privacy.location: error") ?? "none"
    }
    #expect(try advice(RewritingFacts(), .mp4, "h264").hasPrefix("reel mend "))
    let text = try advice(RewritingFacts(isPlaceInText: true), .mp4, "h264")
    #expect(text.contains(" -c:v copy -c:a copy -map_metadata -1 "), "\(text)")
    let pictures = RewritingFacts(isPlaceInPictures: true)
    for (codec, types) in [("h264", "6"), ("hevc", "39-40")] {
      for container in [MediaContainer.mp4, .mpegTS, .matroska] {
        let found = try advice(pictures, container, codec)
        #expect(found.contains(" -bsf:v filter_units=remove_types=\(types) "), "\(found)")
      }
    }
    let other = try advice(pictures, .mpegTS, "mpeg2video")
    #expect(other.contains(" -c:v mpeg2video ") && other.contains(" -map_metadata -1 "), "\(other)")
  }

  @Test("tone mapping names its input, and is not advised where no filter knows the colors")
  func toneMapping() throws {
    func advice(_ hdr: HDR) throws -> String? {
      try fix(Facts.picture { $0.hdr = hdr }, "hdr.present: error")
    }
    #expect(
      try advice(HDR(kind: .pq))?.contains("color_trc=smpte2084:colorspace=bt2020nc,zscale=t=linear:") == true
    )
    #expect(
      try advice(HDR(kind: .hlg))?.contains("color_trc=arib-std-b67:colorspace=bt2020nc,zscale=t=linear:")
        == true)
    #expect(try advice(HDR(kind: .dolbyVision, profile: 8))?.contains("'zscale=t=linear:") == true)
    #expect(try advice(HDR(kind: .dolbyVision, profile: 5)) == nil)
  }

  @Test("a file that ffmpeg can't write under its extension is copied under another")
  func muxers() throws {
    let cases: [(MediaContainer, String, String, String)] = [
      (.m4v, "h264", "aac", "a-mended.m4v"), (.m4v, "hevc", "aac", "a-mended.mp4"),
      (.m4v, "h264", "eac3", "a-mended.mp4"), (.threeGP, "h264", "amr_wb", "a-mended.3gp"),
      (.threeGP, "hevc", "aac", "a-mended.mp4"), (.mp4, "mpeg2video", "vorbis", "a-mended.mp4"),
      (.mp4, "prores", "aac", "a-mended.mov"),
    ]
    for (container, video, audio, name) in cases {
      let facts = Facts.fixture("a.\(container.fileExtension)") {
        $0.container = container
        $0.video?.codec = video
        $0.audio = [AudioFacts(codec: audio)]
      }
      let found = try fix(facts, "duration.max: 3s") ?? "none"
      #expect(found.contains(" -c:v copy ") && found.contains(" -c:a copy "), "\(found)")
      #expect(found.hasSuffix(" \(name)"), "\(found)")
    }
  }

  @Test("no command gives a file an existing name, nor two files the same name")
  func takenNames() throws {
    var claimed: Set<SourcePath> = [SourcePath("b.mov"), SourcePath("d.mp4.duplicate")]
    let rules = try policy("rules: {ext.mismatch: error}")
    func command(_ path: String, _ container: MediaContainer, _ likeness: Likeness) -> String? {
      var facts = Facts.fixture(path) { $0.container = container }
      facts.likeness = likeness
      return RuleEvaluator.findings(
        facts, by: rules.rules(for: facts.patternPath), claim: { claimed.insert($0).inserted }
      ).lazy.compactMap(\.fix).first
    }
    #expect(command("a.mp4", .mov, .unique) == "mv -n -- a.mp4 a.mov")
    #expect(command("a.avi", .mov, .unique) == "mv -n -- a.avi a.avi.mov")
    #expect(command("b.mp4", .mov, .unique) == "mv -n -- b.mp4 b.mp4.mov")
    let same = Likeness.sameAs(SourcePath("c.mp4"))
    #expect(command("d.mp4", .mp4, same) == "mv -n -- d.mp4 d.mp4-2.duplicate")
  }

  @Test("nothing is advised for a remote file")
  func remote() throws {
    var facts = Facts.fixture("https://host/a.mp4") { $0.audio = [] }
    facts.isRemote = true
    #expect(
      findings(facts, try policy("rules: {audio.none: error}")).contains {
        $0.rule == "audio.none" && $0.fix == nil
      })
  }

  @Test("a stream without a codec known to ffmpeg is not to be encoded")
  func unknownCodec() throws {
    let facts = Facts.fixture { $0.audio = [AudioFacts(codec: "aac", channels: 1), AudioFacts(channels: 2)] }
    #expect(findings(facts, try policy("rules: {audio.channels: 2}")).map(\.fix) == [nil])
  }

  @Test("silence has a codec, channels and a rate that the policy accepts")
  func silence() throws {
    let rules = "audio.none: error, codec.audio: opus, audio.channels: 1, audio.sampleRate: 24000"
    let found = findings(Facts.fixture { $0.audio = [] }, try policy("rules: {\(rules)}"))
    let fix = try #require(found.first { $0.rule == "audio.none" }?.fix)
    #expect(fix.contains(" -c:a libopus -ac 1 -ar 24000 "), "\(fix)")
  }

  @Test("Content Credentials, invalid after any change, are dropped, or keep the file from being changed")
  func signed() throws {
    let facts = Facts.fixture { ($0.fastStart, $0.contentCredentials) = (false, true) }
    let fix = findings(facts, try policy("rules: {mp4.notFastStart: error}")).compactMap(\.fix)
    #expect(fix.count == 1 && fix[0].contains(" --faststart --drop-credentials "), "\(fix)")
    let kept = findings(facts, try policy("rules: {mp4.notFastStart: error, credentials.missing: error}"))
    #expect(kept.compactMap(\.fix) == [])
  }

  @Test("what can be mended without loss names reel mend, and no other program for the same problem")
  func mends() throws {
    let mismatch = MediaWarning(.durationMismatch, "its header says 20.0 seconds, it really lasts 10.0")
    let cases: [(FixtureFacts, String, String)] = [
      (Facts.fixture { $0.fastStart = false }, "mp4.notFastStart", "--faststart"),
      (Facts.fixture { $0.fragmented = true }, "mp4.fragmented", "--faststart --unfragment"),
      (Facts.fixture { $0.hasLocation = true }, "privacy.location", "--strip-location"),
      (Facts.fixture { $0.contentCredentials = true }, "credentials.present", "--drop-credentials"),
      (Facts.fixture { $0.truncated = true }, "file.truncated", "--salvage"),
      (matroska { $0.truncated = true }, "file.truncated", "--salvage"),
      (matroska { $0.durationSource = .packets }, "duration.unstated", "--duration"),
      (matroska { $0.duration = nil }, "duration.missing", "--duration"),
      (matroska { $0.warnings = [mismatch] }, "duration.mismatch", "--duration"),
      (
        Facts.fixture { ($0.warnings, $0.fragmented) = ([mismatch], true) }, "duration.mismatch",
        "--faststart --unfragment"
      ),
    ]
    for (facts, rule, flags) in cases {
      let found = findings(facts, try policy("rules: {\(rule): error}")).first { $0.rule == rule }
      let fix = try #require(found?.fix, "\(rule)")
      #expect(fix.hasPrefix("reel mend ") && fix.contains(" \(flags) -o "), "\(fix)")
    }
  }

  @Test("for a truncated file only salvaging is advised", arguments: [false, true])
  func cutOff(isMatroska: Bool) throws {
    let mismatch = MediaWarning(.durationMismatch, "its header says 20.0 seconds, it really lasts 10.0")
    for duration in [nil, 10] as [Double?] {
      let change = { (media: inout MediaInfo) in
        (media.truncated, media.warnings, media.duration) = (true, [mismatch], duration)
      }
      let facts = isMatroska ? matroska(change) : Facts.fixture("a.mp4", change)
      let rules = try policy(
        "rules: {duration.mismatch: error, duration.missing: error, file.truncated: error}")
      let found = findings(facts, rules)
      #expect(found.count >= 2)
      for finding in found { #expect(finding.fix?.contains(" --salvage -o ") == true, "\(finding)") }
    }
  }

  private func matroska(_ change: (inout MediaInfo) -> Void) -> FixtureFacts {
    Facts.fixture("a.webm") {
      $0.container = .webm
      ($0.fastStart, $0.fragmented) = (nil, nil)
      change(&$0)
    }
  }

  @Test("the intake policy reports every error and no warning")
  func intake() throws {
    let door = PolicyIntake(
      try policy(
        "rules: {duration.max: 5s, audio.none: warn}\noverrides: [{files: \"long/*\", rules: {duration.max: off}}]"
      ))
    let media = Facts.media {
      $0.audio = []; $0.truncated = true
    }
    #expect(
      door.violations(in: media, of: SourcePath("a.mp4")).map(\.rule) == ["file.truncated", "duration.max"])
    #expect(door.violations(in: media, of: SourcePath("long/a.mp4")).map(\.rule) == ["file.truncated"])
  }

  @Test("a refusal names what was found and what the policy requires", arguments: RuleCase.mediaRules)
  func refusal(example: RuleCase) throws {
    let policy = try policy("extends: none\nrules: {\(example.rule): \(example.setting)}")
    guard case .media(let report) = example.bad.reading, RuleRegistry.rule(example.rule)?.operand != nil
    else { return }
    let finding = try #require(findings(example.bad, policy).first)
    let refusal = try #require(
      PolicyIntake(policy).violations(in: report.media, of: example.bad.path).first?.message)
    let (found, expected) = try (#require(finding.found), #require(finding.expected))
    #expect(found != expected.drop { !$0.isNumber }, "both read alike: \(found)")
    #expect(refusal.hasPrefix(finding.sentence) && refusal.hasSuffix(expected), "\(refusal)")
    #expect(finding.sentence.contains(found) || example.rule == "size.aspect", "\(finding.sentence)")
  }

  @Test(
    "refusals are worded for people",
    arguments: [
      ("duration.min: 3s", "it is too short: 1 s, at least 3 s"),
      ("duration.min: 1.0001s", "it is too short: 1.0 s, at least 1.0001 s"),
      ("codec.video: [vp9, av1]", "its video is in h264; allowed: vp9, av1"),
      ("bytes.max: 999999", "it is too large: 1 MB, at most 999.999 kB"),
      ("size.max: 640x360", "its picture is too large: 1080x1920, at most 640x360"),
      ("audio.channels: 1", "its sound has 2 channels; allowed: 1"),
      ("audio.channels: [2, 6]", "its sound has 1 channel; allowed: 2, 6"),
      ("video.none: error", nil),
    ] as [(String, String?)])
  func words(rule: String, sentence: String?) throws {
    let media = Facts.media {
      ($0.duration, $0.size) = (1, 1_000_000)
      if rule.contains("6") { $0.audio[0].channels = 1 }
    }
    let door = PolicyIntake(try policy("extends: none\nrules: {\(rule)}"))
    #expect(door.violations(in: media, of: SourcePath("a.mp4")).first?.message == sentence)
  }

  @Test("a file that was not read is judged only by its size")
  func intakeBySize() throws {
    let door = PolicyIntake(
      try policy(
        "rules: {bytes.max: 1MB, name.unsafe: error}\n"
          + "overrides: [{files: \"long/*\", rules: {bytes.max: 2MB}}, {files: \"w/*\", rules: {bytes.max: warn}}]"
      ))
    func rules(_ size: Int64, _ path: String) -> [String] {
      door.violations(ofSize: size, of: SourcePath(path)).map(\.rule)
    }
    #expect(rules(1_000_000, "-a.mp4") == [] && rules(1_000_001, "-a.mp4") == ["bytes.max"])
    #expect(rules(2_000_000, "long/a.mp4") == [] && rules(2_000_001, "long/a.mp4") == ["bytes.max"])
    #expect(rules(.max, "w/a.mp4") == [])
    #expect(PolicyIntake(try policy("extends: none")).violations(ofSize: .max, of: SourcePath("a.mp4")) == [])
    #expect(DefaultIntakePolicy().violations(ofSize: .max, of: SourcePath("a.mp4")) == [])
  }
}
