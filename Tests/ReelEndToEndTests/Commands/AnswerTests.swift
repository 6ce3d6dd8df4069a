import ArgumentParser
import Foundation
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelTool

/// The output of `--json`: one document with `v`, `ok` and `problems`, whatever the command and however it ends.
@Suite("Answers in JSON", .shortTime)
struct AnswerTests {
  /// Commands for a queue, run in this order.
  private static let queueScript = """
    queue list
    queue show 1
    queue retry --dry-run
    enqueue clips nothing --label acme
    enqueue clips --label acme
    queue list
    queue show 1
    queue show 99
    queue pause
    queue pause acme
    queue resume
    queue resume acme
    queue limit 3 acme
    queue limit none acme
    queue priority 4 1 99
    queue cancel 1
    queue retry 1
    work --to store
    status
    queue retry --code denied
    queue prune --older-than 99999w
    queue prune --older-than 1d 1 99
    """
  /// Commands for one library, run in this order. A line that begins with `!` changes files.
  private static let script = """
    publish clips/clip-00000.mp4
    publish clips/clip-00000.mp4
    publish clips/letter.mp4
    publish nothing.mp4
    publish clips/clip-00001.mp4 --dry-run
    ingest clips
    ingest clips/clip-00000.mp4
    probe clips/clip-00000.mp4
    probe clips/letter.mp4
    probe clips
    validate clips/clip-00000.mp4
    validate clips
    validate nothing.mp4
    mend clips/faststart-last.mp4 --faststart -o mended.mp4
    mend clips/letter.mp4 --faststart -o other.mp4
    mend clips --faststart -o mended/
    feed
    show clips/clip-00000.mp4
    publish clips/clip-00000.mp4 --duplicates allow
    show clips/clip-00000.mp4
    edit 01a1fdd6-be1e-750d-b5e1-0c01f1176e0f --caption x
    mend clips/clip-00000.mp4 --strip-private -o lies.mov
    edit clips/clip-00000.mp4 --caption x
    edit clips/clip-00000.mp4 --caption x
    move clips/clip-00000.mp4 --to elsewhere
    remove clips/clip-00001.mp4 --keep 1d
    restore clips/clip-00001.mp4
    prune
    status
    cache show
    cache clear
    page site
    poster clips/clip-00001.mp4 clips/letter.mp4 -o posters/
    poster --missing
    sheet clips/clip-00001.mp4 -o sheet.jpg --pictures 2
    sheet clips -o sheets.jpg
    sheet clips/letter.mp4 -o none.jpg
    export -o posts.csv
    export -o posts.csv.gz
    policy list
    policy check web-playback
    policy check web-playback clips/letter.mp4
    lock clips -o clips.lock
    lock clips/clip-00000.mp4 -o clips.lock
    lock clips/clip-00000.mp4 -o one.lock
    lock clips/clip-00000.mp4 clips/clip-00001.mp4 -o one.lock
    validate clips --lock clips.lock
    backup -o copy.sqlite
    backup -o copy.sqlite
    relocate elsewhere nowhere
    version
    version --worker /nothing
    verify
    doctor
    uploader check folder
    catalog copy library copy
    ! rm library/media/*
    verify
    doctor
    doctor --fix
    """

