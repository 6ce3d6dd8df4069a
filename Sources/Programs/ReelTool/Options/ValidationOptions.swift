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

  @OptionGroup(title: "Which files") var names: FilterByNameOptions
  @OptionGroup var general: GeneralOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup(title: "How files are read") var walking: WalkingOptions

  /// Everything for reading and judging `paths`.
  /// - Parameter command: whose options these are.
  func session(
    _ paths: [String], of command: some ParsableArguments
  ) async throws -> ValidationSession {
    let settings = try SettingsReader.read(flagsOf: command, file: general.config)
    let policy = try PolicyFiles.policy(self.policy ?? PolicyLibrary.sanity)
    let filter = FixtureFilter(
      including: try GlobPattern.parsed(names.include), excluding: try GlobPattern.parsed(names.exclude))
    return try await ValidationSession(
      settings, paths, followLinks: reading.followLinks, includesTrash: walking.includeTrash,
      filter: filter, policy: policy)
  }
}

extension ValidationSession {
  /// Put together from the settings.
  init(
    _ settings: Settings, _ paths: [String], followLinks: Bool, includesTrash: Bool = false,
    filter: FixtureFilter = FixtureFilter(including: [], excluding: []), policy: Policy
  ) async throws {
    let workers = settings.jobs ?? AppContext.processors
    self.init(
      try await Sources.inputs(RawArguments.paths(paths), settings), followLinks: followLinks,
      includesTrash: includesTrash, filter: filter, policy: policy,
      prober: AppContext.prober(settings, workers: workers), width: workers * 2,
      illustration: ReportIllustration(settings: settings, followLinks: followLinks))
  }
}
