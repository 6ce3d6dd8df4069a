import ArgumentParser
import Glibc
import ReelCore
import ReelIngest
import ReelProcess
import ReelSource
import ReelTerminal
import Synchronization

/// `reel probe FILE…`
struct ProbeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "probe",
    abstract: "Show what each file really is: container, display size, duration, complete or cut off.",
    examples: [
      "reel probe clip.mp4",
      "reel probe ~/Videos --jsonl",
      "reel probe https://example.org/clip.mp4 --json",
    ])

  @OptionGroup(title: "Which files") var names: FilterByNameOptions
  @OptionGroup(title: "How files are read") var lanes: JobsOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup(title: "How files are read") var walking: WalkingOptions
  @OptionGroup(title: "Files at addresses") var addresses: AddressOptions
  @OptionGroup var general: GeneralOptions

  @Flag(help: "Print JSON: one object for one file, a list for several.")
  var json = false

  @Flag(help: "Print one JSON object per line, in the order of the arguments.")
  var jsonl = false

  @Flag(
    help: ArgumentHelp(
      "Read every packet, and say what tells each fact. Slow; --deadline is 600 seconds then, unless you set it."
    ))
  var thorough = false

  #if DEBUG
    @Flag(
      help: ArgumentHelp(
        "Print how many files were read by which way, and why no shorter one was taken.", visibility: .private
      ))
    var why = false
  #endif

  @Argument(
    help: "The files, by path or address (s3://bucket/name, https://…); a folder means the videos in it.",
    completion: .file())
  var files: [String]

  func validate() throws {
    if json, jsonl { throw ValidationError("--json and --jsonl exclude each other.") }
  }

  func run() async throws {
    var settings = try SettingsReader.read(flagsOf: self, file: general.config)
    if thorough { settings.deadline = settings.deadline ?? AppContext.thoroughDeadline }
    let paths = try Sources.named(files)
    let workers = settings.jobs ?? (isOneFile(paths) ? 1 : Processors.available)
    let prober =
      thorough
      ? AppContext.thoroughProber(settings, workers: workers) : AppContext.prober(settings, workers: workers)
    var walk = WalkOptions(followLinks: reading.followLinks, filter: try names.filter(in: paths))
    walk.repeatsInputs = true
    walk.includesTrash = walking.includeTrash
    let inputs = try await Sources.inputs(paths, settings)
    let run = ProbeRun(
      inputs: inputs,
      walkOptions: walk, prober: prober, width: workers)
    let tally = Mutex(ExitTally(named: inputs.map(\.path)))
    let printer = ProbePrinter(
      format: json ? .json : jsonl ? .lines : .cards, wording: { FlagNames.put(into: $0) }
    ) { code, path in tally.withLock { $0.note(code, of: path) } }
    let (result, wasInterrupted) = await RunSignals.cancelling {
      try await run.run(preparing: printer.prepare, reporting: printer.take)
    }
    await prober.close()
    try result.get()
    #if DEBUG
      if why { try OutputStream.standardError.write(printer.ways) }
    #endif
    try printer.finish(wantsList: files.count > 1, wasInterrupted: wasInterrupted)
    try (wasInterrupted ? .interrupted : tally.withLock(\.exit)).end()
  }

  /// Whether there is only one file; a folder stands for many.
  private func isOneFile(_ paths: [SourcePath]) -> Bool {
    paths.count == 1 && paths[0].fileKind == S_IFREG
  }
}
