import Foundation
import ReelTestSupport
import ReelValidation
import Testing

/// A rule, its setting in a policy, a file that passes, and one that breaks this rule and no other.
struct RuleFiles: Sendable {
  let rule: String
  let setting: String
  let good: RuleFile
  let bad: RuleFile

  init(
    _ rule: String, _ setting: String = "error", good: RuleFile = .sample("clips/faststart.mp4"),
    bad: RuleFile
  ) {
    self.rule = rule
    self.setting = setting
    self.good = good
    self.bad = bad
  }

  static let all = files + durations + pictures + sounds + others

  private static let files = [
    RuleFiles("file.unreadable", bad: .link),
    RuleFiles("file.empty", bad: .sample("broken/empty.mp4")),
    RuleFiles("file.lfsPointer", bad: .sample("broken/lfs-pointer.mp4")),
    RuleFiles("file.truncated", bad: .sample("broken/cut-off.mp4")),
    RuleFiles("media.external", bad: .sample("broken/elsewhere.mp4")),
    RuleFiles("container.unrecognised", bad: .bytes([0x81, 0, 3, 0x9F, 1, 2, 0xF0, 7], as: "a.mp4")),
    RuleFiles("container.disguised", bad: .sample("broken/playlist.mp4")),
    RuleFiles("container.unsupported", bad: .sample("broken/raw-stream.h264")),
    RuleFiles("container.corrupt", bad: .sample("broken/garbage.mp4")),
    RuleFiles("container.allowed", "[mp4, mov]", bad: .sample("clips/vp9.webm")),
    RuleFiles("ext.mismatch", bad: .sample("clips/mov-named.mp4")),
    RuleFiles("mp4.noMoov", bad: .sample("broken/no-moov.mp4")),
    RuleFiles("mp4.notFastStart", bad: .sample("clips/moov-at-end.mp4")),
    RuleFiles("mp4.fragmented", bad: .sample("clips/fragmented.mp4")),
  ]

  private static let durations = [
    RuleFiles(
      "duration.missing", good: .sample("clips/flash.flv"),
      bad: .sample("clips/flash.flv") { RepairSession.forgetTimes(&$0, of: [8, 9, 18], "duration") }),
    RuleFiles(
      "duration.unstated", good: .sample("clips/vp9.webm"), bad: .sample("clips/recorded-in-a-browser.webm")),
    RuleFiles("duration.min", "1.5s", bad: .sample("clips/titled.mp4")),
    RuleFiles("duration.max", "1.5s", good: .sample("clips/titled.mp4"), bad: .sample("clips/faststart.mp4")),
    RuleFiles("duration.expected", "2s", bad: .sample("clips/titled.mp4")),
    RuleFiles("duration.mismatch", bad: .sample("clips/faststart.mp4") { RepairSession.claimLong(&$0) }),
  ]

  private static let pictures = [
    RuleFiles("video.none", bad: .sample("broken/audio-only.mp4")),
    RuleFiles("video.coverOnly", good: .sample("clips/cover.mp4"), bad: .sample("broken/cover-only.mp4")),
    RuleFiles("video.empty", bad: .sample("broken/no-samples.mp4")),
    RuleFiles("video.multiple", bad: .sample("clips/two-pictures.mp4")),
    RuleFiles(
      "encryption.present",
      bad: .sample("clips/faststart.mp4") { RepairSession.setEntry(&$0, "encv", size: nil) }),
    RuleFiles("codec.video", "[h264, hevc]", bad: .sample("clips/vp9.webm")),
    RuleFiles(
      "size.unknown",
      bad: .sample("clips/faststart.mp4") { RepairSession.setEntry(&$0, "zzzz", size: (0, 0)) }),
    RuleFiles("size.min", "180x100", bad: .sample("clips/titled.mp4")),
    RuleFiles("size.max", "180x100", good: .sample("clips/titled.mp4"), bad: .sample("clips/faststart.mp4")),
    RuleFiles(
      "size.odd", bad: .sample("clips/faststart.mp4") { RepairSession.setEntry(&$0, "zzzz", size: (161, 90)) }
    ),
    RuleFiles("size.aspect", "[\"16:9\"]", bad: .sample("clips/captioned.mp4")),
    // By the orientation in which it is displayed: this video is stored in landscape.
    RuleFiles("size.orientation", "landscape", bad: .sample("clips/phone-portrait.mov")),
    RuleFiles("rotation.present", bad: .sample("clips/phone-portrait.mov")),
    RuleFiles("sar.nonSquare", bad: .sample("clips/pal-wide.mp4")),
    RuleFiles(
      "fps.unknown",
      bad: .sample("clips/flash.flv") { RepairSession.forgetTimes(&$0, of: [9], "framerate") }),
    RuleFiles("fps.min", "20", bad: .sample("clips/old-phone.3gp")),
    RuleFiles("fps.max", "29.97", bad: .sample("clips/phone-portrait.mov")),
    RuleFiles("fps.variable", bad: .sample("clips/variable-rate.mp4")),
    RuleFiles("pixel.format", "[yuv420p]", bad: .sample("clips/full-colour.mp4")),
    RuleFiles("pixel.depth", "[8]", bad: .sample("clips/hdr10.mov")),
    RuleFiles("pixel.chroma", "[\"4:2:0\"]", bad: .sample("clips/full-colour.mp4")),
    RuleFiles("hdr.present", bad: .sample("clips/hdr10.mov")),
  ]

