import ArgumentParser
import CProcess
import Glibc
import ReelCore
import ReelProcess
import ReelTerminal

/// The command line: the root of all commands, each of which has its own file under `Commands`.
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
    // If a reader has gone away, the write fails (EPIPE) rather than a signal ending this process.
    signal(SIGPIPE, SIG_IGN)
    // The same holds for a limit on the size of files (`ulimit -f`): the write fails with EFBIG.
    signal(SIGXFSZ, SIG_IGN)
    let arguments = RawArguments.ofThisProcess()
    do {
      // Other programs ask for this first, and often; parsing would take a third of its time.
      if arguments == ["--version"] {
        return try OutputStream.standardOutput.write(ReelVersion.current + "\n")
      }
      try DescriptorLimit.ensure()
      try AddressSpaceLimit.ensure()
      try CommandWords.check(arguments)
      // What the terminal can show is looked up in the environment for each frame. Nothing that could be reading the
      // environment has started yet.
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
      // The reader may be gone.
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

/// A message of the argument parser. It quotes arguments, which may come from a stranger: when a shell expands `*`, a
/// file name that begins with `-` becomes an option.
struct UsageProblem {
  private let message: String
  private let arguments: [String]

  init(_ message: String, arguments: [String]) {
    let usage = message.firstRange(of: "\nUsage: ").map { message[$0.lowerBound...] } ?? ""
    self.message = UnknownOption.told(in: arguments).map { "Error: \($0)\(usage)" } ?? message
    self.arguments = arguments
  }

  /// The lines of the message. Each argument stays within one line, whatever it contains.
  private var lines: [String] {
    var text = Self.readable(message)
    // Name the program, as every other error does.
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

  /// The beginnings of the parser's own sentences, which start with a capital as no other error does.
  private static let parsersBeginnings = [
    "Unknown option", "Unexpected argument", "Missing value", "Missing expected", "Missing one",
    "Missing required",
    "The value '", "The option '", "Value to be set", "Invalid option",
  ]

  /// The text, with bytes that are not UTF-8 written as `\xNN`.
  private static func readable(_ text: String) -> String {
    SourcePath(bytes: RawArguments.bytes(of: text)).text
  }

  func tell() {
    // stderr may have no reader; then the exit code alone tells.
    try? OutputStream.standardError.write(OutputStream.standardError.traits.complaint(lines))
  }

  /// Prints the message's first line as the answer, if JSON was asked for.
  func answer() {
    let first = SanitizedText.line(lines.first ?? "")
    CommandFailure(.usage, String(first.trimmingPrefix("reel: "))).answer(arguments)
  }
}
