import ArgumentParser
import FoundationEssentials
import ReelCore
import ReelTerminal
import ReelValidation

extension CompletionKind {
  /// The presets' names, and the entries of the folder whose name is being typed.
  static var policies: CompletionKind {
    .custom { _, _, begun in
      let folder = begun.lastIndex(of: "/").map { String(begun[...$0]) } ?? ""
      let entries = try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)
      return Preset.all.map(\.name) + (entries ?? []).sorted().map { folder + $0 }
    }
  }
}

/// `reel policy`
struct PolicyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "List, show, check and make policies: rules for what videos must be like.",
    subcommands: [List.self, Show.self, Check.self, Init.self, Schema.self])

  // Each command is named here: the argument parser often asks for all names, and has the runtime make up a missing
  // one.

  /// `reel policy list`
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the policies that come with Reel.",
      examples: [
        "reel policy list",
        "reel policy show web-playback",
      ])

    @OptionGroup var terminal: TerminalOptions

    @OptionGroup var answer: AnswerOptions

    private struct Answer: Encodable {
      struct Policy: Encodable {
        let name: String
        let title: String
      }
      let policies: [Policy]
    }

    func run() async throws {
      let policies = Answer(policies: Preset.all.map { Answer.Policy(name: $0.name, title: $0.title) })
      let columns = Preset.all.map(\.name.count).max() ?? 0
      try answer.tell(AnswerDocument(policies)) {
        $0.text(
          Preset.all.map { preset in
            preset.name + String(repeating: " ", count: columns - preset.name.count + 2) + preset.title
          })
      }
    }
  }

  /// `reel policy show NAME`
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Print a policy, as a starting point for your own.",
      examples: [
        "reel policy show web-playback",
        "reel policy show sanity",
      ])

    @OptionGroup var terminal: TerminalOptions

    @Argument(
      help: "A preset.", completion: .list(Preset.all.map(\.name)), transform: RawArguments.text)
    var name: String

    func run() async throws {
      guard let preset = Preset.named(name) else {
        let hint = NearestWord.nearest(to: name, among: Preset.all.map(\.name)).map {
          "; did you mean \($0)?"
        }
        throw CommandFailure(.usage, "there is no preset \"\(name)\"" + (hint ?? "; see `reel policy list`"))
      }
      try OutputStream.standardOutput.write(preset.text)
    }
  }

  /// `reel policy check FILE…`
  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Check policy files, and report each problem with its line and column.",
      examples: [
        "reel policy check reel-policy.yaml",
        "reel policy check web-playback",
      ])

    @OptionGroup var terminal: TerminalOptions

    @OptionGroup var answer: AnswerOptions

    @Argument(help: "Policy files or presets.", completion: .file(), transform: RawArguments.place)
    var names: [String]

    private struct Answer: Encodable {
      struct Policy: Encodable {
        let name: String
        let ok: Bool
      }
      let policies: [Policy]
    }

    func run() async throws {
      let checked = names.map { (name: $0, problems: PolicyFiles.problems(of: $0)) }
      let policies = Answer(policies: checked.map { Answer.Policy(name: $0.name, ok: $0.problems.isEmpty) })
      let problems = checked.flatMap { name, problems in
        problems.map { AnswerProblem("policy", $0.description, subject: name) }
      }
      try answer.tell(AnswerDocument(policies, problems: problems)) { _ in
        checked.flatMap { name, problems in
          problems.isEmpty ? ["\(name): can be used"] : problems.map(\.description)
        }
        .map { SanitizedText.line($0) + "\n" }.joined()
      }
      if checked.contains(where: { !$0.problems.isEmpty }) { try ReelExit.someRefused.end() }
    }
  }

  /// `reel policy init FILE`
  struct Init: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "init",
      abstract: "Make a policy from a good example, for you to review and commit.",
      examples: [
        "reel policy init good.mp4",
        "reel policy init good.mp4 > reel-policy.yaml",
      ])

    @OptionGroup var general: GeneralOptions
    @OptionGroup(title: "How files are read") var reading: ReadingOptions
    @OptionGroup(title: "Files at addresses") var addresses: AddressOptions

    @Argument(help: "A video that is as all of them should be.", completion: .file())
    var file: String

    func run() async throws {
      let session = try await ValidationSession(
        SettingsReader.read(flagsOf: self, file: general.config), [file],
        followLinks: reading.followLinks, policy: PolicyFiles.policy(PolicyLibrary.sanity))
      let judgement = try await session.judge(locks: false)
      guard let facts = judgement.files.first?.facts, let media = facts.media else {
        let reason = judgement.files.first?.facts.problem?.message ?? "it can't be read"
        throw CommandFailure(.couldNotRun, "\(RawArguments.path(file)) is not an example: \(reason)")
      }
      if let broken = judgement.files.first?.findings.first(where: {
        $0.severity == .error && $0.state == .broken
      }) {
        throw CommandFailure(
          .couldNotRun, "\(RawArguments.path(file)) is not an example: \(broken.sentence) [\(broken.rule)]")
      }
      try OutputStream.standardOutput.write(
        PolicyDraft.text(from: media, name: facts.path.lastComponent.text))
    }
  }

  /// `reel policy schema`
  struct Schema: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Print the JSON Schema of policy files, for editors.",
      examples: [
        "reel policy schema",
        "reel policy schema > reel-policy.schema.json",
      ])

    @OptionGroup var terminal: TerminalOptions

    func run() async throws {
      try OutputStream.standardOutput.write(PolicySchema.text())
    }
  }
}
