import ArgumentParser
import ReelCore
import ReelIngest
import ReelSandbox
import ReelSource
import ReelTerminal
import ReelValidation

/// Where Reel keeps its things, for every command that looks at them.
struct LibraryOptions: SettingFlags {
  @Option(\.library) var library
  @Option(\.catalog) var catalog
  @OptionGroup var general: GeneralOptions

  var config: String? { general.config }

  /// Of a command that has no other flags that are settings.
  func settings() throws -> Settings { try SettingsReader.read(flagsOf: self, file: config) }

  func validate() throws {
    if library != nil, catalog != nil {
      throw ValidationError(
        "use either --library or --catalog, not both.")
    }
    try validateSettings()
  }
}

/// Of every command that has settings.
struct GeneralOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A configuration file (YAML). Else $XDG_CONFIG_HOME/reel/config.yaml, if it exists.",
      valueName: "file"), completion: .file(), transform: RawArguments.place)
  var config: String?

  @OptionGroup var terminal: TerminalOptions
}

/// How text is shown.
struct TerminalOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Whether to use colors; auto: on a terminal, unless $NO_COLOR says no (default: auto).",
      valueName: "when"))
  var color: ColorChoice?
}

/// How files are read.
struct ReadingOptions: SettingFlags {
  @OptionGroup var reader: ReaderOptions
  @Option(\.deadline) var deadline

  @Flag(help: "Follow symbolic links, but never out of a folder that is being walked.")
  var followLinks = false
}

/// What reads files.
struct ReaderOptions: SettingFlags {
  @Option(\.isolation) var isolation
  @Option(\.worker) var worker
}

extension IsolationRequest: ExpressibleByArgument {}

/// Which of the folders below those that are named are entered.
struct WalkingOptions: ParsableArguments {
  @Flag(
    help:
      "Enter folders of what was thrown away or is a system's own, too ($RECYCLE.BIN, @eaDir, lost+found, …)."
  )
  var includeTrash = false
}

/// How files at addresses are looked into.
struct AddressOptions: SettingFlags {
  @Option(\.maxRead) var maxRead

  @OptionGroup var bucket: BucketOptions
}

/// What goes where while a run is on.
struct RunOutputOptions: SettingFlags {
  @Option(
    help: ArgumentHelp(
      "Write events as JSON lines to a file, - (stdout; the report moves to stderr) or fd:N.",
      valueName: "file|-|fd:N"), completion: .file(), transform: RawArguments.place)
  var events: String?

  @Option(\.progress) var progress

  @Flag(name: [.short, .long], help: "Show no progress.")
  var quiet = false

  @Flag(
    name: [.short, .long],
    help: "Say what became of each file: published as which post, a duplicate of which, refused, ignored.")
  var verbose = false

  @Option(\.logLevel) var logLevel

  @Option(
    help: ArgumentHelp(
      "Write the run's numbers to a file for Prometheus' node exporter, every 15 seconds and at the end.",
      valueName: "file.prom"), completion: .file(), transform: RawArguments.place)
  var metrics: String?

  @Flag(help: "Print the result as JSON.")
  var json = false

  func validate() throws {
    if verbose, quiet { throw ValidationError("use either --verbose or --quiet, not both.") }
    try validateSettings()
  }
}

extension ProgressStyle: ExpressibleByArgument {}

extension LogLevel: ExpressibleByArgument {}

enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
  case auto, always, never
}

/// What the help of every command says of destinations.
enum DestinationHelp {
  static let kinds =
    "a folder, s3://bucket/prefix (s3+https://host/bucket/prefix for servers other than Amazon's), tus+https://host/path, "
    + "firebase://bucket/prefix or command:PROGRAM"
}

/// Where videos go, and which.
struct TargetOptions: SettingFlags {
  @Option(\.to) var to
  @Option(\.policy) var policy
}

/// Which files are meant of those that are named.
struct FilterByNameOptions: ParsableArguments {
  @Option(help: ArgumentHelp("In folders, only files that match; can be repeated.", valueName: "glob"))
  var include: [String] = []

  @Option(
    help: ArgumentHelp(
      "In folders, skip files and folders that match; can be repeated.", valueName: "glob"))
  var exclude: [String] = []

  /// - Throws: ``CommandFailure`` for what is no pattern.
  func filter() throws -> NameFilter {
    NameFilter(including: try GlobPattern.parsed(include), excluding: try GlobPattern.parsed(exclude))
  }
}

/// What a post says that the file does not.
struct PostOptions: SettingFlags {
  @Option(\.author) var author
  @Option(\.authorName) var authorName

  @Flag(help: "Accept the author named in a sidecar, which anyone who made the clip can write.")
  var trustSidecars = false

  @Flag(name: .customLong("no-source-name"), help: "Leave the name of the source file out of its post.")
  var noSourceName = false

  @Flag(help: "Make up like and share counts between 1000 and 100000, for a demo feed.")
  var demoCounts = false
}

