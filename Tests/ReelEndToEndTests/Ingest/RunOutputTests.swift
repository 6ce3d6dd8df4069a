import Foundation
import Glibc
import ReelTestSupport
import Testing

@Suite("What goes where", .shortTime)
struct RunOutputTests {
  @Test("events on stdout move the report to stderr")
  func eventsOnOutput() async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    let run = try await bench.reel("ingest", "clips", "--events", "-")
    #expect(run.status == 0)
    let log = try EventLog(text: run.output)
    #expect(log.types.filter { $0 == "post.published" }.count == 3)
    #expect(log.types.last == "run.finished")
    #expect(log.events.allSatisfy { $0["v"] as? Int == 1 })
    let sequence = log.events.compactMap { $0["seq"] as? Int }
    #expect(sequence == sequence.sorted() && Set(sequence).count == sequence.count)
    #expect(run.errors.contains("published 3"))
  }

  @Test(
    "a failed file is reported once if stdout and stderr are the same, and in each if they differ",
    arguments: [(">all 2>&1", 1, 0), (">out 2>all", 1, 1), ("--events - >out 2>all", 1, 0)])
  func toldOnce(redirection: String, told: Int, inReport: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try bench.add("broken/playlist.mp4")
    let shell = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "\"$REEL\" ingest clips --library library \(redirection)"], in: bench.folder,
      environment: ["REEL": ReelBinary.url.path])
    #expect(shell.status == 4)
    func count(_ name: String) -> Int {
      let text = try? String(contentsOf: bench.folder.appendingPathComponent(name), encoding: .utf8)
      return (text ?? "").components(separatedBy: "failed: clips/playlist.mp4").count - 1
    }
    #expect(count("all") == told && count("out") == inReport)
  }

  @Test("the metrics have the numbers of a run, are complete, and have no file beside them")
  func metrics() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try bench.add("broken/playlist.mp4")
    try FileManager.default.createDirectory(
      at: bench.folder.appendingPathComponent("out"), withIntermediateDirectories: true)
    for (command, published, duplicates) in [
      (["ingest", "clips"], 2, 0), (["publish", "clips/clip-00000.mp4"], 0, 1),
    ] {
      _ = try await ReelBinary.run(
        command + ["--metrics", "out/reel.prom", "--library", bench.library.path], in: bench.folder)
      let text = try String(
        contentsOf: bench.folder.appendingPathComponent("out/reel.prom"), encoding: .utf8)
      #expect(text.contains("reel_run_files_total{run=\"reel\",end=\"published\"} \(published)\n"), "\(text)")
      #expect(
        text.contains("reel_run_files_total{run=\"reel\",end=\"duplicate\"} \(duplicates)\n"), "\(text)")
      #expect(text.contains("reel_run_running{run=\"reel\"} 0\n"))
      // Reading takes time, and a duplicate is not read.
      #expect(
        text.contains("reel_run_stage_seconds_total{run=\"reel\",stage=\"probe\"} 0\n") == (published == 0))
      let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path + "/out")
      #expect(names == ["reel.prom"])
    }
    let nowhere = try await bench.reel("ingest", "clips", "--metrics", "no/such/folder/x.prom")
    #expect(nowhere.status == 1 && nowhere.errors.contains("no/such/folder/x.prom"), "\(nowhere.errors)")
  }

  @Test("the log has a line for each event at its level, and the report repeats none of them")
  func log() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try bench.add("broken/playlist.mp4")
    let shell = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "\"$REEL\" ingest clips --library library --log-level warning >all 2>&1"],
      in: bench.folder, environment: ["REEL": ReelBinary.url.path])
    #expect(shell.status == 4)
    let text = try String(contentsOf: bench.folder.appendingPathComponent("all"), encoding: .utf8)
    #expect(text.components(separatedBy: "playlist.mp4").count == 2, "\(text)")
    let logged = text.split(separator: "\n").filter { $0.hasPrefix("time=") }
    #expect(logged.count == 1 && logged[0].contains(" level=error event=file.failed "), "\(text)")
    let all = try await bench.reel("ingest", "clips", environment: ["REEL_LOG_LEVEL": "info"])
    #expect(all.errors.contains(" event=file.duplicate ") && !all.errors.contains("level=debug"))
    #expect(all.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("time=") }, "\(all.errors)")
    #expect(all.output.contains("failed: clips/playlist.mp4"), "told on stderr only, and stdout is elsewhere")
  }

  @Test("a video that was not published is reported by the log or by the command, not by both")
  func logOfOne() async throws {
    let bench = try Workbench()
    try bench.add("broken/playlist.mp4")
    try bench.add("clips/silent.mp4")
    try bench.write("version: 1\nname: short\nrules: {duration.max: 0.1s}\n", to: "../short.yaml")
    for (arguments, level, isLogged) in [
      (["clips/playlist.mp4"], "error", true), (["clips/playlist.mp4"], "debug", true),
      (["clips/silent.mp4", "--policy", "short.yaml"], "warning", true),
      (["clips/silent.mp4", "--policy", "short.yaml"], "error", false),
    ] {
      let run = try await ReelBinary.run(
        ["publish", "--log-level", level, "--library", bench.library.path] + arguments, in: bench.folder)
      let told = run.errors.split(separator: "\n").filter {
        $0.contains(arguments[0]) && $0.contains("message=")
      }
      let said = run.errors.split(separator: "\n").filter { !$0.hasPrefix("time=") }
      #expect([3, 4].contains(run.status) && run.output.isEmpty, "\(run)")
      #expect(told.count == (isLogged ? 1 : 0) && said.isEmpty == isLogged, "\(level): \(run.errors)")
    }
  }

  @Test(
    "every command accepts --color",
    arguments: [
      ["policy", "list"], ["policy", "show", "sanity"], ["policy", "check", "sanity"], ["policy", "schema"],
      ["version"], ["cache", "show"], ["feed"], ["status"],
    ])
  func everywhere(command: [String]) async throws {
    let bench = try Workbench()
    try bench.makeEmptyLibrary()
    let run = try await ReelBinary.run(
      command + ["--color", "always"], in: bench.folder, environment: ["REEL_LIBRARY": bench.library.path])
    #expect(run.status == 0, "\(run)")
  }

  @Test("colors are used where somebody wants them")
  func colours() async throws {
    let bench = try Workbench()
    try bench.makeEmptyLibrary()
    for (arguments, environment, isColoured) in [
      ([], [:], false), (["--color", "always"], ["NO_COLOR": "1"], true), (["--color=always"], [:], true),
      (["--color", "never"], ["CLICOLOR_FORCE": "1"], false), ([], ["CLICOLOR_FORCE": "1"], true),
      (["--color", "auto"], ["CLICOLOR_FORCE": "1"], true),
      (["--color", "always", "--color", "never"], [:], false),
    ] as [([String], [String: String], Bool)] {
      let run = try await ReelBinary.run(
        ["status", "--library", bench.library.path] + arguments, in: bench.folder, environment: environment)
      #expect(run.status == 0 && run.output.contains("\u{1B}[") == isColoured, "\(arguments) \(environment)")
    }
    #expect(try await bench.reel("status", "--color", "blue").status == 64)
  }

  @Test("in a folder without videos, probe says so and succeeds")
  func probeOfNothing() async throws {
    let bench = try Workbench()
    try bench.write("text", to: "readme.txt")
    for form in [[], ["--jsonl"]] {
      let run = try await ReelBinary.run(["probe", "clips"] + form, in: bench.folder)
      #expect(run.status == 0 && run.output.isEmpty && run.errors.contains("no video was found"))
    }
  }

  @Test(
    "help names every kind of destination",
    arguments: [["ingest"], ["publish"], ["uploader", "check"], ["relocate"]])
  func helpNamesDestinations(command: [String]) async throws {
    let help = try await ReelBinary.run(command + ["--help"], in: FileManager.default.temporaryDirectory)
    let text = help.output.replacing(/\s+/, with: " ")
    for kind in ["a folder", "s3://", "s3+https://", "tus+https://", "firebase://", "command:PROGRAM"] {
      #expect(text.contains(kind), "\(kind)")
    }
  }

  @Test("no command's help states a default twice")
  func helpTellsDefaultsOnce() async throws {
    let root = try await ReelBinary.run(["--help"], in: FileManager.default.temporaryDirectory)
    let commands = root.output.split(separator: "SUBCOMMANDS:", maxSplits: 1).last?.split(separator: "\n")
      .compactMap { $0.hasPrefix("  ") && !$0.hasPrefix("   ") ? $0.split(separator: " ").first : nil }
    let names = try #require(commands?.map { [String($0)] })
    #expect(names.count > 15)
    for name in names + [["uploader", "check"], ["policy", "init"], ["cache", "clear"]] {
      let help = try await ReelBinary.run(name + ["--help"], in: FileManager.default.temporaryDirectory)
      let options = help.output.replacing(/\n {26}/, with: " ").split(separator: "\n")
      for option in options where option.hasPrefix("  -") {
        #expect(option.components(separatedBy: "default").count < 3, "\(name): \(option)")
      }
    }
  }

  @Test("events go to an inherited descriptor; one that is not open is a usage error")
  func eventsToDescriptor() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let shell = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "exec \"$REEL\" ingest clips --library library --events fd:7 7>events >/dev/null"],
      in: bench.folder, environment: ["REEL": ReelBinary.url.path])
    #expect(shell.status == 0)
    #expect(try EventLog(bench.folder.appendingPathComponent("events")).types.last == "run.finished")
    #expect(try await bench.reel("ingest", "clips", "--events", "fd:99").status == 64)
  }

  @Test("another name for standard output is treated as standard output, even if it is a file")
  func eventsOnNamedOutput() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let run = try await bench.reel("ingest", "clips", "--events", "/dev/stdout")
    #expect(run.status == 0)
    #expect(try EventLog(text: run.output).types.last == "run.finished")
    #expect(run.errors.contains("published 2"))
    let report = try await ReelBinary.run(
      ["validate", "clips", "--report", "json=/dev/stdout"], in: bench.folder)
    #expect(try report.object()["files"] != nil, "\(report.output)")
    // Two outputs to /dev/null can't overwrite each other.
    let nowhere = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "\"$REEL\" ingest clips --library library --quiet --events /dev/null >/dev/null"],
      in: bench.folder, environment: ["REEL": ReelBinary.url.path])
    #expect(nowhere.status == 0 && nowhere.errors.isEmpty, "\(nowhere)")
  }

  @Test("a run that does not start keeps the previous run's events; one that starts replaces them")
  func eventsOfTheRunBefore() async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    let events = bench.folder.appendingPathComponent("events.jsonl")
    #expect(try await bench.reel("ingest", "clips", "--events", "events.jsonl").status == 0)
    let before = try Data(contentsOf: events)
    let wrong = try await bench.reel("ingest", "clips", "--events", "events.jsonl", "--to", "bogus://x")
    #expect(wrong.status == 64)
    #expect(try Data(contentsOf: events) == before)
    #expect(
      try await bench.reel("publish", "clips/clip-00000.mp4", "--events", "events.jsonl").status == 0)
    let log = try EventLog(events)
    #expect(log.types.filter { $0 == "run.finished" }.count == 1 && log.types.last == "run.finished")
  }

  @Test("an events file that can't be written is reported before anything is done")
  func eventsNowhere() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let run = try await bench.reel("ingest", "clips", "--events", "no/such/folder/x")
    #expect(run.status == 1)
    #expect(run.errors.contains("no/such/folder/x"))
    #expect(!FileManager.default.fileExists(atPath: bench.media.path))
  }

  @Test("with --quiet and --json, stdout is one object and stderr is silent")
  func quiet() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let run = try await bench.reel("ingest", "clips", "--json", "--quiet")
    #expect(run.status == 0)
    #expect(run.errors == "")
    #expect((try run.object()["summary"] as? [String: Any])?["published"] as? Int == 2)
  }

  @Test("a reader that closes the pipe ends the run quietly", arguments: ["--events", "--json"])
  func closedPipe(option: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(30)
    let events = option == "--events" ? "--events -" : "--json"
    let shell = try await ReelBinary.runProgram(
      "/bin/sh", ["-c", "\"$REEL\" ingest clips --library library --quiet \(events) | true"],
      in: bench.folder, environment: ["REEL": ReelBinary.url.path])
    #expect(shell.errors == "")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == 30)
    expectNothing(try inspection.brokenAfterCompletion())
  }

  @Test("escape sequences and runner commands in names are made harmless")
  func injection() async throws {
    let bench = try Workbench()
    try bench.write("text", to: "\u{1B}[31mred\u{7}.mp4")
    try bench.write("text", to: "##[error]::error::x.mp4")
    let run = try await bench.reel("ingest", "clips", "--events", "events")
    #expect(run.status == 4)
    let events = try String(contentsOf: bench.folder.appendingPathComponent("events"), encoding: .utf8)
    let (status, document) = try await (bench.reel("status"), bench.reel("status", "--json"))
    for text in [run.output, run.errors, events, status.output, document.output] {
      #expect(!text.contains("\u{1B}") && !text.contains("\u{7}") && !text.contains("##["))
    }
    let paths = try EventLog(text: events).events.compactMap { $0["path"] as? String }
    #expect(paths.contains { $0.contains("\u{1B}[31mred") })
  }
}

