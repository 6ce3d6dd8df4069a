import ArgumentParser
import Foundation
import ReelTestSupport
import Testing

@testable import ReelTool

/// A group of options with any content.
private protocol OptionsInGroup {
  static var content: any ParsableArguments.Type { get }
}

extension OptionGroup: OptionsInGroup {
  fileprivate static var content: any ParsableArguments.Type { Value.self }
}

@Suite("Help", .shortTime, .ownThread)
struct HelpTests {
  /// Every command, by its words.
  static let commands: [(words: [String], type: any ParsableCommand.Type)] = {
    func below(
      _ words: [String], _ type: any ParsableCommand.Type
    ) -> [(words: [String], type: any ParsableCommand.Type)] {
      [(words, type)]
        + type.configuration.subcommands.flatMap { below(words + [$0._commandName], $0) }
    }
    return below([], ReelTool.self)
  }()

  /// In a debug build, the parser checks the options of a group five times for each group around it, at every start.
  @Test("no command has many options in deeply nested groups")
  func groupsInGroups() {
    func checks(_ type: any ParsableArguments.Type) -> Int {
      5
        * Mirror(reflecting: type.init()).children.reduce(0) { sum, child in
          sum + ((child.value as? any OptionsInGroup).map { checks(Swift.type(of: $0).content) } ?? 1)
        }
    }
    for command in Self.commands {
      let count = checks(command.type)
      #expect(count <= 4_500, "reel \(command.words.joined(separator: " ")): \(count)")
    }
  }

  /// Returns the command that a line's first words name.
  static func name(of words: [String]) -> String {
    commands.map(\.words).filter { words.starts(with: $0) }.max { $0.count < $1.count }?.joined(
      separator: " ") ?? ""
  }

  /// Splits a line like a shell, with `"` as the only quotes, and drops what follows `>`.
  private func words(_ line: some StringProtocol) -> [String] {
    let command = line.components(separatedBy: " > ")[0]
    var words: [String] = []
    for (index, part) in command.components(separatedBy: "\"").enumerated() {
      if index % 2 == 1 {
        words.append(part)
      } else {
        words += part.split(separator: " ").map(String.init)
      }
    }
    return words
  }

