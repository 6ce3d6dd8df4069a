import ArgumentParser
import ReelCore
import ReelSource
import ReelUpkeep
import ReelValidation

/// Which files are judged, and by what, for `reel validate` and `reel lock`.
struct ValidationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A preset or a policy file (`reel policy list`). Default: the built-in sanity rules.",
      valueName: "name|file"), completion: .file(), transform: RawArguments.place)
  var policy: String?

  @Option(help: ArgumentHelp("In folders, only files that match; can be repeated.", valueName: "glob"))
  var include: [String] = []

  @Option(
    help: ArgumentHelp(
      "In folders, skip files and folders that match; can be repeated.", valueName: "glob"))
  var exclude: [String] = []

  @OptionGroup var reading: ReadingOptions
  @OptionGroup var addresses: AddressOptions

  @Option(
    help: ArgumentHelp(
      "A configuration file (YAML). Else $XDG_CONFIG_HOME/reel/config.yaml, if it exists.",
      valueName: "file"), completion: .file(), transform: RawArguments.place)
  var config: String?

  @OptionGroup var walking: WalkingOptions
  @OptionGroup var terminal: TerminalOptions

  /// Everything for reading and judging `paths`.
  func session(_ paths: [String]) async throws -> ValidationSession {
    let settings = try SettingsReader.read(flagsOf: self, file: config)
    let policy = try PolicyFiles.policy(self.policy ?? PolicyLibrary.sanity)
    let filter = FixtureFilter(
      including: try GlobPattern.parsed(include), excluding: try GlobPattern.parsed(exclude))
    let workers = settings.jobs ?? AppContext.processors
    return ValidationSession(
      try await Sources.inputs(RawArguments.paths(paths), settings), followLinks: reading.followLinks,
      includesTrash: walking.includeTrash, filter: filter, policy: policy,
      prober: AppContext.prober(settings, workers: workers), width: workers * 2,
      illustration: ReportIllustration(settings: settings, followLinks: reading.followLinks))
  }
}
