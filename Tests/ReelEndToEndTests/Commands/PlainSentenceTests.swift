import Foundation
import Glibc
import ReelTestSupport
import Testing

/// Adverse environments and mistakes on the command line. Each message says what is wrong, with what, and what to do.
@Suite("Messages about the environment and mistakes", .shortTime)
struct PlainSentenceTests {
  private func shell(
    _ bench: Workbench, _ script: String, environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.runProgram(
      "/bin/sh", ["-c", script], in: bench.folder,
      environment: environment.merging(["REEL": ReelBinary.url.path]) { $1 })
  }

  // MARK: Missing stores and readers

  @Test(
    "a store's folder that is missing or empty counts as not mounted, and nothing is stored in its place",
    arguments: [
      ["ingest", "clips"], ["publish", "clips/clip-00000.mp4"], ["publish", "clips/clip-00001.mp4"],
    ],
    [true, false])
  func storeIsGone(arguments: [String], isGone: Bool) async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let to = ["--to", "disk/store", "--library", "l"]
    let first = try await ReelBinary.run(["publish", "clips/clip-00000.mp4"] + to, in: bench.folder)
    #expect(first.status == 0, "\(first.errors)")
    _ = try await shell(bench, "mv disk away; \(isGone ? "true" : "mkdir -p disk/store")")
    let outcome = try await ReelBinary.run(arguments + to, in: bench.folder)
    #expect(outcome.status == 1 && outcome.errors.contains("has 1 post"), "\(outcome.errors)")
    #expect(outcome.errors.contains("mount it") && outcome.errors.contains("reel relocate --library l"))
    #expect(FileManager.default.fileExists(atPath: bench.folder.path + "/disk") == !isGone)
    _ = try await shell(bench, "rm -rf disk; mv away disk")
    #expect(try await ReelBinary.run(["ingest", "clips"] + to, in: bench.folder).status == 0)
  }

  @Test("moving a post to a missing store creates no folder")
  func storeToMoveToIsGone() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let library = ["--library", "l"]
    for (clip, store) in [("clips/clip-00000.mp4", "disk/one"), ("clips/clip-00001.mp4", "two")] {
      #expect(
        try await ReelBinary.run(["publish", clip, "--to", store] + library, in: bench.folder).status == 0)
    }
    _ = try await shell(bench, "mv disk away")
    let move = ["move", "clips/clip-00001.mp4", "--to", "disk/one"] + library
    let refused = try await ReelBinary.run(move, in: bench.folder)
    #expect(refused.status == 1 && refused.errors.contains("mount it"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.path + "/disk"))
    _ = try await shell(bench, "mv away disk")
    #expect(try await ReelBinary.run(move, in: bench.folder).status == 0)
    #expect(try await ReelBinary.run(["doctor"] + library, in: bench.folder).status == 0)
  }

  @Test(
    "suggested commands name the library, in JSON, too, and a name like a command is not taken for one"
  )
  func advice() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try FileManager.default.moveItem(
      at: bench.clips.appendingPathComponent("clip-00000.mp4"),
      to: bench.clips.appendingPathComponent("reel doctor.mp4"))
    let library = ["--library", "reel status"]
    let word = "'reel status'"
    #expect(
      try await ReelBinary.run(["publish", "clips/reel doctor.mp4", "--to", "s"] + library, in: bench.folder)
        .status == 0)
    _ = try await shell(bench, "mv s away")
    let verify = try await ReelBinary.run(["verify"] + library, in: bench.folder)
    #expect(verify.output.contains("reel relocate --library \(word) file:"), "\(verify)")
    let doctor = try await ReelBinary.run(["doctor", "--json"] + library, in: bench.folder)
    #expect(doctor.output.contains("run reel doctor --library \(word) again"), "\(doctor)")
    let moved = try await ReelBinary.run(
      ["move", "clips/reel doctor.mp4", "--to", "t", "--json"] + library, in: bench.folder)
    let problem = try #require((try moved.object()["problems"] as? [[String: Any]])?.first)
    #expect(
      (problem["message"] as? String)?.contains("reel relocate --library \(word) file:") == true, "\(moved)")
    let posts = try #require(try moved.object()["posts"] as? [[String: Any]])
    let error = try #require(posts.first?["error"] as? [String: Any])
    #expect((error["message"] as? String)?.contains("--library \(word) file:") == true, "\(moved)")
    _ = try await shell(bench, "mv away s")
    let removed = try await ReelBinary.run(
      ["remove", "clips/reel doctor.mp4", "--keep", "1d"] + library, in: bench.folder)
    #expect(removed.output.contains("(reel doctor.mp4)"), "\(removed)")
    let command = try #require(removed.output.split(separator: "\n").last?.split(separator: ": ").last)
    #expect(removed.output.contains("To put it back until 20"), "\(removed)")
    let pasted = try await ReelBinary.runProgram(
      "/bin/bash", ["-c", String(command)], in: bench.folder,
      environment: ["PATH": ReelBinary.url.deletingLastPathComponent().path + ":/usr/bin:/bin"])
    #expect(pasted.status == 0, "\(command): \(pasted)")
    _ = try await shell(bench, "rm 'reel status'/catalog.sqlite*")
    let lost = try await ReelBinary.run(["feed"] + library, in: bench.folder)
    #expect(lost.status == 1 && lost.errors.contains("(reel doctor --library \(word) --rebuild)"), "\(lost)")
    #expect(lost.errors.contains("/reel status/catalog.sqlite is missing"), "\(lost)")
  }

  @Test("a value joined to its flag is not a file", arguments: ["-o=x.jpg", "-o=./x.jpg", "-o=h.jpg"])
  func joinedValue(flag: String) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    let outcome = try await ReelBinary.run(["poster", "clips/faststart.mp4", flag], in: bench.folder)
    #expect(outcome.status == 0, "\(outcome)")
  }

  @Test("a run whose reader has closed the pipe is still completed, and ends as usual")
  func closedOutput() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    for end in ["", "-v", "--json"] {
      // The reader has closed the pipe before Reel starts.
      let outcome = try await ReelBinary.runProgram(
        "/bin/bash",
        [
          "-c",
          "exec 3>&1; mkfifo gone-\(end); exec 4<>gone-\(end) 5>gone-\(end) 4<&-; \"$REEL\" ingest clips \(end) --library l >&5; echo $? >&3",
        ],
        in: bench.folder, environment: ["REEL": ReelBinary.url.path])
      #expect(outcome.output == "0\n", "\(end): \(outcome.output) \(outcome.errors)")
    }
  }

  @Test(
    "a file whose name begins with a minus is not taken for an option",
    arguments: ["-h.mp4", "-dash.webm"])
  func leadingMinus(name: String) async throws {
    let bench = try Workbench()
    let outcome = try await ReelBinary.run(["probe", name], in: bench.folder)
    #expect(outcome.status == 64 && outcome.errors.contains("'./\(name)'"), "\(outcome.errors)")
    #expect(outcome.output.isEmpty)
    try bench.addDistinct(1)
    _ = try await shell(bench, "cp clips/clip-00000.mp4 ./\(name)")
    #expect(try await ReelBinary.run(["probe", "./" + name], in: bench.folder).status == 0)
    #expect(try await ReelBinary.run(["probe", "--", name], in: bench.folder).status == 0)
  }

  // MARK: The machine

  @Test("without /dev, the message names /dev/null and not the reader", .needsMounting)
  func noDevices() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    // In a chroot, / is not a mount point, so its propagation can't be changed, as `unshare -m` would do first.
    let outcome = try await ReelBinary.runProgram(
      "/usr/bin/unshare",
      [
        "-m", "--propagation", "unchanged", "/bin/sh", "-c",
        "mount --make-rprivate /dev && mount -t tmpfs none /dev && exec \"$REEL\" ingest clips --library l",
      ],
      in: bench.folder, environment: ["REEL": ReelBinary.url.path, "PATH": "/usr/bin:/bin"])
    #expect(outcome.status == 1)
    let text = outcome.errors + outcome.output
    #expect(text.contains("/dev/null") && !text.contains("is not at"), "\(text)")
  }

  @Test("a reader that exists but can't be started is not called missing")
  func readerOfAnotherMachine() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try Data("\u{7F}ELF nothing that this machine runs".utf8).write(
      to: bench.folder.appendingPathComponent("worker"))
    chmod(bench.folder.path + "/worker", 0o700)
    let broken = try await bench.reel("ingest", "clips", "--worker", "worker")
    #expect(broken.status == 1)
    #expect(
      broken.output.contains("can't be started") && !broken.output.contains("is not at"), "\(broken.output)")
    chmod(bench.folder.path + "/worker", 0o600)
    let mode = try await bench.reel("ingest", "clips", "--worker", "worker")
    #expect(mode.output.contains("may run") && !mode.output.contains("is not at"), "\(mode.output)")
    let missing = try await bench.reel("ingest", "clips", "--worker", "nothing")
    #expect(missing.output.contains("is not at nothing"), "\(missing.output)")
  }

  @Test(
    "a limit on file sizes is named, and the disk is not blamed", .notSanitized,
    arguments: [1, 8, 100])
  func fileSize(blocks: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await shell(bench, "ulimit -f \(blocks); exec \"$REEL\" ingest clips --library l")
    #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
    #expect(outcome.errors.contains("ulimit -f") && !outcome.errors.contains("disk"), "\(outcome.errors)")
  }

  @Test(
    "a backup that exceeds the size limit says so, and calls itself a backup",
    .notSanitized)
  func largeBackup() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let outcome = try await shell(
      bench, "ulimit -f 150; exec \"$REEL\" backup copy --library \(bench.library.path)")
    #expect(outcome.status == 1)
    #expect(
      outcome.errors.contains("ulimit -f") && outcome.errors.contains("the backup"), "\(outcome.errors)")
  }

  @Test(
    "a file system that is mounted read-only is named", .needsMounting,
    arguments: [
      "ingest more --library DISK/l", "ingest more --library DISK/new", "cache clear --library DISK/l",
      "ingest more --library l --to DISK/l/media", "ingest more --library l --to DISK/new",
      "backup DISK/copy --library DISK/l",
    ])
  func readOnly(arguments: String) async throws {
    let bench = try Workbench()
    let disk = try #require(TinyDisk(kilobytes: 4000))
    try bench.addDistinct(1)
    let first = ["ingest", "clips", "--library", disk.path + "/l"]
    #expect(try await ReelBinary.run(first, in: bench.folder).status == 0)
    #expect(disk.makeReadOnly())
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent("more"), withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      at: Workbench.sample("clips/captioned.mp4"), to: bench.folder.appendingPathComponent("more/m.mp4"))
    let outcome = try await ReelBinary.run(
      arguments.split(separator: " ").map { String($0).replacing("DISK", with: disk.path) }, in: bench.folder)
    #expect(outcome.status == 1)
    let text = outcome.errors + outcome.output
    #expect(text.contains("mounted read-only") && !text.contains("check its disk"), "\(text)")
  }

  @Test("under umask 777, new files are still accessible to their owner", arguments: ["777", "700", "077"])
  func ownerRights(mask: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await shell(
      bench,
      """
      umask \(mask); "$REEL" ingest clips --library a/l --to s/t --events e >/dev/null || exit 9
      "$REEL" ingest clips --library m >/dev/null || exit 8; "$REEL" backup b --library m >/dev/null || exit 7
      "$REEL" lock clips >/dev/null || exit 6; "$REEL" validate clips --report json=r >/dev/null || exit 5
      """)
    #expect(outcome.status == 0, "\(outcome.errors)")
    for folder in ["a", "a/l", "a/l/tmp", "s", "s/t", "m", "m/tmp", "m/media"] {
      #expect(mode(bench, folder) == 0o700, "\(folder)")
    }
    let object = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path + "/m/media").first
    for file in ["a/l/catalog.sqlite", "e", "b", "m/media/" + (object ?? "")] {
      #expect(mode(bench, file) == 0o600, "\(file)")
    }
    for file in ["r", "clips/reel.lock"] { #expect((mode(bench, file) ?? 0) & 0o700 == 0o600, "\(file)") }
  }

  private func mode(_ bench: Workbench, _ name: String) -> UInt32? {
    var facts = stat()
    return stat(bench.folder.path + "/" + name, &facts) == 0 ? facts.st_mode & 0o777 : nil
  }

  // MARK: Settings

  @Test(
    "a configuration file must be a regular file of reasonable size",
    arguments: [
      ("/dev/zero", "regular"), (".", "regular"), ("pipe", "regular"), ("large", "larger"),
      ("none", "No such"),
    ])
  func configuration(path: String, word: String) async throws {
    let bench = try Workbench()
    #expect(mkfifo(bench.folder.path + "/pipe", 0o600) == 0)
    try Data().write(to: bench.folder.appendingPathComponent("large"))
    #expect(truncate(bench.folder.path + "/large", 10 << 30) == 0)
    let outcome = try await bench.reel("feed", "--config", path)
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains(path) && outcome.errors.contains(word), "\(outcome.errors)")
    #expect(!outcome.errors.contains("NSCocoa"), "\(outcome.errors)")
  }

  @Test(
    "an impossible value on the command line is a usage error: exit code 64, and nothing is created",
    arguments: [
      ["--mode", "9zz"], ["--mode", "077"], ["--mode", "1600"], ["--library", ""], ["--to", ""],
      ["--config", ""],
      ["--worker", ""], ["--include", "["], ["--include", "a/[b"], ["--exclude", "[z-a]"],
      ["--include", "a\\"],
      ["--public-base-url", "javascript:alert(1)"], ["--public-base-url", "media"],
      ["--public-base-url", "//host/v"],
      ["--public-base-url", "file:///srv"], ["--public-base-url", "https://"],
      ["--public-base-url", "https://a@b/"],
      ["--public-base-url", "https://host/ v"], ["--endpoint", "host"],
    ])
  func usage(arguments: [String]) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await ReelBinary.run(["ingest", "clips"] + arguments, in: bench.folder)
    #expect(outcome.status == 64, "\(outcome.output) \(outcome.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["clips"])
  }

  @Test("a base address in the settings is checked, too")
  func publicBase() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let bad = try await bench.reel("ingest", "clips", environment: ["REEL_PUBLIC_BASE_URL": "javascript:x"])
    #expect(bad.status == 1 && bad.errors.contains("http"), "\(bad.errors)")
    let good = try await bench.reel("ingest", "clips", "--public-base-url", "HTTPS://host:8443/v")
    #expect(good.status == 0, "\(good.errors)")
  }

  @Test(
    "a relative or missing home folder is no place for a library", arguments: ["home", "./home", "", nil])
  func home(_ home: String?) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await shell(
      bench, (home.map { "HOME='\($0)'" } ?? "unset HOME") + "; exec \"$REEL\" ingest clips")
    #expect(outcome.status == 1 && outcome.errors.contains("HOME"), "\(outcome.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path) == ["clips"])
  }

  @Test("a configuration file that can't exist counts as absent")
  func homeIsAFile() async throws {
    let bench = try Workbench()
    try Data().write(to: bench.folder.appendingPathComponent("file"))
    try bench.makeEmptyLibrary()
    let outcome = try await bench.reel("feed", environment: ["HOME": bench.folder.path + "/file"])
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  @Test(
    "events never replace a file that holds none, such as a video",
    arguments: ["clips/clip-00000.mp4", "text", "sidecar.json"])
  func eventsElsewhere(name: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try Data("words".utf8).write(to: bench.folder.appendingPathComponent("text"))
    try Data(#"{"caption": "First light"}"#.utf8).write(
      to: bench.folder.appendingPathComponent("sidecar.json"))
    let before = try Data(contentsOf: bench.folder.appendingPathComponent(name))
    let outcome = try await bench.reel("ingest", "clips", "--events", name)
    #expect(outcome.status == 64 && outcome.errors.contains(name), "\(outcome.errors)")
    #expect(try Data(contentsOf: bench.folder.appendingPathComponent(name)) == before)
    for _ in 0..<2 { #expect(try await bench.reel("ingest", "clips", "--events", "log").status == 0) }
  }

  @Test("uploader check does not blame the uploader for an unusable TMPDIR")
  func noTemporaries() async throws {
    let bench = try Workbench()
    let outcome = try await bench.reel(
      "uploader", "check", "store", "--only", "upload.neverOverwrites", environment: ["TMPDIR": "/nowhere"])
    #expect(outcome.status == 1 && outcome.errors.contains("TMPDIR"), "\(outcome.output) \(outcome.errors)")
  }

  // MARK: Lists

  @Test(
    "an unusable list is named",
    arguments: [
      ["--captions", "/dev/zero"], ["--captions", "none.csv"], ["--captions", "clips"],
      ["--files0-from", "none"],
      ["--files0-from", "clips"],
    ])
  func namesTheList(arguments: [String]) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await bench.reel("ingest", "clips", arguments[0], arguments[1])
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("list") && outcome.errors.contains(arguments[1]), "\(outcome.errors)")
  }

  @Test("a name of megabytes in a list is refused at once, and neither printed nor stored")
  func longName() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let name = String(repeating: "x", count: 3_000_000)
    try Data("\(name)\0clips/clip-00000.mp4\0".utf8).write(to: bench.folder.appendingPathComponent("list"))
    let outcome = try await bench.reel("ingest", "--files0-from", "list")
    #expect(outcome.status == 1)
    #expect(
      outcome.errors.contains("name 1") && outcome.errors.contains("3000000"), "\(outcome.errors.prefix(500))"
    )
    #expect(outcome.errors.utf8.count < 500)
  }

  @Test("a long name is shortened for people, and complete for programs")
  func shortened() async throws {
    let bench = try Workbench()
    let name = String(repeating: "x", count: 50_000) + ".mp4"
    try Data("\(name)\0".utf8).write(to: bench.folder.appendingPathComponent("list"))
    let outcome = try await bench.reel("ingest", "--files0-from", "list", "--events", "events.jsonl")
    #expect(outcome.status == 4)
    #expect(outcome.output.contains("xx") && (outcome.output + outcome.errors).utf8.count < 8000)
    let ends = try EventLog(bench.folder.appendingPathComponent("events.jsonl")).ends()
    #expect(ends[name]?.code == "invalidName")
    #expect(try await bench.reel("status").output.utf8.count < 4000)
  }

  @Test(
    "a caption list takes little more memory than its own bytes",
    .needsFailpoints, .notSanitized)
  func captionMemory() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    var list = "path,caption,music,author\n"
    for number in 0..<100_000 {
      list += "clips/video-\(number).mp4,A caption for number \(number),a song,ada\n"
    }
    list += "clips/clip-00000.mp4,the right one,,\n"
    try Data(list.utf8).write(to: bench.folder.appendingPathComponent("list.csv"))
    let without = try await peak(bench, [])
    let with = try await peak(bench, ["--captions", "list.csv"])
    let cost = with - without
    print("a caption list of \(list.utf8.count) bytes costs \(cost)")
    #expect(cost < 3 * list.utf8.count, "\(cost)")
    let feed = try await bench.reel("feed", "--json")
    #expect(feed.output.contains("the right one"))
  }

  /// Returns the peak memory of a run until it stops: when it opens the file, or with a list after it has probed the
  /// file. Only the run with the list is then resumed.
  private func peak(_ bench: Workbench, _ arguments: [String]) async throws -> Int {
    let running = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path] + arguments, in: bench.folder,
      environment: ["REEL_FAILPOINT": "\(arguments.isEmpty ? "opened" : "probed")=stop"])
    try await running.untilStopped()
    let status = try String(
      contentsOfFile: "/proc/\(running.process.processIdentifier)/status", encoding: .utf8)
    running.send(arguments.isEmpty ? SIGKILL : SIGCONT)
    _ = try await running.outcome()
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) << 10
  }

  // MARK: Runs that end early

  @Test(
    "a run that ends early names only files that it had begun", .needsFailpoints,
    arguments: ["interrupted", "aborted"])
  func blamesNobody(_ how: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(300)
    // With more jobs, slow files are set aside, in any number on a busy machine.
    let jobs = 1
    let place = how == "aborted" ? "temporaryCreated:20=error:30" : "temporaryCreated:20=stop"
    let running = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path, "--events", "events", "--jobs", "\(jobs)"],
      in: bench.folder, environment: ["REEL_FAILPOINT": place])
    if how == "interrupted" {
      try await running.untilStopped()
      running.send(SIGINT)
      running.send(SIGCONT)
    }
    let run = try await running.outcome()
    #expect(run.status == (how == "aborted" ? 1 : 130), "\(run.errors)")
    let log = try EventLog(bench.folder.appendingPathComponent("events"))
    func files(_ types: String...) -> Set<Int> {
      Set(log.events.filter { types.contains($0["type"] as? String ?? "") }.compactMap { $0["file"] as? Int })
    }
    let begun = files("file.probed")
    let failed = files("file.failed")
    // A file in each job's hands may fail before it has been read.
    #expect(failed.subtracting(begun).count <= jobs, "\(failed.subtracting(begun).count) of \(failed.count)")
    #expect(files("file.started").subtracting(begun).count <= jobs)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    #expect(try bench.objects().count == 300)
  }
}