  private func reel(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments, in: ReelBinary.project, environment: environment)
  }

  @Test("every command has two or three examples that the parser accepts and no line break splits")
  func examples() throws {
    for (name, type) in Self.commands where type.configuration.subcommands.isEmpty {
      let discussion = type.configuration.discussion
      let lines = discussion.components(separatedBy: "Examples:\n").last?.split(separator: "\n") ?? []
      #expect((2...3).contains(lines.count), "\(name)")
      for line in lines {
        #expect(line.count <= 78 && line.hasPrefix("  reel "), "\(line)")
        let arguments = Array(words(line).dropFirst())
        #expect(throws: Never.self, "\(line)") {
          try CommandWords.check(arguments)
          _ = try ReelTool.parseAsRoot(RawArguments.completingPosters(arguments))
        }
      }
      #expect(lines.contains { words($0).dropFirst().starts(with: name) }, "\(name)")
    }
  }

  @Test("the commands are in groups")
  func groups() {
    let configuration = ReelTool.configuration
    #expect(configuration.ungroupedSubcommands.isEmpty)
    #expect(
      configuration.groupedSubcommands.map(\.name) == [
        "Take in", "Look", "Change posts", "Check and mend", "Keep", "Several machines",
      ])
  }

  @Test(
    "a command's own options come before those that it shares",
    arguments: ["remove", "feed", "page", "watch"])
  func ownFirst(command: String) async throws {
    let run = try await reel([command, "--help"])
    #expect(run.status == 0 && run.errors.isEmpty)
    let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let own = try #require(lines.firstIndex(of: "OPTIONS:"))
    let stores = try #require(
      lines.firstIndex { $0.hasPrefix("STORES") || $0.hasPrefix("THE BUCKET") || $0 == "SIGNED URLS:" })
    #expect(own < stores)
    // No option is lost, and no sections run together.
    #expect(lines.filter { $0.hasPrefix("  --") || $0.hasPrefix("  -h") }.count >= 10)
    for title in lines.indices where lines[title].wholeMatch(of: /[A-Z][A-Z -]+:/) != nil {
      #expect(lines[title - 1] == "", "\(lines[title])")
    }
    #expect(!run.output.contains("\n\n\n") && !run.output.hasSuffix("\n\n"))
  }

  @Test("the help of ingest begins with common options, and has each store's own under its store")
  func ingest() async throws {
    let help = try await reel(["ingest", "--help"]).output
    let places = try [
      "COMMON:", "--to ", "WHICH FILES:", "--include", "LIBRARY AND SETTINGS:", "--library",
      "WHAT POSTS SAY:",
      "--author ", "STORES OVER S3 AND HTTP:", "--region", "STORES AT FIREBASE:", "--project",
      "STORES ON TUS SERVERS:", "--upload-hosts", "STORES OF YOUR OWN PROGRAMS:", "--adapter-env",
    ].map { word in
      try #require(help.range(of: "\n" + word) ?? help.range(of: "\n  " + word), "\(word)").lowerBound
    }
    #expect(places == places.sorted())
  }

  @Test(
    "an unknown command is answered with the nearest one",
    arguments: [
      ("ingst clips", "did you mean 'reel ingest'?"), ("help fed", "did you mean 'reel feed'?"),
      ("queue lst", "did you mean 'reel queue list'?"), ("nosuch --help", "'reel --help' lists"),
      ("policy chek x", "did you mean 'reel policy check'?"), ("nosuch", "'reel --help' lists"),
      // The names that other tools use.
      ("delete x", "did you mean 'reel remove'?"), ("list", "did you mean 'reel feed'?"),
      ("upload x", "did you mean 'reel ingest'?"),
    ])
  func misspeltCommand(line: String, told: String) async throws {
    let run = try await reel(words(line))
    #expect(run.status == 64 && run.output.isEmpty, "\(run)")
    #expect(run.errors.hasPrefix("reel: there is no command") && run.errors.contains(told), "\(run)")
  }

  @Test(
    "usage errors begin in lower case like all other errors, whoever reports them",
    arguments: [
      ("feed --nope", "unknown option '--nope'"), ("mend", "missing expected argument"),
      ("feed --size x", "the value 'x' is invalid"), ("feed --size", "missing value for '--size"),
      ("show a b", "unexpected argument 'b'"), ("mend x --faststart", "say where mended files go"),
      ("remove", "name the posts"),
      ("queue pause +x", "the value '+x' is invalid for '<label>': a label is"),
    ])
  func usageBegins(line: String, told: String) async throws {
    let run = try await reel(words(line))
    #expect(run.status == 64 && run.errors.hasPrefix("reel: \(told)"), "\(run)")
  }

  @Test(
    "an unknown option is reported first, with a suggestion only if one is near",
    arguments: [
      ("mend --nosuch", "'--nosuch'"), ("remove --nosuch --reason x", "'--nosuch'"),
      ("feed --page 3", "'--page'"), ("feed --sort=likes", "'--sort'"), ("lock -k", "'-k'"),
      ("feed --before x --from 2 --nosuch", "'--nosuch'"),
      ("move a --form b", "'--form'. Did you mean '--from'?"),
      ("queue prune --nosuch", "'--nosuch'"), ("poster --overwrit x", "'--overwrit'"),
    ])
  func unknownOption(line: String, told: String) async throws {
    let run = try await reel(words(line))
    let first = run.errors.split(separator: "\n").first.map(String.init)
    #expect(run.status == 64 && first == "reel: unknown option \(told)", "\(run)")
    #expect(run.errors.contains("Usage: reel "), "\(run)")
  }

  @Test("a file or a number that looks like an option is not an unknown option")
  func noOption() async throws {
    for line in ["probe -- --nosuch", "queue priority -1 --catalog x", "feed --size -3"] {
      let run = try await reel(words(line))
      #expect(!run.errors.contains("unknown option"), "\(run)")
    }
  }

  @Test(
    "every command for many files can filter them and limit how many run at once",
    arguments: ["probe", "validate", "lock", "mend", "poster", "sheet", "ingest", "watch"])
  func whichFiles(command: String) throws {
    let type = try #require(Self.commands.first { $0.words == [command] }?.type)
    for flag in ["--include <glob>", "--exclude <glob>", "--jobs <n>"] {
      #expect(type.helpMessage().contains(flag), "\(flag)")
    }
  }

  @Test("a misspelled flag is answered with the nearest, and every usage error begins like other errors")
  func misspeltFlag() async throws {
    let run = try await reel(["feed", "--autor", "ada"])
    #expect(run.status == 64 && run.errors.hasPrefix("reel: "), "\(run)")
    #expect(run.errors.contains("Did you mean '--author'?"), "\(run)")
  }

  @Test(
    "a misspelled variable is answered with the nearest, and stops nothing",
    arguments: [
      ("REEL_LIBARY", "REEL_LIBRARY"), ("REEL_INSECUREHTTP", "REEL_INSECURE_HTTP"),
      ("REEL_jobs", "REEL_JOBS"),
    ])
  func misspeltVariable(name: String, meant: String) async throws {
    let run = try await reel(["version"], environment: [name: "1"])
    #expect(run.status == 0)
    #expect(run.errors == "reel: there is no variable \(name); did you mean \(meant)?\n", "\(run)")
  }

  @Test("a bad value names its source, and does not stop reel version")
  func badValue() async throws {
    let bench = try Workbench()
    try Data("author: ada\n\njobs: many\n".utf8).write(to: bench.folder.appendingPathComponent("c.yaml"))
    let file = try await reel(["version", "--config", bench.folder.path + "/c.yaml"])
    #expect(file.status == 0 && file.output.contains("reel-probe-worker"), "\(file)")
    #expect(file.errors.contains("/c.yaml:3: jobs is \"many\"; it must be"), "\(file)")
    let variable = try await reel(["version"], environment: ["REEL_JOBS": "many"])
    #expect(variable.status == 0, "\(variable)")
    #expect(variable.errors.hasPrefix("reel: REEL_JOBS is \"many\"; it must be"), "\(variable)")
    let probe = try await reel(["probe", "x.mp4"], environment: ["REEL_JOBS": "many"])
    #expect(probe.status == 1 && probe.errors.hasPrefix("reel: REEL_JOBS is"), "\(probe)")
  }

  @Test(
    "times are written the same way everywhere",
    arguments: [
      "ingest x --deadline TIME", "publish x --presign TIME", "work --retry-delay TIME --catalog x",
      "work --grace TIME", "watch x --settle TIME", "watch x --every TIME", "watch x --presume-closed TIME",
      "feed --since TIME", "remove --author x --keep TIME",
      "queue prune --older-than TIME", "enqueue x --at TIME", "uploader check x --deadline TIME",
      "uploader check x --adapter-deadline TIME", "doctor --grace TIME",
    ])
  func times(line: String) throws {
    for time in ["1.5m", "90"] where !(time == "90" && line.hasPrefix("doctor")) {
      #expect(throws: Never.self, "\(line) \(time)") {
        _ = try ReelTool.parseAsRoot(words(line.replacing("TIME", with: time)))
      }
    }
    for wrong in ["soon"] {
      #expect(throws: (any Error).self, "\(line) \(wrong)") {
        _ = try ReelTool.parseAsRoot(words(line).map { $0.replacing("TIME", with: wrong) })
      }
    }
  }

  @Test(
    "hours without a unit are refused, as they would now be seconds",
    arguments: [("48", false), ("48h", true), ("0", true), ("30s", true)])
  func grace(time: String, isTaken: Bool) {
    #expect(((try? ReelTool.parseAsRoot(["doctor", "--grace", time])) != nil) == isTaken)
  }

  @Test("sizes are written the same way everywhere", arguments: ["20MB", "1MiB", "3000001"])
  func sizes(size: String) throws {
    for line in [
      "ingest x --max-size", "probe x --max-read", "ingest x --limit-rate", "uploader check x --large-size",
    ] {
      #expect(throws: Never.self, "\(line)") { _ = try ReelTool.parseAsRoot(words(line) + [size]) }
    }
  }

  @Test(
    "flags that would have no effect are unknown",
    arguments: [
      "version --follow-links", "version --library x", "version --deadline 3", "probe x.mp4 --library x",
      "probe x.mp4 --catalog x", "mend x.mp4 --faststart -o y.mp4 --library x",
      "sheet x.mp4 -o y.jpg --library x",
      "policy init x.mp4 --include x", "policy init x.mp4 --policy x", "page site --presign 3",
      "page site --adapter-env x", "lock x --endpoint https://x", "lock x --max-read 1GB",
      "verify --presign 3", "prune --presign 3", "remove x --public-base-url https://x",
    ])
  func withoutEffect(line: String) async throws {
    let run = try await reel(words(line))
    #expect(run.status == 64 && run.errors.contains("unknown option"), "\(run)")
  }

  @Test("a policy is completed with the presets' names and with files")
  func policyCompletion() async throws {
    let bench = try Workbench()
    try Data().write(to: bench.folder.appendingPathComponent("own.yaml"))
    func completed(_ begun: String) async throws -> String {
      let asked = ["---completion", "ingest", "--", "--policy", "3", "\(begun.utf8.count)"]
      return try await ReelBinary.run(asked + ["reel", "ingest", "--policy", begun], in: bench.folder).output
    }
    let here = try await completed("")
    #expect(here.hasPrefix("sanity\n") && here.contains("\nown.yaml\n"), "\(here)")
    let there = try await completed(bench.folder.path + "/o")
    #expect(there.contains("\n\(bench.folder.path)/own.yaml\n"), "\(there)")
  }
}
