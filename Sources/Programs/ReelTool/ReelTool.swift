import ArgumentParser
import CProcess
import Glibc
import ReelCore
import ReelProcess
import ReelTerminal

/// The command line. Each subcommand parses here and works in its own file under `Commands`.
struct ReelTool: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reel",
    abstract:
      "Ingest videos: find out what each file really is, then name, store and record it, exactly once.",
    discussion: """
      Exit codes: 0 all done · 1 could not run (bad setup; a file, library, destination or catalog is not there or out of \
      reach) · 3 something went wrong here with some files, and trying again may help; the others were done · \
      4 some files are not wanted or can't be used, nothing else went wrong · 64 usage error · 130 interrupted. \
      `reel validate`: 4 a file breaks a rule or differs from the lock · 3 no file does, but some could not be judged.
      """,
    version: ReelVersion.current,
    groupedSubcommands: [
      CommandGroup(
        name: "Take in",
        subcommands: [
          PublishCommand.self, IngestCommand.self, WatchCommand.self,
        ]),
      CommandGroup(
        name: "Look",
        subcommands: [
          FeedCommand.self, ShowCommand.self, StatusCommand.self, PageCommand.self, ExportCommand.self,
          ProbeCommand.self, PosterCommand.self, SheetCommand.self,
        ]),
      CommandGroup(
        name: "Change posts",
        subcommands: [
          EditCommand.self, RemoveCommand.self, RestoreCommand.self, MoveCommand.self, PruneCommand.self,
        ]),
      CommandGroup(
        name: "Check and mend",
        subcommands: [
          ValidateCommand.self, LockCommand.self, PolicyCommand.self, MendCommand.self,
        ]),
      CommandGroup(
        name: "Keep",
        subcommands: [
          BackupCommand.self, VerifyCommand.self, DoctorCommand.self, RelocateCommand.self,
          CacheCommand.self, UploaderCommand.self, VersionCommand.self,
        ]),
      CommandGroup(
        name: "Several machines",
        subcommands: [
          EnqueueCommand.self, WorkCommand.self, QueueCommand.self, CatalogCommand.self,
        ]),
    ])
}

@main
enum Main {
  static func main() async {
    reel_signals_settle()
    reel_heap_gives_back()
    StandardDescriptors.fill()
    OwnerRights.keep()
    // A reader that went away is told by the write, not by the end of this process.
    signal(SIGPIPE, SIG_IGN)
    // So is a limit on the size of files (`ulimit -f`): the write says EFBIG.
    signal(SIGXFSZ, SIG_IGN)
    let arguments = RawArguments.ofThisProcess()
    do {
      // What other programs ask first, and often: a third of its time would be the parser's.
      if arguments == ["--version"] {
        return try OutputStream.standardOutput.write(ReelVersion.current + "\n")
      }
      try DescriptorLimit.ensure()
      try AddressSpaceLimit.ensure()
      try CommandWords.check(arguments)
      // What can be shown is asked for anew with each frame; nothing else has begun that could read the environment.
      if let color = RawArguments.color(in: arguments) { setenv("REEL_COLOR", color.rawValue, 1) }
      var command = try ReelTool.parseAsRoot(
        RawArguments.prepared(arguments))
      if var command = command as? any AsyncParsableCommand {
        try ProcessFileSystem.require()
        try await command.run()
      } else {
        try command.run()
      }
    } catch let end as CommandExit {
      exit(end.code.rawValue)
    } catch is OutputClosed {
      exit(ReelExit.interrupted.rawValue)
    } catch let error where ReelTool.exitCode(for: error).isSuccess {
      // Nobody has to listen.
      try? OutputStream.standardOutput.write(HelpText.ownFirst(ReelTool.fullMessage(for: error)) + "\n")
      exit(ReelExit.done.rawValue)
    } catch {
      if let failure = CommandFailure(error) {
        failure.tell()
        failure.answer(arguments)
        exit(failure.code.rawValue)
      }
      let usage = UsageProblem(ReelTool.fullMessage(for: error), arguments: arguments)
      usage.tell()
      usage.answer()
      exit(ReelTool.exitCode(for: error).rawValue)
    }
  }
}

/// What the argument parser has to say. It quotes the arguments, and those may be a stranger's: of a shell's `*`, a name
/// that begins with `-` is an option.
struct UsageProblem {
  private let message: String
  private let arguments: [String]

  init(_ message: String, arguments: [String]) {
    let usage = message.firstRange(of: "\nUsage: ").map { message[$0.lowerBound...] } ?? ""
    self.message = UnknownOption.told(in: arguments).map { "Error: \($0)\(usage)" } ?? message
    self.arguments = arguments
  }

  /// The lines, each argument in one, whatever is in it.
  private var lines: [String] {
    var text = Self.readable(message)
    // Who speaks, as in every other error.
    if text.hasPrefix("Error: ") {
      text.removeFirst("Error: ".count)
      let isParsers = Self.parsersBeginnings.contains { text.hasPrefix($0) }
      text = "reel: " + (isParsers ? text.prefix(1).lowercased() + text.dropFirst() : text)
    }
    for argument in arguments.map(Self.readable) {
      let harmless = SanitizedText.line(argument)
      if harmless != argument { text.replace(argument, with: harmless) }
    }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// With which the parser's own sentences begin, in capitals as no other error does.
  private static let parsersBeginnings = [
    "Unknown option", "Unexpected argument", "Missing value", "Missing expected", "Missing one",
    "Missing required",
    "The value '", "The option '", "Value to be set", "Invalid option",
  ]

  /// What is not UTF-8 as `\xNN`.
  private static func readable(_ text: String) -> String {
    SourcePath(bytes: RawArguments.bytes(of: text)).text
  }

  func tell() {
    // Nobody may be listening on stderr; the exit code says it then.
    try? OutputStream.standardError.write(OutputStream.standardError.traits.complaint(lines))
  }

  /// For who asked for JSON: its first line.
  func answer() {
    let first = SanitizedText.line(lines.first ?? "")
    CommandFailure(.usage, String(first.trimmingPrefix("reel: "))).answer(arguments)
  }
}
