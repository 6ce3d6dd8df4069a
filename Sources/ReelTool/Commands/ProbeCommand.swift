import ArgumentParser
import ReelCore
import ReelIngest
import ReelSource
import ReelTerminal

/// `reel probe FILE…`
struct ProbeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe",
    abstract: "What each file really is: container, size as shown, duration, whole or cut off.")

  @OptionGroup var reading: ReadingOptions
  @OptionGroup var library: LibraryOptions

  @Flag(help: "Print JSON: one object for one file, a list for several.")
  var json = false

  @Flag(help: "Print one JSON object a line, in the order of the arguments.")
  var jsonl = false

  @Argument(help: "The files; a folder stands for the videos in it.")
  var files: [String]

  func validate() throws {
    if json, jsonl { throw ValidationError("--json and --jsonl exclude each other.") }
  }

  func run() async throws {
    let settings = try SettingsReader.read(
      flags: Settings(library, reading: reading), file: library.config)
    let workers = settings.jobs ?? AppContext.processors
    let prober = try AppContext.prober(settings, workers: workers)
    let run = ProbeRun(
      inputs: RawArguments.paths(files).map { SourceInput(path: $0) },
      walkOptions: WalkOptions(followLinks: reading.followLinks), prober: prober, width: workers)
    let printer = ProbePrinter(format: json ? .json : jsonl ? .lines : .cards)
    let (problem, wasInterrupted) = await Interruption().cancelling(Task { await probe(run, printer) })
    await prober.close()
    if let problem { throw CommandFailure(problem) }
    try printer.finish(wantsList: files.count > 1, wasInterrupted: wasInterrupted).end()
  }

  private func probe(_ run: ProbeRun, _ printer: ProbePrinter) async -> ProbeError? {
    do throws(ProbeError) {
      try await run.run(preparing: printer.prepare) { await printer.take($0) }
      return nil
    } catch {
      return error
    }
  }
}
