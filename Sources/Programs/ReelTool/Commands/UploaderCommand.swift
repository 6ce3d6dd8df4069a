import ArgumentParser
import ReelCore
import ReelLibrary
import ReelStorageTesting
import ReelTerminal

/// `reel uploader …`
struct UploaderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uploader", abstract: "Check the places that videos are stored in.",
    subcommands: [CheckCommand.self])

  /// `reel uploader check DESTINATION`
  struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Check that a destination behaves the way Reel needs it to.",
      discussion: """
        Stores objects under random names, and removes them again; other objects are left alone. It takes \
        seconds in a folder, and about two minutes if each request takes 0.2 s; --only runs some of the checks, \
        --large-size makes the large objects smaller. docs/adding-an-uploader.md explains every check. \
        Exit codes: 0 all checks pass · 3 some fail · 1 the destination could not be prepared.
        """,
      examples: [
        "reel uploader check /mnt/media",
        "reel uploader check s3://videos/test --only store",
      ])

    @OptionGroup var library: LibraryOptions
    @OptionGroup(title: "Stores") var viewing: ViewingOptions
    @OptionGroup var store: StoreOptions

    @Option(
      help: ArgumentHelp("Only checks whose name starts with this; can be repeated.", valueName: "name"))
    var only: [String] = []

    @Option(
      help: ArgumentHelp(
        "Size of the large objects, such as 20MB or 17825795 (default: 17MiB); should be several of the store's parts.",
        valueName: "size"))
    var largeSize: SizeLimit?

    @Option(
      help: ArgumentHelp("How long one check may take (default: 5m).", valueName: "time"),
      transform: TimeText.argument(Double.leastNonzeroMagnitude...86_400, "above 0, up to 1d"))
    var deadline: Double?

    @OptionGroup var answer: AnswerOptions

    @Argument(
      help: "The destination: \(DestinationHelp.kinds).", completion: .directory,
      transform: RawArguments.place)
    var destination: String

    func validate() throws {
      if let largeSize, largeSize.bytes.map({ $0 > 1 << 30 }) ?? true {
        throw ValidationError("--large-size must be a size like 20MB, up to 1GiB.")
      }
    }

    func run() async throws {
      let settings = try SettingsReader.read(flagsOf: self, file: library.config)
      let promises = UploaderContractTest.all.filter { promise in
        only.isEmpty || only.contains { promise.name.hasPrefix($0) }
      }
      guard !promises.isEmpty else {
        let names = UploaderContractTest.all.map(\.name).joined(separator: ", ")
        throw CommandFailure(.usage, "--only matches no check; the checks are \(names)")
      }
      let session = ContractTestSession(
        settings: settings, destination: destination, promises: promises,
        largeSize: largeSize?.bytes.flatMap { Int(exactly: $0) } ?? (17 << 20 + 3),
        deadline: .seconds(deadline ?? 300), answer: answer)
      try await session.run().end()
    }
  }
}

/// `reel version`
struct VersionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version",
    abstract: "Show the versions of Reel, its worker, FFmpeg and SQLite, and how the worker is confined.",
    examples: [
      "reel version",
      "reel version --json",
    ])

  @OptionGroup var reader: ReaderOptions
  @OptionGroup var general: GeneralOptions

  @OptionGroup var answer: AnswerOptions

  func run() async throws {
    let (settings, failure) = settings()
    let view = await versions(settings)
    let problems = [
      failure.map { AnswerProblem("\($0.code)", $0.message) },
      view.workerProblem.map { AnswerProblem("worker", $0) },
    ]
    try answer.tell(AnswerDocument(view, problems: problems.compactMap(\.self), ok: view.worker != nil)) {
      view.text($0)
    }
    if view.worker == nil { try ReelExit.couldNotRun.end() }
  }

  /// The settings, and what is wrong with them. Versions are asked for when something is wrong, so they are shown even
  /// if the settings are invalid.
  private func settings() -> (Settings, CommandFailure?) {
    do {
      return (try SettingsReader.read(flagsOf: self, file: general.config), nil)
    } catch {
      let failure = CommandFailure(error) ?? CommandFailure(.couldNotRun, "\(error)")
      failure.tell()
      return (Settings(flagsOf: self), failure)
    }
  }

  private func versions(_ settings: Settings) async -> VersionView {
    let sqlite = SQLiteLibrary.ofThisProcess
    do throws(ProbeError) {
      let prober = AppContext.prober(settings, workers: 1)
      let isolation = try await prober.isolation()
      let reader = try await prober.readerVersion()
      await prober.close()
      return VersionView(worker: reader.reel, isolation: isolation, ffmpeg: reader.ffmpeg, sqlite: sqlite)
    } catch {
      return VersionView(
        worker: nil, isolation: nil, ffmpeg: nil, sqlite: sqlite, workerProblem: error.told)
    }
  }
}