@Suite("Interruption", .shortTime)
struct InterruptionTests {
  @Test(
    "one signal ends the run in order, and the same command continues", arguments: [SIGINT, SIGTERM, SIGHUP])
  func once(number: Int32) async throws {
    let bench = try Workbench()
    try bench.addDistinct(400)
    // A run that stops itself at a file in the middle is certain to be interrupted midway, even on a busy machine.
    let midway = ReelBinary.hasFailpoints ? ["REEL_FAILPOINT": "bytesCopied:100=stop"] : [:]
    let running = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path, "--events", "events", "--jobs", "2"],
      in: bench.folder, environment: midway)
    if midway.isEmpty { try await waitForPosts(bench) } else { try await running.untilStopped() }
    running.send(number)
    running.send(SIGCONT)
    let run = try await running.outcome()
    #expect(run.status == 130 && !run.wasKilled, "\(run.status) \(run.errors)")
    let saysWhatIsLeft =
      #/interrupted: \d+ published, (\d+ to go|the rest not looked at); run the same command again to continue\n/#
    #expect(run.output.wholeMatch(of: saysWhatIsLeft) != nil, "\(run.output)")
    #expect(!run.errors.contains("failed"), "\(run.errors)")
    let log = try EventLog(bench.folder.appendingPathComponent("events"))
    #expect(log.types.last == "run.finished")
    #expect(log.endsByFile().values.allSatisfy { $0 == 1 })
    let started = log.types.filter { $0 == "file.started" }.count
    #expect(log.endsByFile().count == started)
    let inspection = try LibraryInspection(library: bench.library)
    expectNothing(try inspection.broken())
    #expect(inspection.leftovers == [])
    #expect(inspection.published.count < 400)

    #expect(try await bench.reel("ingest", "clips").status == 0)
    let whole = try LibraryInspection(library: bench.library)
    #expect(whole.published.count == 400)
    expectNothing(try whole.brokenAfterCompletion())
  }

  @Test("two signals end a run at once, and nothing is lost", .needsFailpoints)
  func twice() async throws {
    let bench = try Workbench()
    try bench.addDistinct(8)
    let seen = bench.folder.appendingPathComponent("seen")
    // After one signal, the run waits for the copy in progress, which takes ten minutes here.
    let running = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path, "--jobs", "1"], in: bench.folder,
      environment: ["REEL_FAILPOINT": "bytesCopied:4=delay:600000", "REEL_FAILPOINTS_SEEN": seen.path])
    func copies() -> Int {
      ((try? String(contentsOf: seen, encoding: .utf8)) ?? "").split(separator: "\n").count {
        $0 == "bytesCopied"
      }
    }
    while running.process.isRunning, copies() < 4 { try await Task.sleep(for: .microseconds(5000)) }
    running.send(SIGINT)
    while running.process.isRunning, running.hasPending(SIGINT) {
      try await Task.sleep(for: .microseconds(1000))
    }
    #expect(running.process.isRunning)
    running.send(SIGINT)
    let run = try await running.outcome()
    #expect(run.status == 130 && !run.wasKilled)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let whole = try LibraryInspection(library: bench.library)
    #expect(whole.published.count == 8)
    expectNothing(try whole.brokenAfterCompletion())
  }

  @Test("concurrent runs publish each file once, and none fails")
  func together() async throws {
    let bench = try Workbench()
    try bench.addDistinct(80)
    let runs = try (0..<3).map { _ in
      try ReelBinary.start(["ingest", "clips", "--library", bench.library.path, "--json"], in: bench.folder)
    }
    var published = 0
    for running in runs {
      let run = try await running.outcome()
      #expect(run.status == 0, "\(run.errors)")
      let summary = try run.object()["summary"] as? [String: Any]
      published += summary?["published"] as? Int ?? 0
      #expect(summary?["failed"] as? Int == 0)
    }
    #expect(published == 80)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == 80)
    expectNothing(try inspection.brokenAfterCompletion())
  }

  private func waitForPosts(_ bench: Workbench) async throws {
    let events = bench.folder.appendingPathComponent("events")
    for _ in 0..<120_000 {
      if let text = try? String(contentsOf: events, encoding: .utf8), text.contains("post.published") {
        return
      }
      if let objects = try? bench.objects(), objects.count > 3 { return }
      try await Task.sleep(for: .microseconds(5000))
    }
    Issue.record("no post after ten minutes")
  }
}