/// What is made of a file besides its post.
struct PosterAndMendOptions: SettingFlags {
  @Option(\.posters) var posters
  @Option(\.posterSize) var posterSize
  @Option(\.mend) var mend
}

/// How much is taken.
struct LimitOptions: SettingFlags {
  @Option(\.maxSize) var maxSize
  @Option(\.limitRate) var limitRate
  @Option(\.uploads) var uploads
}

/// Of the commands that name what they publish; what is taken from a queue is published, once.
struct OnceOptions: ParsableArguments {
  @Option(
    help:
      ArgumentHelp(
        "What to do with a video that is already published: skip it, or publish it again (allow).",
        valueName: "skip|allow"))
  var duplicates: DuplicateHandling = .skip

  @Flag(help: "Publish a video again even if its post was removed.")
  var again = false

  @Flag(help: "Show what would happen without writing anything.")
  var dryRun = false
}

/// How many files are taken in at once.
struct JobsOptions: SettingFlags {
  @Option(\.jobs) var jobs
}

enum PostersChoice: String, ExpressibleByArgument, CaseIterable {
  case wanted, required, none

  var posters: IngestOptions.Posters {
    switch self {
    case .wanted: .wanted
    case .required: .required
    case .none: .none
    }
  }
}

/// What is mended before it is published, as people write it: `faststart,location`, or `none`.
struct MendList: ExpressibleByArgument, Hashable, Sendable {
  /// What can be done to any file that needs it, without a value and without leaving out what is shown.
  static let possible: [Mend] = [
    .faststart, .unfragment, .duration, .location, .privateTags, .credentials, .data,
  ]
  static let names = possible.map(\.rawValue).joined(separator: ", ")
  /// For messages.
  static let choices = "none, or one or more of \(names), separated by commas"

  let mends: Set<Mend>

  init?(argument: String) {
    if argument == "none" {
      mends = []
      return
    }
    let words = argument.split(separator: ",", omittingEmptySubsequences: false)
    let found = words.compactMap { word in
      Mend(rawValue: word.trimmingPrefix(" ").description).flatMap {
        Self.possible.contains($0) ? $0 : nil
      }
    }
    guard found.count == words.count else { return nil }
    mends = Set(found)
  }

  static var allValueStrings: [String] { possible.map(\.rawValue) + ["none"] }
}

extension DuplicateHandling: ExpressibleByArgument {}

extension GlobPattern {
  /// - Throws: ``CommandFailure`` when one is not a pattern.
  static func parsed(_ patterns: [String]) throws -> [GlobPattern] {
    try patterns.map { pattern in
      let bytes = RawArguments.bytes(of: pattern)
      guard let glob = GlobPattern(bytes) else {
        throw CommandFailure(
          .usage,
          "\"\(SourcePath(bytes: bytes))\" is not a valid pattern: * ? [a-z] and ** have a meaning, and \\ before one "
            + "of these characters takes it away")
      }
      return glob
    }
  }
}

/// How large a file may be, as people write it: `20GB`, `512MiB`, `4000`, or `none` for any size.
struct SizeLimit: ExpressibleByArgument, Hashable, Sendable {
  /// At least 1; nil for any size.
  let bytes: Int64?

  init?(argument: String) {
    if argument == "none" {
      bytes = nil
      return
    }
    guard let bytes = Quantity.bytes(argument), bytes > 0 else { return nil }
    self.bytes = bytes
  }
}

/// How much of a file may be read, as people write it: `64MiB`, `1GB`.
struct ReadLimit: ExpressibleByArgument, Hashable, Sendable {
  /// At least 64 KiB: less says of no file what it is.
  let bytes: Int64

  init?(argument: String) {
    guard let bytes = Quantity.bytes(argument), bytes >= 64 << 10 else { return nil }
    self.bytes = bytes
  }
}

extension PostOptions {
  /// How a run treats its files, by these flags and `settings`.
  func ingestOptions(_ settings: Settings, _ once: OnceOptions? = nil) -> IngestOptions {
    var options = IngestOptions()
    options.metadata = PostMetadata(authorID: author, authorName: authorName)
    options.defaultMetadata = PostMetadata(authorID: settings.author, authorName: settings.authorName)
    options.trustSidecars = trustSidecars
    options.duplicates = once?.duplicates ?? .skip
    options.again = once?.again ?? false
    options.dryRun = once?.dryRun ?? false
    options.jobs = AppContext.jobs(settings)
    if let limit = settings.maxSize { options.maxSize = limit.bytes }
    if let choice = settings.posters { options.posters = choice.posters }
    if let size = settings.posterSize { options.poster.size = size }
    options.mends = MendOptions(settings.mend?.mends ?? [])
    if let length = settings.nameLength { options.nameLength = length }
    options.keepsSourceName = !noSourceName
    options.demoCounts = demoCounts
    options.workingDirectory = WorkingFolder.path()
    return options
  }
}
