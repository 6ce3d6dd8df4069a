import Foundation
import Glibc
import ReelTestServers
import ReelTestSupport
import Testing

@Suite("reel validate", .shortTime)
struct ValidateTests {
  private func reel(_ bench: Workbench, _ arguments: String...) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments, in: bench.folder)
  }

  private func rules(_ outcome: ReelBinary.Outcome) throws -> [String: [String]] {
    let files = try outcome.object()["files"] as? [[String: Any]] ?? []
    return Dictionary(
      files.map { file in
        let findings = file["findings"] as? [[String: Any]] ?? []
        let name = (file["path"] as? String ?? "").split(separator: "/").last.map(String.init) ?? ""
        let broken = findings.filter {
          $0["state"] as? String == "broken" && $0["severity"] as? String == "error"
        }
        return (name, broken.compactMap { $0["rule"] as? String })
      }
    ) { first, _ in first }
  }

  @Test("all clips pass the sanity rules, and every broken file breaks one of them")
  func samples() async throws {
    let bench = try Workbench()
    let clips = try await reel(bench, "validate", Workbench.sample("clips").path, "--report", "json")
    #expect(clips.status == 0, "\(clips.output)")
    let broken = try await reel(bench, "validate", Workbench.sample("broken").path, "--report", "json")
    #expect(broken.status == 4)
    let found = try rules(broken)
    let expected = [
      "animation-named.mp4": "container.disguised", "archive.mp4": "container.disguised",
      "audio-only.mp4": "video.none", "concat.mp4": "container.disguised",
      "cover-only.mp4": "video.coverOnly",
      "cut-off.mp4": "file.truncated",
      "elsewhere.mp4": "media.external",
      "empty.mp4": "file.empty", "error-page.mp4": "container.disguised", "garbage.mp4": "container.corrupt",
      "letter.mp4": "container.disguised", "lfs-pointer.mp4": "file.lfsPointer",
      "mp3-named.mp4": "container.disguised", "no-moov.mp4": "mp4.noMoov", "no-samples.mp4": "video.empty",
      "picture.mp4": "container.disguised", "playlist.mp4": "container.disguised",
      "raw-stream.h264": "container.unsupported", "reference-movie.mov": "media.external",
    ]
    #expect(found == expected.mapValues { [$0] })
  }

  @Test(
    "the suggested commands lose no bytes, whatever files there are and in whatever order", arguments: 0..<4)
  func pasted(round: Int) async throws {
    let bench = try Workbench()
    let (clips, files) = (bench.clips, FileManager.default)
    let name = { (name: String) in clips.appendingPathComponent(name).path }
    let one = try Data(contentsOf: Workbench.sample("clips/faststart.mp4"))
    // Misnamed files, some with a well-named one of the same bytes; names that a new name could collide with; links of
    // both kinds.
    for misnamed in ["a.mov", "taken.mov", "~x.mov", "trailing.mp4 ", "editor.mp4~", "-i.mov", "it's.mov"] {
      try (one + Data(misnamed.utf8)).write(to: clips.appendingPathComponent(misnamed))
    }
    for other in ["taken.mp4", "trailing.mp4", "editor.mp4", "~x.mp4"] {
      try (one + Data("other \(other)".utf8)).write(to: clips.appendingPathComponent(other))
    }
    for (first, second) in [
      ("double.mov", "double.mp4"), ("same.mp4", "twin.mp4"), ("other2.mp4", "twin.mp4.duplicate"),
    ] {
      try (one + Data(first.utf8)).write(to: clips.appendingPathComponent(first))
      try (one + Data(first.utf8)).write(to: clips.appendingPathComponent(second))
    }
    try files.createSymbolicLink(atPath: name("0 link.mp4"), withDestinationPath: "target.mp4")
    try (one + Data("target".utf8)).write(to: clips.appendingPathComponent("target.mp4"))
    try #require(link(name("target.mp4"), name("hard.mp4")) == 0)
    try files.createDirectory(atPath: name("denied"), withIntermediateDirectories: true)
    try one.write(to: clips.appendingPathComponent("denied/d.mp4"))
    let contents = {
      Set(
        (try files.subpathsOfDirectory(atPath: clips.path)).compactMap { path in
          var status = stat()
          guard stat(name(path), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return Data?.none }
          return files.contents(atPath: name(path))
        })
    }
    let before = try contents()
    try bench.write("rules: {duplicate.exact: error}", to: "../policy.yaml")
    let run = try await reel(
      bench, "validate", "clips", "--follow-links", "--report", "json", "--policy", "policy.yaml")
    let found = try run.object()["files"] as? [[String: Any]] ?? []
    var fixes = found.flatMap {
      ($0["findings"] as? [[String: Any]] ?? []).compactMap { $0["fix"] as? String }
    }
    #expect(fixes.count > 6, "\(run.output)")
    fixes = fixes.filter { !$0.hasPrefix("ffmpeg ") && !$0.hasPrefix("reel ") }
    var draws = SplitMix64(seed: UInt64(round))
    if round > 0 { fixes.shuffle(using: &draws) }
    #expect(
      !fixes.contains { $0.contains("target.mp4") || $0.contains("hard.mp4") || $0.contains("0 link") },
      "\(fixes)")
    #expect(
      !fixes.contains { $0.contains("double.mp4") && $0.contains("duplicate") },
      "the honest name stays: \(fixes)")
    for shell in 0..<2 {
      let script = fixes.joined(separator: "\n") + "\n"
      let outcome = try await ReelBinary.start(
        ["-c", script], in: bench.folder, program: URL(filePath: shell == 0 ? "/bin/bash" : "/bin/sh")
      ).outcome()
      #expect(try contents() == before, "\(fixes)\n\(outcome.errors)")
    }
  }

  @Test(
    "restoring read permission is suggested only to the file's owner, if nothing else is missing",
    .needsOtherUser)
  func permissions() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "own.mp4")
    try bench.add("clips/faststart.mp4", as: "other.mp4")
    try #require(
      chmod(bench.clips.path + "/own.mp4", 0o200) == 0 && chmod(bench.clips.path + "/other.mp4", 0o600) == 0)
    try #require(chown(bench.clips.path + "/own.mp4", OtherUser.id, OtherUser.id) == 0)
    let run = try await ReelBinary.start(
      ["validate", "clips", "--report", "json"], in: bench.folder, environment: ["HOME": bench.folder.path],
      launcher: OtherUser.launcher
    ).outcome()
    let found = try run.object()["files"] as? [[String: Any]] ?? []
    let fixes = found.flatMap {
      ($0["findings"] as? [[String: Any]] ?? []).compactMap { $0["fix"] as? String }
    }
    #expect(fixes == ["chmod u+r clips/own.mp4"], "\(run)")
  }

  @Test("a file that consists almost entirely of holes is reported, and not read to its end")
  func holes() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "sparse.mp4")
    // ext4 allows 16 TiB, tmpfs and XFS nearly 8 EiB.
    let path = bench.clips.path + "/sparse.mp4"
    try #require([Int64.max, 1 << 43, 1 << 40].contains { truncate(path, off_t($0)) == 0 })
    try bench.write("rules: {duplicate.exact: error}", to: "../policy.yaml")
    let lock = try await reel(bench, "lock", "clips", "-o", "reel.lock")
    #expect(lock.status == 0, "\(lock)")
    try bench.makeEmptyLibrary()
    for arguments in [
      ["validate", "clips", "--lock", "reel.lock", "--report", "json"],
      ["show", "clips/sparse.mp4", "--library", bench.library.path],
    ] {
      let run = try await ReelBinary.run(arguments, in: bench.folder)
      #expect("\(run.output)\(run.errors)".contains("is holes"), "\(arguments): \(run)")
    }
  }

  @Test("the samples agree with their lock")
  func lockOfSamples() async throws {
    let bench = try Workbench()
    let samples = ReelBinary.project.appendingPathComponent("Samples").path
    let run = try await reel(bench, "validate", samples, "--lock", samples + "/reel.lock")
    #expect(run.status == 0, "\(run.output)\(run.errors)")
    // Validating only a part of the locked files does not report the others as missing.
    #expect(
      try await reel(bench, "validate", samples + "/clips", "--lock", samples + "/reel.lock").status == 0)
  }

  @Test("a lock detects changed, new and missing files; an update shows the difference first")
  func lock() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try bench.add("broken/cut-off.mp4")
    #expect(try await reel(bench, "lock", "clips").status == 0)
    #expect(try await reel(bench, "validate", "clips", "--no-lock").status == 4)
    let kept = try await reel(bench, "validate", "clips")
    #expect(kept.status == 0 && kept.output.contains("compared with clips/reel.lock"), "\(kept)")
    #expect(try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock").status == 0)
    #expect(try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock", "--no-lock").status == 64)
    try bench.add("clips/matroska.mkv")
    try FileManager.default.removeItem(at: bench.clips.appendingPathComponent("clip-00000.mp4"))
    let changed = bench.clips.appendingPathComponent("clip-00001.mp4")
    try (Data(contentsOf: changed) + Data([0, 0, 0, 8]) + Data("free".utf8)).write(to: changed)
    let run = try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock", "--report", "json")
    #expect(run.status == 4)
    #expect(
      try rules(run) == [
        "clip-00000.mp4": ["lock.gone"], "clip-00001.mp4": ["lock.changed"], "matroska.mkv": ["lock.new"],
        "cut-off.mp4": [],
      ])
    let refused = try await reel(bench, "lock", "clips")
    #expect(refused.status == 4 && refused.output.contains("gone     clip-00000.mp4"), "\(refused.output)")
    #expect(try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock").status == 4)
    #expect(try await reel(bench, "lock", "clips", "--force").status == 0)
    #expect(try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock").status == 0)
  }

  @Test("without a lock, the suggested shell command makes it")
  func missingLock() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try FileManager.default.moveItem(
      at: bench.clips, to: bench.folder.appendingPathComponent("it's $HOME"))
    let arguments = ["it's $HOME", "--lock", "new lock"]
    let run = try await ReelBinary.run(["validate"] + arguments, in: bench.folder)
    #expect(run.status == 1, "\(run)")
    let command = try #require(run.errors.components(separatedBy: "make it with: reel").last)
    let made = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "\(ReelBinary.url.path)\(command)"], in: bench.folder)
    #expect(made.status == 0, "\(made)")
    #expect(try await ReelBinary.run(["validate"] + arguments, in: bench.folder).status == 0)
  }

  @Test(
    "a new lock reports the broken rules that it records; a lock of nothing or of a missing file fails"
  )
  func newLock() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    for name in ["cut-off.mp4", "garbage.mp4", "letter.mp4", "no-moov.mp4"] {
      try bench.add("broken/" + name)
    }
    let run = try await reel(bench, "lock", "clips")
    #expect(
      run.output.contains("1 pass, 4 are locked as broken: cut-off.mp4 (file.truncated), garbage.mp4")
        && run.output.contains("and 1 more; see reel validate --explain file.truncated"), "\(run)")
    let forced = try await reel(bench, "lock", "clips", "-o", "other.lock", "--json")
    #expect(try forced.object()["broken"] as? Int == 4, "\(forced)")
    let none = try await reel(bench, "lock", "nosuch")
    #expect(none.status == 1 && none.errors.contains("there is no such file or folder"), "\(none)")
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent("empty"), withIntermediateDirectories: false)
    var codes: Set<String> = []
    for command in ["lock", "validate"] {
      let run = try await reel(bench, command, "empty", "--json")
      let answer = try run.object()
      #expect(run.status == 4 && answer.count > 3, "\(run)")
      codes.formUnion((answer["problems"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String })
    }
    #expect(codes == ["noFiles"])
  }

  @Test("the suggested command updates a lock, with all arguments that were given")
  func lockCommand() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let arguments = ["clips", "-o", "a lock", "--exclude", "*.mkv", "--policy", "web-playback"]
    #expect(try await ReelBinary.run(["lock"] + arguments, in: bench.folder).status == 0)
    try bench.addDistinct(1, from: 1)
    let run = try await ReelBinary.run(["lock"] + arguments, in: bench.folder)
    let command = try #require(run.output.split(separator: "\n").last { $0.hasPrefix("  reel lock ") })
    #expect(run.status == 4, "\(run)")
    let made = try await ReelBinary.runProgram(
      "/bin/sh",
      ["-c", ReelBinary.url.path + command.dropFirst("  reel".count)],
      in: bench.folder)
    #expect(made.status == 0, "\(made)")
    #expect(try await ReelBinary.run(["lock"] + arguments, in: bench.folder).status == 0)
  }

  @Test("a broken file can't be an example for a policy")
  func brokenExample() async throws {
    let bench = try Workbench()
    let run = try await reel(bench, "policy", "init", Workbench.sample("broken/cut-off.mp4").path)
    #expect(run.status == 1 && run.output.isEmpty && run.errors.contains("file.truncated"), "\(run)")
  }

  @Test("a lock behind a link is written to the link's target, and keeps its permissions")
  func lockBehindALink() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await reel(bench, "lock", "clips", "-o", "real.lock").status == 0)
    let (real, link) = (bench.folder.path + "/real.lock", bench.folder.path + "/link.lock")
    #expect(chmod(real, 0o664) == 0 && symlink("real.lock", link) == 0)
    try bench.addDistinct(1, from: 1)
    #expect(try await reel(bench, "lock", "clips", "-o", "link.lock", "--force").status == 0)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real.lock")
    let mode = try FileManager.default.attributesOfItem(atPath: real)[.posixPermissions] as? Int
    #expect(mode == 0o664)
    #expect(try String(contentsOfFile: real, encoding: .utf8).contains("clip-00001.mp4"))
  }

  @Test("the same bytes with other facts are reported as another reading")
  func reading() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await reel(bench, "lock", "clips").status == 0)
    let lock = bench.clips.appendingPathComponent("reel.lock")
    let text = try String(contentsOf: lock, encoding: .utf8)
    try text.replacing("video.rotation = 0", with: "video.rotation = 90").write(
      to: lock, atomically: true, encoding: .utf8)
    let run = try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock", "--report", "json")
    #expect(try rules(run) == ["clip-00000.mp4": ["lock.reading"]])
  }

  @Test("a name with differently composed accents is the locked file if no other one is there")
  func alikeName() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let (clip, composed, apart) = ("/clip-00000.mp4", "/caf\u{E9}.mp4", "/cafe\u{301}.mp4")
    func rename(_ old: String, _ new: String) {
      #expect(Glibc.rename(bench.clips.path + old, bench.clips.path + new) == 0)
    }
    rename(clip, composed)
    #expect(try await reel(bench, "lock", "clips").status == 0)
    rename(composed, apart)
    let run = try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock", "--report", "json")
    #expect(run.status == 0, "\(run)")
    #expect(try await reel(bench, "lock", "clips").status == 0)
    // If both names exist, each stands for itself.
    rename("/clip-00001.mp4", composed)
    let both = try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock", "--report", "json")
    #expect(
      both.status == 4 && both.output.contains("lock.new") && both.output.contains("lock.changed"), "\(both)")
  }

  @Test("nothing to validate is a failure, and so is an unreadable file; both are reported")
  func neverGreenByAbsence() async throws {
    let bench = try Workbench()
    #expect(try await reel(bench, "validate", "clips").status == 4)
    #expect(try await reel(bench, "validate", "clips", "--allow-empty").status == 0)
    #expect(try await reel(bench, "validate", "nowhere").status == 1)
    let link = bench.clips.appendingPathComponent("link.mp4")
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "/dev/zero")
    let unreadable = try await reel(bench, "validate", "clips", "--report", "json")
    #expect(unreadable.status == 4)
    #expect(try rules(unreadable) == ["link.mp4": ["file.unreadable"]])
    try FileManager.default.removeItem(at: link)
    try bench.write("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", to: "data.bin")
    let pointer = try await reel(bench, "validate", "clips", "--report", "json")
    #expect(try rules(pointer) == ["data.bin": ["file.lfsPointer"]])
  }

  @Test("a broken sidecar fails its video, one without a video warns, other JSON is not a sidecar")
  func sidecars() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.write("{\"caption\": 5}", to: "a.json")
    try bench.write("{\"caption\": \"left over\"}", to: "b.json")
    try bench.write("{\"version\": 1}", to: "package.json")
    let run = try await reel(bench, "validate", "clips", "--report", "json")
    #expect(try rules(run) == ["a.mp4": ["sidecar.invalid"], "b.json": []])
    #expect(run.output.contains("sidecar.orphan") && !run.output.contains("package.json"))
  }

  @Test("duplicates, unsafe names, and a policy with overrides are judged")
  func others() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.add("clips/faststart.mp4", as: "b c\n.mp4")
    try bench.write(
      "rules: {duplicate.exact: error, duration.max: 1s}\noverrides: [{files: a.mp4, rules: {duration.max: off}}]",
      to: "policy.yaml")
    let run = try await reel(bench, "validate", "clips", "--policy", "clips/policy.yaml", "--report", "json")
    #expect(try rules(run) == ["a.mp4": [], "b c\n.mp4": ["duration.max", "duplicate.exact"]])
  }

  @Test("publish and ingest refuse by the same policy, with every rule")
  func door() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try bench.write("rules: {duration.max: 1s, audio.none: off, codec.video: vp9}", to: "policy.yaml")
    let run = try await bench.reel(
      "ingest", "clips", "--policy", "clips/policy.yaml", "--events", "events.jsonl")
    #expect(run.status == 4, "\(run.errors)")
    let events = try String(contentsOf: bench.folder.appendingPathComponent("events.jsonl"), encoding: .utf8)
    #expect(
      events.contains("file.refused") && events.contains("duration.max") && events.contains("codec.video"))
    #expect(try await bench.reel("ingest", "clips", "--policy", "web-playback").status == 0)
  }

  @Test(
    "a signal in the middle of a run ends it with 130, and no report is written",
    arguments: [SIGINT, SIGTERM])
  func interrupted(number: Int32) async throws {
    let bench = try Workbench()
    let running = try await Self.stuck(in: bench)
    running.send(number)
    let run = try await running.outcome()
    #expect(run.status == 130 && !run.wasKilled, "\(run.status) \(run.output)\(run.errors)")
    let report = bench.folder.appendingPathComponent("out.xml").path
    #expect((try? String(contentsOfFile: report, encoding: .utf8)) ?? "" == "")
  }

  @Test("a signal that nohup has ignored stays ignored")
  func ignored() async throws {
    let bench = try Workbench()
    let running = try await Self.stuck(
      in: bench, launcher: ["/bin/sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""])
    running.send(SIGHUP)
    #expect(Self.ignores(SIGHUP, running.process.processIdentifier))
    running.send(SIGTERM)
    #expect(try await running.outcome().status == 130)
  }

  /// Starts a run whose sabotaged worker never returns from its file, so only a signal ends it soon. The run listens to
  /// signals before it starts a worker.
  private static func stuck(
    in bench: Workbench, launcher: [String] = []
  ) async throws -> ReelBinary.Running {
    let movie = Data([0, 0, 0, 24]) + Data("ftypisom".utf8) + Data([0, 0, 2, 0]) + Data("isomiso2".utf8)
    try (movie + Data([0, 0, 0, 8]) + Data("moovsleep".utf8))
      .write(to: bench.clips.appendingPathComponent("a.mp4"))
    let worker = ReelBinary.folder.appendingPathComponent("reel-sabotaged-worker").path
    let running = try ReelBinary.start(
      ["validate", "clips", "--worker", worker, "--deadline", "3600", "--report", "junit=out.xml"],
      in: bench.folder, launcher: launcher)
    for _ in 0..<30_000 {
      if hasChild(running.process.processIdentifier) { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    return running
  }

  /// proc_pid_status(5): `SigIgn` is a mask whose lowest bit is signal 1.
  private static func ignores(_ number: Int32, _ process: Int32) -> Bool {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }
    let mask = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0
    return mask & 1 << UInt64(number - 1) != 0
  }

  private static func hasChild(_ process: Int32) -> Bool {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    return threads.contains { thread in
      let children = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8)
      return children?.isEmpty == false
    }
  }

  @Test("usage errors exit with 64, and an unusable policy or lock with 1")
  func usage() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    for arguments in [
      ["validate"], ["validate", "clips", "--report", "pdf"],
      ["validate", "clips", "--report", "json", "--report", "sarif"],
      ["validate", "--explain", "no.such"], ["lock", "clips", "clips"],
    ] {
      #expect(try await ReelBinary.run(arguments, in: bench.folder).status == 64, "\(arguments)")
    }
    for arguments in [
      ["validate", "clips", "--policy", "no-such"], ["validate", "clips", "--policy", "no.yaml"],
      ["validate", "clips", "--lock", "no.lock"], ["validate", "clips", "--report", "json=no/such/folder"],
    ] {
      #expect(try await ReelBinary.run(arguments, in: bench.folder).status == 1, "\(arguments)")
    }
    #expect(try await reel(bench, "validate", "--explain", "duration.max").output.contains("60s"))
    let unwritable = try await ReelBinary.run(["lock", "clips", "-o", "no/such.lock"], in: bench.folder)
    #expect(unwritable.status == 1 && unwritable.output.isEmpty)
    #expect(
      unwritable.errors == "reel: no/such.lock can't be written: No such file or directory\n")
  }

  @Test("a policy's `extends` is relative to the policy's folder")
  func extends() async throws {
    let bench = try Workbench()
    for name in ["policies", "other"] {
      try FileManager.default.createDirectory(
        at: bench.folder.appendingPathComponent(name), withIntermediateDirectories: false)
    }
    try bench.write("extends: other/base.yaml", to: "../mine.yaml")
    try bench.write("extends: ../other/base.yaml", to: "../policies/mine.yaml")
    try bench.write("extends: last.yaml", to: "../other/base.yaml")
    try bench.write("rules: {duration.max: 60x}", to: "../other/last.yaml")
    for (policy, folder) in [
      ("./mine.yaml", "./other"), ("policies/mine.yaml", "policies/../other"),
      (bench.folder.path + "/mine.yaml", bench.folder.path + "/other"),
    ] {
      let run = try await reel(bench, "policy", "check", policy)
      #expect(run.status == 4 && run.output.hasPrefix("\(folder)/last.yaml:1:23: "), "\(run.output)")
    }
  }

  @Test("a truncated lock is invalid, and the suggested commands name it")
  func cutOffLock() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await reel(bench, "lock", "clips").status == 0)
    let place = bench.clips.appendingPathComponent("reel.lock")
    let lock = try String(contentsOf: place, encoding: .utf8)
    let second = try #require(lock.range(of: "\nfile clip-00001.mp4"))
    try String(lock[..<second.lowerBound]).write(to: place, atomically: false, encoding: .utf8)
    let cut = try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock")
    #expect(
      cut.status == 1 && cut.errors.contains("cut off") && cut.errors.contains("`reel lock clips`"), "\(cut)")
    try (lock + "<<<<<<< HEAD\n").write(to: place, atomically: false, encoding: .utf8)
    let merged = try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock")
    #expect(merged.errors.contains("`git checkout --ours clips/reel.lock`"), "\(merged)")
    #expect(merged.errors.contains("`reel lock clips --force`"), "\(merged)")
  }

  @Test("an override that matches no file of the folder is reported on standard error")
  func idleOverride() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    let policy = "overrides:\n  - files: [\"faststart*\"]\n    rules: {}\n  - files: web/**\n    rules: {}\n"
    try bench.write(policy, to: "../policy.yaml")
    func told(_ arguments: String...) async throws -> String {
      let run = try await ReelBinary.run(arguments + ["--policy", "policy.yaml"], in: bench.folder)
      #expect(run.status == 0, "\(run)")
      return run.errors
    }
    let idle =
      "reel: policy.yaml:4:5: this override matches none of the files; its patterns are relative to the folder that was "
      + "named\n"
    #expect(try await told("validate", "clips") == idle)
    #expect(try await told("lock", "clips") == idle)
    // With a single file or a filter, not every override is expected to match.
    #expect(try await told("validate", "clips/faststart.mp4") == "")
    #expect(try await told("validate", "clips", "--exclude", "x") == "")
  }

  @Test("GitHub and SARIF name files relative to the repository, wherever the command ran")
  func repositoryPaths() async throws {
    let bench = try Workbench()
    try bench.add("broken/cut-off.mp4")
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent(".git"), withIntermediateDirectories: true)
    let run = try await ReelBinary.run(
      ["validate", "cut-off.mp4", "--report", "github", "--report", "sarif=../s.json"], in: bench.clips)
    #expect(
      run.output.hasPrefix("::error file=clips/cut-off.mp4,title=file.truncated::cut-off.mp4 was"), "\(run)")
    let sarif = try String(contentsOf: bench.folder.appendingPathComponent("s.json"), encoding: .utf8)
    #expect(sarif.contains(#""uri" : "clips/cut-off.mp4""#), "\(sarif)")
    // Outside a repository, files are named as they were given.
    let outside = try await ReelBinary.run(
      ["validate", bench.clips.path, "--report", "github"], in: FileManager.default.temporaryDirectory)
    #expect(outside.output.hasPrefix("::error file=clips/cut-off.mp4,"), "\(outside)")
  }

  @Test("several reports go to a file each, with GitHub's summary, and are reproducible")
  func reports() async throws {
    let bench = try Workbench()
    try bench.add("broken/cut-off.mp4")
    let kinds = ["json", "jsonl", "sarif", "junit", "markdown", "people"]
    func run() async throws -> [String] {
      let run = try await ReelBinary.run(
        ["validate", "clips", "--report", "github"] + kinds.flatMap { ["--report", "\($0)=out.\($0)"] },
        in: bench.folder, environment: ["GITHUB_STEP_SUMMARY": bench.folder.path + "/summary.md"])
      #expect(run.status == 4)
      #expect(run.output.hasPrefix("::error file=clips/cut-off.mp4,title=file.truncated::"))
      return try kinds.map {
        try String(contentsOf: bench.folder.appendingPathComponent("out.\($0)"), encoding: .utf8)
      }
    }
    let (first, second) = (try await run(), try await run())
    #expect(first == second)
    let summary = try String(contentsOf: bench.folder.appendingPathComponent("summary.md"), encoding: .utf8)
    #expect(summary.components(separatedBy: "### ").count == 3)
  }

  private static func has(_ command: String) -> Bool {
    (try? tool(["sh", "-c", command]))?.status == 0
  }

  @Test(
    "JUnit reports conform to Jenkins' schema",
    .enabled(if: Self.has("command -v xmllint"), "xmllint (libxml2-utils)"))
  func junitSchema() async throws {
    let bench = try Workbench()
    _ = try await reel(bench, "validate", Workbench.sample("").path, "--report", "junit=out.xml")
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent("empty"), withIntermediateDirectories: true)
    _ = try await reel(bench, "validate", "empty", "--report", "junit=empty.xml")
    let schema = ReelBinary.project.appendingPathComponent("Tests/Schemas/junit-10.xsd").path
    for name in ["out.xml", "empty.xml"] {
      let check = try Self.tool(
        ["xmllint", "--noout", "--schema", schema, bench.folder.appendingPathComponent(name).path])
      #expect(check.status == 0, "\(check.errors)")
    }
  }

  @Test(
    "SARIF reports conform to their schema",
    .enabled(if: Self.has("python3 -c 'import jsonschema'"), "python3 with jsonschema"))
  func sarifSchema() async throws {
    let bench = try Workbench()
    let samples = Workbench.sample("").path
    let lock = samples + "/reel.lock"
    _ = try await reel(bench, "validate", samples, "--report", "sarif=out.sarif")
    _ = try await reel(bench, "validate", samples, "--lock", lock, "--report", "sarif=locked.sarif")
    let schema = ReelBinary.project.appendingPathComponent("Tests/Schemas/sarif-2.1.0-rtm.4.json").path
    let program = """
      import json, sys, jsonschema
      schema = json.load(open(sys.argv[1]))
      for name in sys.argv[2:]: jsonschema.Draft4Validator(schema).validate(json.load(open(name)))
      """
    let check = try Self.tool(
      ["python3", "-c", program, schema]
        + ["out.sarif", "locked.sarif"].map { bench.folder.appendingPathComponent($0).path })
    #expect(check.status == 0, "\(check.errors)")
  }

  private static func tool(_ arguments: [String]) throws -> (status: Int32, errors: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    let errors = try Spawning.alone {
      let errors = Pipe()
      process.standardError = errors
      try process.run()
      return errors
    }
    let told = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: told, as: UTF8.self))
  }

  @Test("the suggested lock command has every file that was named, and none is suggested for addresses")
  func manyNamed() async throws {
    let bench = try Workbench()
    try bench.addDistinct(41)
    try FileManager.default.moveItem(
      at: bench.clips.appendingPathComponent("clip-00040.mp4"),
      to: bench.clips.appendingPathComponent("it's $last.mp4"))
    func shell(_ script: String) async throws -> ReelBinary.Outcome {
      try await ReelBinary.runProgram(
        "/bin/bash", ["-c", script], in: bench.folder,
        environment: ["PATH": ReelBinary.url.deletingLastPathComponent().path + ":/usr/bin:/bin"])
    }
    let missing = try await shell("reel validate clips/*.mp4 --lock k.lock")
    let make = try #require(missing.errors.split(separator: "make it with: ").last)
    #expect(try await shell(String(make)).status == 0)
    #expect(try await shell("reel validate clips/*.mp4 --lock k.lock").status == 0)
    let address = try await shell("reel validate http://127.0.0.1:9/a.mp4 --lock none.lock")
    #expect(address.status == 1 && address.errors.contains("only files on this machine"), "\(address)")
    #expect(!address.errors.contains("make it with"))
  }

  @Test("an unreadable file is not locked, and its entry in the lock stays", .needsNoRoot)
  func unreadIsNotLocked() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await reel(bench, "lock", "clips").status == 0)
    let place = bench.clips.appendingPathComponent("reel.lock")
    let lock = try String(contentsOf: place, encoding: .utf8)
    chmod(bench.folder.path, 0o755)
    #expect(chmod(bench.clips.appendingPathComponent("clip-00001.mp4").path, 0) == 0)
    func run(_ arguments: String...) async throws -> ReelBinary.Outcome {
      try await ReelBinary.start(
        arguments, in: bench.folder, launcher: OtherUser.isRoot ? OtherUser.launcher : []
      ).outcome()
    }
    chmod(bench.clips.path, 0o777)
    chmod(place.path, 0o666)
    let locked = try await run("lock", "clips", "--force")
    #expect(locked.status == 3 && locked.output.contains("it is not locked"), "\(locked)")
    #expect(try String(contentsOf: place, encoding: .utf8) == lock)
    // A lock of an older version records such files as having no bytes.
    let entry = try #require(lock.range(of: "file clip-00001.mp4"))
    let old =
      lock[..<entry.upperBound].replacing("reel-lock 2", with: "reel-lock 1")
      + "\n  sha256 = unknown\n  size = unknown\n"
      + "  verdict = broken file.unreadable\n  read-by = reel 0.2.0, libavformat 59.27.100\n  error = denied\n"
    try String(old).write(to: place, atomically: false, encoding: .utf8)
    let judged = try await run("validate", "clips", "--lock", "clips/reel.lock")
    #expect(judged.status == 4 && judged.output.contains("file.unreadable"), "\(judged)")
  }

  @Test(
    "among duplicates the locked file stays, then the one with a safe name, so the lock still holds"
  )
  func equals() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "b.mp4")
    #expect(try await reel(bench, "lock", "clips").status == 0)
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.add("clips/silent.mp4", as: "-c.mp4")
    try bench.add("clips/silent.mp4", as: "d.mp4")
    func fixes(_ arguments: String...) async throws -> [String] {
      let run = try await ReelBinary.run(["validate", "clips", "--json"] + arguments, in: bench.folder)
      let files = try run.object()["files"] as? [[String: Any]] ?? []
      return files.flatMap {
        ($0["findings"] as? [[String: Any]] ?? []).compactMap { $0["fix"] as? String }.filter {
          $0.hasPrefix("mv")
        }
      }
    }
    #expect(
      try await fixes("--no-lock") == [
        "mv -n -- clips/-c.mp4 clips/-c.mp4.duplicate", "mv -n -- clips/b.mp4 clips/b.mp4.duplicate",
      ])
    #expect(
      try await fixes("--lock", "clips/reel.lock") == [
        "mv -n -- clips/-c.mp4 clips/-c.mp4.duplicate", "mv -n -- clips/a.mp4 clips/a.mp4.duplicate",
      ])
    try FileManager.default.removeItem(at: bench.clips.appendingPathComponent("-c.mp4"))
    try FileManager.default.removeItem(at: bench.clips.appendingPathComponent("d.mp4"))
    let moved = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "mv -n -- clips/a.mp4 clips/a.mp4.duplicate"], in: bench.folder)
    #expect(moved.status == 0)
    #expect(try await reel(bench, "validate", "clips", "--lock", "clips/reel.lock").status == 0)
  }

  @Test("files in an unreadable folder are not reported as missing", .needsOtherUser)
  func unreadFolder() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let folder = bench.clips.appendingPathComponent("deep")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try bench.add("clips/silent.mp4", as: "deep/a.mp4")
    #expect(try await reel(bench, "lock", "clips").status == 0)
    chmod(bench.folder.path, 0o755)
    chmod(folder.path, 0o700)
    let run = try await ReelBinary.start(
      ["validate", "clips", "--lock", "clips/reel.lock", "--report", "json"], in: bench.folder,
      environment: ["HOME": bench.folder.path],
      launcher: OtherUser.launcher
    ).outcome()
    #expect(try rules(run) == ["clip-00000.mp4": [], "deep": ["file.unreadable"]], "\(run)")
  }

  @Test("codecs are recognized however they are written")
  func codecNames() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    for (rule, status) in [("H264", 0), ("avc1", 0), ("h265", 4)] as [(String, Int32)] {
      try Data("policy: 1\nrules: {codec.video: \(rule), pixel.format: YUV420P}\n".utf8).write(
        to: bench.folder.appendingPathComponent("p.yaml"))
      #expect(try await reel(bench, "validate", "clips", "--policy", "p.yaml").status == status, "\(rule)")
    }
  }
}
