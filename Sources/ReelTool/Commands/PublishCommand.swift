import ArgumentParser
import ReelCore
import ReelIngest
import ReelSource
import ReelTerminal

/// `reel publish FILE`
struct PublishCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish",
    abstract: "Make a post of one video, and print it; say so when it is a post already.")

  @Option(help: "The caption.", transform: RawArguments.text)
  var caption: String?

  @Option(help: "The music's name.", transform: RawArguments.text)
  var music: String?

  @OptionGroup var intake: IntakeOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var reading: ReadingOptions
  @OptionGroup var output: RunOutputOptions
  @OptionGroup var library: LibraryOptions

  @Argument(help: "The video.")
  var file: String

  func run() async throws {
    let settings = try SettingsReader.read(
      flags: Settings(library, reading: reading, intake: intake, output: output, store: store),
      file: library.config)
    var options = intake.ingestOptions(settings)
    options.metadata.caption = caption
    options.metadata.music = music
    let target = try EventTarget.open(output.events)
    let appContext = try await AppContext.open(
      settings, dryRun: intake.dryRun, jobs: 1, policy: intake.policy)
    let session = RunSession(
      appContext: appContext, output: output, settings: settings, target: target,
      hint: CommandHint(library: library.library))
    let exit = try await session.publish(
      SourceInput(path: RawArguments.path(file)),
      walk: WalkOptions(followLinks: reading.followLinks, skippedDirectories: appContext.ownDirectories),
      options: options)
    try exit.end()
  }
}