  private static let sounds = [
    RuleFiles("audio.none", bad: .sample("clips/silent.mp4")),
    RuleFiles("codec.audio", "[aac]", bad: .sample("clips/matroska.mkv")),
    RuleFiles(
      "audio.channels", "[1]", good: .sample("clips/program.mpg"),
      bad: .sample("clips/program.mpg") { RepairSession.makeStereo(&$0) }),
    RuleFiles("audio.sampleRate", "[44100]", bad: .sample("clips/vp9.webm")),
  ]

  private static let others = [
    RuleFiles("bitrate.min", "80kbps", bad: .sample("clips/silent.mp4")),
    RuleFiles("bitrate.max", "200kbps", bad: .sample("clips/program.mpg")),
    RuleFiles("bytes.max", "30kB", bad: .sample("clips/program.mpg")),
    RuleFiles("privacy.location", bad: .sample("clips/phone-located.mov")),
    RuleFiles(
      "credentials.present", bad: .sample("clips/faststart.mp4") { RepairSession.addManifest(&$0) }),
    RuleFiles(
      "credentials.missing", good: .sample("clips/faststart.mp4") { RepairSession.addManifest(&$0) },
      bad: .sample("clips/faststart.mp4")),
    RuleFiles("name.unsafe", bad: .sample("clips/faststart.mp4", as: "-i\n.mp4")),
    RuleFiles(
      "duplicate.exact", good: .sample("clips/faststart.mp4") { RepairSession.addTail(&$0, 1) },
      bad: .sample("clips/faststart.mp4", as: "a.mp4", "b.mp4") { RepairSession.addTail(&$0, 2) }),
    RuleFiles("sidecar.invalid", bad: .clip(withSidecar: "{\"caption\": 5}")),
    RuleFiles("sidecar.orphan", bad: .bytes(Array("{\"caption\": \"left over\"}".utf8), as: "a.json")),
  ]
}

@Suite(
  "Every rule has a real file that passes, and one that breaks it and no other", .shortTime, .ownThread)
struct RuleFileTests {
  @Test("the real program judges all files as expected in one run")
  func each() async throws {
    let bench = try Workbench()
    for example in RuleFiles.all {
      try example.good.place(in: bench.clips.appendingPathComponent("good/\(example.rule)"))
      try example.bad.place(in: bench.clips.appendingPathComponent("bad/\(example.rule)"))
    }
    // The rules' files are alike, so duplicates count only where the rule asks for them. Warnings count as well.
    let overrides = RuleFiles.all.map {
      "  - {files: \"*/\($0.rule)/**\", rules: {\($0.rule): \($0.setting)}}\n"
    }
    try ("rules: {duplicate.exact: off}\noverrides:\n" + overrides.joined()).write(
      to: bench.folder.appendingPathComponent("policy.yaml"), atomically: true, encoding: .utf8)
    let run = try await ReelBinary.run(
      ["validate", "clips", "--policy", "policy.yaml", "--report", "json"], in: bench.folder)
    #expect(run.status == 4, "\(run.errors)")
    let found = try broken(run)
    for example in RuleFiles.all {
      #expect(found["good/\(example.rule)"] == [], "good/\(example.rule)")
      #expect(found["bad/\(example.rule)"] == ["\(example.rule) error"], "bad/\(example.rule)")
    }
  }

  @Test("every rule has its files")
  func complete() {
    #expect(Set(RuleFiles.all.map(\.rule)) == Set(RuleRegistry.rules.map(\.id)))
  }

  /// Returns the broken rules of each folder of files, with their severity.
  private func broken(_ run: ReelBinary.Outcome) throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    for file in try run.object()["files"] as? [[String: Any]] ?? [] {
      let parts = (file["path"] as? String ?? "").split(separator: "/")
      guard parts.count == 4 else { continue }
      let broken = (file["findings"] as? [[String: Any]] ?? []).filter { $0["state"] as? String == "broken" }
      found["\(parts[1])/\(parts[2])", default: []] += broken.map {
        "\($0["rule"] as? String ?? "") \($0["severity"] as? String ?? "")"
      }
    }
    return found
  }
}