  @Test func everyAnswerHasTheSameFrame() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try bench.add("broken/letter.mp4")
    try bench.add("clips/fragmented.mp4", as: "faststart-last.mp4")
    var asked: Set<String> = []
    var ends: Set<Int32> = []
    for line in Self.script.split(separator: "\n") {
      if line.hasPrefix("! ") {
        _ = try await ReelBinary.runProgram("/bin/sh", ["-c", String(line.dropFirst(2))], in: bench.folder)
        continue
      }
      var words = line.split(separator: " ").map(String.init) + ["--json"]
      let name = HelpTests.name(of: words)
      if ![
        "probe", "validate", "mend", "version", "uploader check", "catalog copy", "lock", "sheet",
        "policy list", "policy check",
      ].contains(name) {
        words += ["--library", "library"]
      }
      let run = try await ReelBinary.run(words, in: bench.folder)
      let answer = try? JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
      hold(answer ?? [:], run, "\(line)")
      asked.insert(name)
      ends.insert(run.status)
    }
    #expect(ends.isSuperset(of: [0, 1, 3, 4]), "\(ends)")
    let askable = HelpTests.commands.filter { $0.type.helpMessage().contains("--json ") }
      .map { $0.words.joined(separator: " ") }
    #expect(AnswerSchema.commands == Set(askable), "docs/answers.schema.json has each command, and no other")
    let ofQueues = Self.queueScript.split(separator: "\n").map {
      HelpTests.name(of: $0.split(separator: " ").map(String.init))
    }
    #expect(Set(askable).subtracting(asked) == Set(ofQueues).subtracting(["status"]).union(["watch"]))
  }

  @Test(.besidePostgres) func everyAnswerOfAQueueHasTheSameFrame() async throws {
    let (bench, database) = (try Workbench(), try await TestDatabase())
    try bench.addDistinct(2)
    try bench.add("broken/letter.mp4")
    var ends: Set<Int32> = []
    for line in Self.queueScript.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      let run = try await ReelBinary.run(words + ["--json", "--catalog", database.url()], in: bench.folder)
      let answer = try? JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
      hold(answer ?? [:], run, "\(line)")
      ends.insert(run.status)
    }
    #expect(ends == [0, 1, 4], "\(ends)")
  }

  @Test("version reports a problem with the settings as a problem, and still succeeds")
  func version() async throws {
    let bench = try Workbench()
    let run = try await bench.reel("version", "--json", environment: ["REEL_JOBS": "many"])
    let answer = try run.object()
    hold(answer, run, "version")
    #expect((answer["problems"] as? [[String: Any]])?.count == 1 && run.status == 0, "\(run)")
  }

  @Test("an interrupted run says so, whatever else went wrong", arguments: [false, true])
  func interrupted(hasFailure: Bool) async throws {
    let bench = try Workbench()
    // More than are published before the signal arrives.
    try bench.addDistinct(300)
    if hasFailure { try bench.write("text", to: "a.mp4") }
    let run = try ReelBinary.start(
      ["ingest", "clips", "--json", "--jobs", "1", "--library", "library"], in: bench.folder,
      environment: ["REEL_FAILPOINT": "uploaded=stop"])
    try await run.untilStopped()
    run.send(SIGINT)
    run.send(SIGCONT)
    let outcome = try await run.outcome()
    let answer = try outcome.object()
    hold(answer, outcome, "ingest")
    let codes = (answer["problems"] as? [[String: Any]])?.compactMap { $0["code"] as? String } ?? []
    #expect(
      outcome.status == 130 && codes.last == "cancelled" && codes.contains("notMedia") == hasFailure,
      "\(codes)")
  }

  @Test("a command that can't reach its catalog prints one document, too")
  func unreachable() async throws {
    let bench = try Workbench()
    for command in [
      ["queue", "list"], ["queue", "show", "1"], ["queue", "cancel", "1"], ["verify"], ["status"],
    ] {
      let run = try await ReelBinary.run(
        command + ["--json", "--catalog", "postgres://nobody@127.0.0.1:1/none"], in: bench.folder)
      let answer = try? JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
      hold(answer ?? [:], run, "\(command)")
      #expect(run.status == 1, "\(run)")
    }
  }

  @Test("if events use standard output, the answer is on stderr, even if the command can't run")
  func besideEvents() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let run = try await ReelBinary.run(
      ["ingest", "clips", "--library", "/proc/none", "--json", "--events", "-"], in: bench.folder)
    #expect(run.status == 1 && run.output.isEmpty, "\(run)")
    let line = try #require(run.errors.split(separator: "\n").last)
    let answer = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    hold(answer ?? [:], run, "ingest")
  }

  private func hold(_ answer: [String: Any], _ run: ReelBinary.Outcome, _ what: String) {
    #expect(answer["v"] as? Int == 1, "\(what): \(run)")
    #expect(answer["ok"] as? Bool == (run.status == 0), "\(what): \(run)")
    let problems = answer["problems"] as? [[String: Any]]
    #expect(problems?.isEmpty == false || run.status == 0 && problems != nil, "\(what): \(run)")
    for problem in problems ?? [] {
      #expect((problem["code"] as? String)?.isEmpty == false, "\(what): \(problem)")
      #expect((problem["message"] as? String)?.isEmpty == false, "\(what): \(problem)")
    }
  }
}
