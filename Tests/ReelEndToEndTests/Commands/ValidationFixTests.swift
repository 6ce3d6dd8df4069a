import Foundation
import ReelTestSupport
import Testing

/// Runs the commands that `reel validate` suggests, and validates the results.
@Suite(
  "What validate suggests", .notQuick,
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/ffmpeg"), "needs the ffmpeg program"))
struct ValidationFixTests {
  /// Single rules that samples break.
  private static let rules = [
    "size.max: 60x40", "fps.max: 12", "fps.variable: error", "hdr.present: error", "pixel.format: yuv420p",
    "sar.nonSquare: error", "rotation.present: error", "audio.none: error", "audio.channels: 2",
    "audio.sampleRate: 32000", "duration.max: 0.5s", "bitrate.max: 300kbps", "bytes.max: 40KB",
    "codec.video: [vp9, av1]", "codec.video: hevc", "codec.audio: opus", "container.allowed: webm",
    "container.allowed: mkv", "container.allowed: mov", "mp4.fragmented: error", "video.multiple: error",
    "privacy.location: error",
  ]
  /// Many rules at once.
  private static let strict = [
    "size.max: 60x40", "fps.max: 12", "hdr.present: error", "pixel.format: yuv420p", "sar.nonSquare: error",
    "rotation.present: error", "audio.none: error", "audio.sampleRate: 32000", "duration.max: 0.5s",
    "codec.video: h264", "container.allowed: mp4", "codec.audio: aac", "mp4.notFastStart: error",
    "privacy.location: error",
  ]

  /// A duration that some samples have exactly, and which another frame rate makes longer.
  private static let edge = ["fps.max: 25", "audio.sampleRate: 32000", "duration.max: 1s"]

  @Test(
    "is one command for a file, which produces a file that passes",
    arguments: ["web-playback", "youtube-upload", "strict", "edge"] + (TestForm.isLong ? rules : []))
  func advice(policy: String) async throws {
    let bench = try Workbench()
    try FileManager.default.copyItem(
      at: ReelBinary.project.appendingPathComponent("Samples"),
      to: bench.folder.appendingPathComponent("samples"))
    if policy == "edge" {
      // Its first second has a higher frame rate than the whole file.
      try FileManager.default.removeItem(
        at: bench.folder.appendingPathComponent("samples/clips/variable-rate.mp4"))
    }
    var name = policy
    if ["strict", "edge"].contains(policy) || policy.contains(":") {
      name = "ours.yaml"
      let rules = policy == "strict" ? Self.strict : policy == "edge" ? Self.edge : [policy]
      try bench.write(
        "policy: 1\nname: ours\nrules:\n" + rules.map { "  \($0)\n" }.joined(), to: "../ours.yaml")
    }
    let files = try await validate("samples", name, bench)
    var ran = 0
    for file in files where !file.broken.isEmpty {
      guard let command = file.commands.first else { continue }
      #expect(file.commands.count == 1, "\(file.path): \(file.commands)")
      let run = try await ReelBinary.runProgram(
        "/bin/bash", ["-c", command + " </dev/null"], in: bench.folder,
        environment: ["PATH": ReelBinary.url.deletingLastPathComponent().path + ":/usr/bin:/bin"])
      #expect(run.status == 0, "\(command): \(run.errors.suffix(500))")
      let made = try #require(command.split(separator: " ").last.map(String.init))
      let left = try await validate(made, name, bench).flatMap(\.broken)
      #expect(left.isEmpty, "\(command): \(left)")
      ran += 1
    }
    #expect(ran > 0)
  }

  @Test("writes to files of its own, and replaces none")
  func names() async throws {
    let bench = try Workbench()
    for (sample, name) in [
      ("matroska.mkv", "sample.mkv"), ("moov-at-end.mp4", "sample.mp4"), ("phone-portrait.mov", "sample.mov"),
      ("old.avi", "other.avi"), ("faststart.mp4", "other-mended.mp4"),
    ] {
      try bench.add("clips/" + sample, as: name)
    }
    let commands = try await validate("clips", "web-playback", bench).flatMap(\.commands)
    let made = commands.compactMap { $0.split(separator: " ").last.map(String.init) }
    #expect(made.count == 4 && Set(made).count == 4, "\(commands)")
    #expect(!made.contains { FileManager.default.fileExists(atPath: bench.folder.path + "/" + $0) })
    #expect(commands.allSatisfy { !$0.hasPrefix("ffmpeg") || $0.hasPrefix("ffmpeg -n ") })
  }

  /// How to make a file that is hard to fix, and the rule that it breaks.
  struct Making: Sendable, CustomTestStringConvertible {
    let name: String
    let rule: String
    /// The bash script that makes it.
    let script: String
    /// The expected width of the resulting picture.
    var width: Int?

    var testDescription: String { name }

    /// The message with a position that an AVCHD camera writes into its pictures.
    private static let message = #"17ee8c60-f84d-11d9-8cd6-0800200c9a66+MDPM\x01\xb2\x30\x30\x01\x01"#

    static func recorded(_ name: String) -> Making {
      Making(
        name: name, rule: "privacy.location: error",
        script: """
          ffmpeg -v error -i "$SAMPLES/moov-at-end.mp4" -map 0:v -c copy \
            -bsf:v h264_metadata=sei_user_data=$'\(message)' clips/\(name)
          """)
    }

    static func transfer(_ name: String, _ transfer: String) -> Making {
      let codec = "-c:v libx265 -x265-params transfer=\(transfer) -pix_fmt yuv420p10le"
      return Making(
        name: name, rule: "hdr.present: error",
        script: "ffmpeg -v error -f lavfi -i testsrc=d=0.4:s=64x64:r=5 \(codec) clips/\(name)")
    }
  }

  private static let makings = [
    Making.recorded("cam.ts"), Making.recorded("cam.mkv"), Making.recorded("cam.mp4"),
    Making.transfer("pq.mkv", "smpte2084"), Making.transfer("hlg.mkv", "arib-std-b67"),
    Making(
      name: "subtitled.mp4", rule: "privacy.location: error",
      script: #"""
        printf '1\n00:00:00,000 --> 00:00:01,000\n[latitude: 48.1234] [longitude: 11.5678]\n' >s.srt &&
        ffmpeg -v error -i "$SAMPLES/faststart.mp4" -i s.srt -map 0:v -map 1 -c:v copy -c:s mov_text \
          clips/subtitled.mp4
        """#),
    Making(
      name: "two.mkv", rule: "video.multiple: error",
      script: #"""
        ffmpeg -v error -f lavfi -i testsrc=d=0.4:s=64x64:r=5 -f lavfi -i testsrc2=d=0.4:s=160x96:r=25 \
          -map 0 -map 1 -c:v libx264 -pix_fmt yuv420p -disposition:v:0 0 -disposition:v:1 default \
          clips/two.mkv
        """#, width: 160),
    Making(
      name: "h.m4v", rule: "duration.max: 3s",
      script: #"""
        ffmpeg -v error -f lavfi -i testsrc=d=4:s=64x64:r=25 -c:v libx265 -x265-params bframes=0 \
          -pix_fmt yuv420p -tag:v hvc1 -f mp4 -brand 'M4V ' clips/h.m4v
        """#),
  ]

  @Test("produces a file that passes, whatever is hard about it", arguments: makings)
  func hard(making: Making) async throws {
    let bench = try Workbench()
    func shell(_ script: String) async throws -> ReelBinary.Outcome {
      try await ReelBinary.runProgram(
        "/bin/bash", ["-c", "{ \(script)\n} </dev/null"], in: bench.folder,
        environment: [
          "PATH": ReelBinary.url.deletingLastPathComponent().path + ":/usr/bin:/bin",
          "SAMPLES": Workbench.sample("clips").path,
        ])
    }
    let made = try await shell(making.script)
    #expect(made.status == 0, "\(made)")
    try bench.write("rules: {\(making.rule)}", to: "../ours.yaml")
    let file = try #require(try await validate("clips", "ours.yaml", bench).first)
    #expect(!file.broken.isEmpty)
    let command = try #require(file.commands.first, "\(file)")
    let run = try await shell(command)
    #expect(run.status == 0, "\(command): \(run.errors.suffix(500))")
    let name = try #require(command.split(separator: " ").last.map(String.init))
    let after = try await validate(name, "ours.yaml", bench)
    #expect(after.map(\.broken) == [[]], "\(command): \(after)")
    guard let width = making.width else { return }
    let probed = try await ReelBinary.run(["probe", name, "--json"], in: bench.folder).object()
    let video = (probed["media"] as? [String: Any])?["video"] as? [String: Any]
    #expect(video?["width"] as? Int == width, "\(command): \(probed)")
  }

  @Test("renames a file to a name that no other file has or will get")
  func renaming() async throws {
    let bench = try Workbench()
    for name in ["a.mp4", "a.avi", "b.mp4", "b.mov", "c.mp4"] {
      try bench.add("clips/phone-portrait.mov", as: name)
    }
    try FileManager.default.createDirectory(
      at: bench.clips.appendingPathComponent("c.mov"), withIntermediateDirectories: false)
    try bench.write(
      "rules: {ext.mismatch: error, duplicate.exact: off, privacy.location: off}", to: "../ours.yaml")
    let commands = try await validate("clips", "ours.yaml", bench).flatMap(\.commands)
    #expect(commands.count == 4, "\(commands)")
    for command in commands {
      let run = try await ReelBinary.runProgram("/bin/sh", ["-c", command], in: bench.folder)
      #expect(run.status == 0, "\(command): \(run)")
    }
    let names = try FileManager.default.subpathsOfDirectory(atPath: bench.clips.path).sorted()
    #expect(names == ["a.mov", "a.mp4.mov", "b.mov", "b.mp4.mov", "c.mov", "c.mp4.mov"])
    let left = try await validate("clips", "ours.yaml", bench).flatMap(\.broken)
    #expect(left == [])
  }

  @Test("contains no repair that was tried without success")
  func tried() async throws {
    let bench = try Workbench()
    try bench.add("clips/fragmented.mp4")
    // Its sound begins a second later, by an edit list, which FFmpeg ignores in fragmented files.
    try bench.add("clips/fragmented.mp4", as: "shifted.mp4")
    let made = try await ReelBinary.runProgram(
      "/usr/bin/ffmpeg",
      [
        "-v", "error", "-y", "-i", "clips/fragmented.mp4", "-itsoffset", "1", "-f", "lavfi", "-i",
        "sine=d=3", "-map", "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", "aac", "-movflags",
        "frag_keyframe+delay_moov", "clips/shifted.mp4",
      ], in: bench.folder)
    #expect(made.status == 0, "\(made)")
    try bench.write("rules: {mp4.fragmented: error}", to: "../ours.yaml")
    for file in try await validate("clips", "ours.yaml", bench) {
      let run = try await ReelBinary.run(
        ["mend", file.path, "--unfragment", "--faststart", "-o", "\(file.path)-mended"], in: bench.folder)
      #expect(file.commands.isEmpty == (run.status != 0), "\(file) \(run)")
      #expect(!file.broken.isEmpty)
    }
  }

  @Test("is given all the same if it could not be tried")
  func untried() async throws {
    let bench = try Workbench()
    try bench.add("clips/fragmented.mp4")
    try bench.write("rules: {mp4.fragmented: error}", to: "../ours.yaml")
    let here = try await validate("clips", "ours.yaml", bench)
    #expect(here.first?.commands.count == 1)
    let nowhere = bench.folder.appendingPathComponent("nowhere").path
    for folder in ["/proc", nowhere] {
      let run = try await ReelBinary.run(
        ["validate", "clips", "--policy", "ours.yaml", "--json"], in: bench.folder,
        environment: ["TMPDIR": folder])
      #expect(run.output.contains("--unfragment"), "\(folder): \(run)")
    }
    #expect(!FileManager.default.fileExists(atPath: nowhere))
  }

  @Test("also works for a raw stream, which has no container", arguments: ["h264", "hevc"])
  func raw(format: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let name = "it's $raw.\(format == "hevc" ? "h265" : format)"
    let made = try await ReelBinary.runProgram(
      "/usr/bin/ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc=d=1:s=160x120", "-pix_fmt", "yuv420p", "-c:v",
        format == "hevc" ? "libx265" : "libx264", "-f", format, "clips/\(name)",
      ], in: bench.folder)
    #expect(made.status == 0, "\(made)")
    let files = try await validate("clips", "web-playback", bench)
    let file = try #require(files.first { $0.path.hasSuffix(name) })
    let command = try #require(file.commands.first, "\(file)")
    let run = try await ReelBinary.runProgram(
      "/bin/bash", ["-c", command + " </dev/null"], in: bench.folder,
      environment: ["PATH": ReelBinary.url.deletingLastPathComponent().path + ":/usr/bin:/bin"])
    #expect(run.status == 0, "\(command): \(run.errors.suffix(500))")
    let after = try await validate("clips", "web-playback", bench).filter { $0.path.contains("mended") }
    #expect(after.map(\.broken) == [[]], "\(after)")
  }

  @Test("is omitted where no command helps, and names no Git where there is no repository")
  func none() async throws {
    let bench = try Workbench()
    for name in ["empty.mp4", "lfs-pointer.mp4", "garbage.mp4", "no-moov.mp4", "audio-only.mp4"] {
      try bench.add("broken/" + name)
    }
    #expect(
      try await validate("clips", "web-playback", bench).allSatisfy {
        !$0.broken.isEmpty && $0.commands.isEmpty
      })
    // Git does not accept this folder as a repository.
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent(".git"), withIntermediateDirectories: false)
    #expect(try await validate("clips", "web-playback", bench).flatMap(\.commands).isEmpty)
  }

  private struct Judged {
    let path: String
    /// The broken rules, and what was found.
    let broken: [String]
    let commands: Set<String>
  }

  private func validate(_ path: String, _ policy: String, _ bench: Workbench) async throws -> [Judged] {
    let run = try await ReelBinary.run(
      ["validate", path, "--no-lock", "--policy", policy, "--report", "json"], in: bench.folder)
    let files = try #require(try run.object()["files"] as? [[String: Any]], "\(run)")
    return files.map { file in
      let findings = (file["findings"] as? [[String: Any]] ?? []).filter {
        $0["state"] as? String == "broken"
      }
      return Judged(
        path: file["path"] as? String ?? "",
        broken: findings.map { "\($0["rule"] ?? ""): \($0["found"] ?? "")" },
        commands: Set(findings.compactMap { $0["fix"] as? String }))
    }
  }
}
