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
        """)

    @OptionGroup var library: LibraryOptions
    @OptionGroup var store: StoreOptions

    @Option(
      help: ArgumentHelp("Only checks whose name starts with this; can be repeated.", valueName: "name"))
    var only: [String] = []

    @Option(
      help: ArgumentHelp(
        "Size of the large objects in bytes; should be several of the store's parts.",
        valueName: "bytes"))
    var largeSize: Int = 17 << 20 + 3

    @Option(
      help: ArgumentHelp("Seconds allowed for one check.", valueName: "seconds"))
    var deadline: Double = 300

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(
      help: "The destination: \(DestinationHelp.kinds).", completion: .directory,
      transform: RawArguments.place)
    var destination: String

    func validate() throws {
      guard (1...(1 << 30)).contains(largeSize) else {
        throw ValidationError("--large-size must be a number of bytes, up to 1073741824.")
      }
      guard deadline > 0, deadline <= 86_400 else {
        throw ValidationError("--deadline must be a number of seconds above 0, up to 86400.")
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
        settings: settings, destination: destination, promises: promises, largeSize: largeSize,
        deadline: .seconds(deadline), json: json)
      try await session.run().end()
    }
  }
}

/// `reel version`
struct VersionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version",
    abstract: "Show the versions of Reel, its worker, FFmpeg and SQLite, and how the worker is confined.")

  @OptionGroup var reading: ReadingOptions
  @OptionGroup var library: LibraryOptions

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let view = await versions(settings)
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(json ? view.json(pretty: traits.isTerminal) : view.text(traits))
    if view.worker == nil { try ReelExit.couldNotRun.end() }
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
