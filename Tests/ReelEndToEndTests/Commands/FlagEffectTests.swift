import Foundation
import ReelHTTPFakes
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelTool

/// Every flag has an effect in some test.
@Suite("Flags", .shortTime, .ownThread)
struct FlagEffectTests {
  /// Flags that stand for a setting. Their effect is tested with the variable or the configuration file.
  private static let ofSettings = [
    "--credentials": "credentials", "--path-style": "pathStyle", "--no-path-style": "pathStyle",
  ]

  @Test("each flag that the help names is used in a test")
  func eachIsGiven() throws {
    let tests = try FileManager.default.subpathsOfDirectory(atPath: Checkout.root.path + "/Tests")
      .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("FlagEffectTests.swift") }
      .map { try String(contentsOf: Checkout.root.appending(path: "Tests/" + $0), encoding: .utf8) }
      .joined(separator: "\n")
    let own =
      try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
      .components(separatedBy: "// The tests:").last ?? ""
    let flag = /--[a-z][a-z0-9-]+/
    // `-o` is the short form.
    let given = Set((tests + own).matches(of: flag).map { String($0.output) } + ["--output"])
    for command in HelpTests.commands {
      for match in command.type.helpMessage().matches(of: flag) {
        let name = String(match.output)
        let isTested =
          given.contains(name)
          || Self.ofSettings[name].map {
            tests.contains($0 + ":")
              || tests.contains("REEL_" + SettingTable.words(of: $0, separator: "_").uppercased())
          } ?? false
        #expect(isTested, "reel \(command.words.joined(separator: " ")) \(name)")
      }
    }
  }

  // The tests:

  @Test func thorough() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    func method(_ flags: String...) async throws -> String? {
      let run = try await ReelBinary.run(
        ["probe", "clips/faststart.mp4", "--json"] + flags, in: bench.folder)
      return (try run.object()["probe"] as? [String: Any])?["method"] as? String
    }
    #expect(try await method() != "thorough")
    #expect(try await method("--thorough") == "thorough")
  }

  @Test(arguments: ["probe", "ingest", "validate"])
  func includeTrash(_ command: String) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "$RECYCLE.BIN/thrown-away.mp4")
    try bench.add("clips/silent.mp4")
    func says(_ flags: String...) async throws -> Bool {
      let needed =
        ["ingest": ["-v", "--library", bench.library.path], "validate": ["--report", "jsonl"]][command] ?? []
      let run = try await ReelBinary.run([command, "clips"] + needed + flags, in: bench.folder)
      return (run.output + run.errors).contains("thrown-away.mp4")
    }
    #expect(try await !says())
    #expect(try await says("--include-trash"))
  }

  @Test("in a folder only the selected files are processed, by every command")
  func whichFiles() async throws {
    let bench = try Workbench()
    for name in ["clips/silent.mp4", "clips/moov-at-end.mp4", "clips/faststart.mp4"] { try bench.add(name) }
    let flags = ["--include", "*.mp4", "--exclude", "faststart*", "--jobs", "2"]
    for line in [
      ["probe", "--jsonl"], ["mend", "--faststart", "-o", "m/", "--jsonl"],
      ["poster", "-o", "p/", "--jsonl"],
    ] {
      let run = try await ReelBinary.run([line[0], "clips"] + line.dropFirst() + flags, in: bench.folder)
      #expect(run.status == 0 && run.output.split(separator: "\n").count == 2, "\(run)")
    }
    let sheet = try await ReelBinary.run(["sheet", "clips", "-o", "s.jpg"] + flags, in: bench.folder)
    #expect(sheet.output == "s.jpg: 2 pictures\n", "\(sheet)")
  }

  @Test func coverOfAPoster() async throws {
    let bench = try Workbench()
    try bench.add("clips/cover.mp4")
    func isCover(_ flags: String...) async throws -> Bool? {
      let run = try await ReelBinary.run(
        ["poster", "clips/cover.mp4", "-o", "p.jpg", "--force", "--json"] + flags, in: bench.folder)
      let file = try (run.object()["files"] as? [[String: Any]])?.first
      return (file?["poster"] as? [String: Any])?["cover"] as? Bool
    }
    #expect(try await isCover() == false)
    #expect(try await isCover("--cover") == true)
  }

  @Test func picturesOfASheet() async throws {
    let bench = try Workbench()
    func size(_ flags: String...) async throws -> Int {
      let run = try await ReelBinary.run(
        ["sheet", Workbench.sample("clips/faststart.mp4").path, "-o", "s.jpg", "--force"] + flags,
        in: bench.folder)
      #expect(run.status == 0, "\(run)")
      return try Data(contentsOf: bench.folder.appendingPathComponent("s.jpg")).count
    }
    #expect(try await size("--pictures", "2") < size())
  }

  @Test("with the strict flag, a rule that can't be evaluated fails its file")
  func strictValidation() async throws {
    let bench = try Workbench()
    try bench.add("broken/cut-off.mp4")
    try bench.write("rules:\n  file.truncated: off\n  bitrate.max: {value: 100M}\n", to: "../policy.yaml")
    func status(_ flags: String...) async throws -> Int32 {
      try await ReelBinary.run(["validate", "clips", "--policy", "policy.yaml"] + flags, in: bench.folder)
        .status
    }
    #expect(try await status() == 0)
    #expect(try await status("--strict") == 4)
  }

  @Test func sharesOfAPost() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    #expect(try await bench.reel("publish", "clips/faststart.mp4").status == 0)
    #expect(try await bench.reel("edit", "clips/faststart.mp4", "--shares", "7").status == 0)
    #expect(try await bench.reel("show", "clips/faststart.mp4", "--json").object()["shareCount"] as? Int == 7)
  }

  @Test("a watched folder that is polled says so")
  func pollingWatch() async throws {
    let bench = try Workbench()
    func greeting(_ flags: String...) async throws -> String {
      let watch = try ReelBinary.start(
        ["watch", "clips", "--library", bench.library.path] + flags, in: bench.folder)
      // The last line of the greeting.
      #expect(try await watch.says("videos go to"))
      watch.send(SIGTERM)
      return try await watch.outcome().errors
    }
    #expect(try await !greeting("--every", "7m").contains("listed every"))
    #expect(try await greeting("--poll", "--every", "7m").contains("listed every 7m"))
  }

  @Test("an upload's requests carry what the flags ask for")
  func requestsOfAnUpload() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    let fields = Mutex<[String]>([])
    let server = try await LoopbackServer.start { request in
      switch request.method {
      case "PUT":
        fields.withLock { $0 = request.headers.map { $0.name.lowercased() } }
        return .reply(403)
      case "GET":
        return .reply(
          200, headers: [("content-type", "application/xml")],
          body: Array("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>".utf8))
      default: return .reply(404)
      }
    }
    func sent(_ flags: String...) async throws -> [String] {
      let run = try await ReelBinary.run(
        [
          "publish", "clips/faststart.mp4", "--library", bench.library.path, "--to",
          "s3+http://127.0.0.1:\(server.port)/bucket",
        ] + flags, in: bench.folder,
        environment: ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"])
      #expect(run.status != 0)
      return fields.withLock { $0 }
    }
    let usual = try await sent("--conditional-puts", "--request-checksums", "when_supported")
    #expect(usual.contains("if-none-match") && usual.contains { $0.hasPrefix("x-amz-checksum-") }, "\(usual)")
    #expect(try await !sent("--no-conditional-puts").contains("if-none-match"))
    let bare = try await sent("--request-checksums", "when_required")
    #expect(!bare.isEmpty && !bare.contains { $0.hasPrefix("x-amz-checksum-") }, "\(bare)")
    await server.stop()
  }
}
