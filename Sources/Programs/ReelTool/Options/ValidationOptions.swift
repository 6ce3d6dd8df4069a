import ArgumentParser
import ReelCore
import ReelPage
import ReelTerminal
import ReelUpkeep
import ReelValidation

/// Which files `reel validate` and `reel lock` judge, and by which policy.
struct ValidationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A preset or a policy file (`reel policy list`). Default: the built-in sanity rules.",
      valueName: "name|file"), completion: .policies, transform: RawArguments.place)
  var policy: String?

  @OptionGroup(title: "Which files") var names: FilterByNameOptions
  @OptionGroup(title: "How files are read") var lanes: JobsOptions
  @OptionGroup var general: GeneralOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup(title: "How files are read") var walking: WalkingOptions

  /// Opens the session that reads and judges `paths`.
  /// - Parameter command: the command that has these options.
  func session(
    _ paths: [String], of command: some ParsableArguments
  ) async throws -> ValidationSession {
    let settings = try SettingsReader.read(flagsOf: command, file: general.config)
    let policy = try PolicyFiles.policy(self.policy ?? PolicyLibrary.sanity)
    try names.check(in: RawArguments.paths(paths))
    let filter = FixtureFilter(
      including: try GlobPattern.parsed(names.include), excluding: try GlobPattern.parsed(names.exclude))
    return try await ValidationSession(
      settings, paths, followLinks: reading.followLinks, includesTrash: walking.includeTrash,
      filter: filter, policy: policy)
  }
}

extension ValidationOptions {
  /// The command that locks `paths` under the same options, for the user to copy.
  /// - Parameter lock: the lock file; nil for the usual one.
  func lockCommand(_ paths: [String], _ lock: String?, replaces: Bool) -> String {
    let word = { (text: String) in ShellWord.quoted(RawArguments.bytes(of: text)) }
    var words = RawArguments.paths(paths).map { ShellWord.quoted($0.bytes) }
    if let lock, lock != LockPlace.usual(for: paths) { words += ["-o", word(lock)] }
    if let policy { words += ["--policy", word(policy)] }
    words +=
      names.include.flatMap { ["--include", word($0)] } + names.exclude.flatMap { ["--exclude", word($0)] }
    if reading.followLinks { words.append("--follow-links") }
    if walking.includeTrash { words.append("--include-trash") }
    if replaces { words.append("--force") }
    return CommandHint(program: ProgramName.shown, config: general.config)
      .text("lock", words.joined(separator: " "))
  }
}

extension ValidationSession {
  /// Creates a session from the settings.
  init(
    _ settings: Settings, _ paths: [String], followLinks: Bool, includesTrash: Bool = false,
    filter: FixtureFilter = FixtureFilter(including: [], excluding: []), policy: Policy
  ) async throws {
    let workers = settings.jobs ?? Processors.available
    self.init(
      try await Sources.inputs(Sources.named(paths), settings), followLinks: followLinks,
      includesTrash: includesTrash, filter: filter, policy: policy,
      prober: AppContext.prober(settings, workers: workers),
      mending: { AppContext.prober(settings, workers: 1, mends: true) }, width: workers * 2,
      illustration: ReportIllustration(settings: settings, followLinks: followLinks))
  }
}
