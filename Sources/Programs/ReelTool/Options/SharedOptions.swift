import ArgumentParser
import ReelCore
import ReelIngest
import ReelSandbox
import ReelSource
import ReelTerminal
import ReelValidation

/// Where the library or the catalog is, for every command that uses it.
struct LibraryOptions: SettingFlags {
  @Option(\.library) var library
  @Option(\.catalog) var catalog
  @OptionGroup var general: GeneralOptions

  var config: String? { general.config }

  /// Reads the settings of a command that has no other flags for settings.
  func settings() throws -> Settings { try SettingsReader.read(flagsOf: self, file: config) }

  func validate() throws {
    if library != nil, catalog != nil {
      throw ValidationError(
        "use either --library or --catalog, not both.")
    }
    try validateSettings()
  }
}

/// The options of every command that has settings.
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

/// The worker that reads files, and how it is confined.
struct ReaderOptions: SettingFlags {
  @Option(\.isolation) var isolation
  @Option(\.worker) var worker
}

extension IsolationRequest: ExpressibleByArgument {}

/// Which folders below the named ones are entered.
struct WalkingOptions: ParsableArguments {
  @Flag(
    help:
      "Enter folders of what was thrown away or is a system's own, too ($RECYCLE.BIN, @eaDir, lost+found, …)."
  )
  var includeTrash = false
}

/// How files at addresses are read.
struct AddressOptions: SettingFlags {
  @Option(\.maxRead) var maxRead

  @OptionGroup var bucket: BucketOptions
}

/// Where the output of a run goes.
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

/// What the help of every command says about destinations.
enum DestinationHelp {
  static let kinds =
    "a folder, s3://bucket/prefix (s3+https://host/bucket/prefix for servers other than Amazon's), tus+https://host/path, "
    + "firebase://bucket/prefix or command:PROGRAM"
}

/// Where videos go, and which ones are accepted.
struct TargetOptions: SettingFlags {
  @Option(\.to) var to
  @Option(\.policy) var policy
}

/// Which files in the named folders are meant.
struct FilterByNameOptions: ParsableArguments {
  @Option(help: ArgumentHelp("In folders, only files that match; can be repeated.", valueName: "glob"))
  var include: [String] = []

  @Option(
    help: ArgumentHelp(
      "In folders, skip files and folders that match; can be repeated.", valueName: "glob"))
  var exclude: [String] = []

  /// - Parameter named: what the patterns are for.
  /// - Throws: ``CommandFailure`` for an invalid pattern, and for one that repeats the path of a named folder.
  func filter(in named: [SourcePath]) throws -> NameFilter {
    try check(in: named)
    return NameFilter(including: try GlobPattern.parsed(include), excluding: try GlobPattern.parsed(exclude))
  }

  /// - Throws: ``CommandFailure`` for a pattern that repeats the path of a named folder.
  func check(in named: [SourcePath]) throws {
    // What is at an address is not known yet.
    guard !named.contains(where: \.isAddress) else { return }
    try checkBeginnings(of: include, "--include", named)
    try checkBeginnings(of: exclude, "--exclude", named)
  }

  /// Rejects `--exclude uploads/private` for the folder `uploads`, in which that matches nothing, unless there is an
  /// `uploads/uploads`.
  private func checkBeginnings(of patterns: [String], _ flag: String, _ named: [SourcePath]) throws {
    for pattern in patterns.map(RawArguments.bytes) {
      let isAbsolute = pattern.first == UInt8(ascii: "/")
      for path in named {
        let folder = isAbsolute ? WorkingFolder.canonical(path) : path
        let (steps, begun) = (Self.steps(pattern), Self.steps(folder.bytes))
        guard !begun.isEmpty, steps.count > begun.count, steps.starts(with: begun),
          named.allSatisfy({ $0.appending(Array(steps[0])).fileKind == nil })
        else { continue }
        let slash = UInt8(ascii: "/")
        let rest =
          steps.dropFirst(begun.count).flatMap { [slash] + $0 } + (pattern.last == slash ? [slash] : [])
        let advice = "\(flag) \(ShellWord.quoted(rest))"
        throw CommandFailure(
          .usage,
          "\(flag) \(SourcePath(bytes: pattern)) matches nothing in \(path): patterns begin below the folder that is named; "
            + (named.count == 1 ? "write \(advice)" : "use \(advice) in a run for \(path) alone"))
      }
    }
  }

  private static func steps(_ path: [UInt8]) -> [ArraySlice<UInt8>] {
    path.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
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

/// Limits on sizes, on the rate and on concurrent uploads.
struct LimitOptions: SettingFlags {
  @Option(\.maxSize) var maxSize
  @Option(\.limitRate) var limitRate
  @Option(\.uploads) var uploads
}

/// The options of commands whose videos the user names. What is taken from the queue needs none: it is published, once.
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

/// How many files are processed at once.
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

/// What to mend before publishing, as users write it: `faststart,location`, or `none`.
struct MendList: ExpressibleByArgument, Hashable, Sendable {
  /// The mends that suit any file that needs them: they take no value, and leave out nothing that is shown.
  static let possible: [Mend] = [
    .faststart, .unfragment, .duration, .location, .privateTags, .credentials, .data,
  ]
  static let names = possible.map(\.rawValue).joined(separator: ", ")
  /// The possible values, for messages.
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
          "\"\(SourcePath(bytes: bytes))\" is not a valid pattern: * ? [a-z] and ** are special; put \\ before one "
            + "of these characters to match it literally")
      }
      return glob
    }
  }
}

/// The largest size of a file, as users write it: `20GB`, `512MiB`, `4000`, or `none` for no limit.
struct SizeLimit: ExpressibleByArgument, Hashable, Sendable {
  /// At least 1; nil for no limit.
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

/// How much of a file may be read, as users write it: `64MiB`, `1GB`.
struct ReadLimit: ExpressibleByArgument, Hashable, Sendable {
  /// At least 64 KiB: with less, no file could be identified.
  let bytes: Int64

  init?(argument: String) {
    guard let bytes = Quantity.bytes(argument), bytes >= 64 << 10 else { return nil }
    self.bytes = bytes
  }
}

extension PostOptions {
  /// The options of a run, from these flags and `settings`.
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
