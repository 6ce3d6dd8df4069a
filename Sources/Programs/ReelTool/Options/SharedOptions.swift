import ArgumentParser
import ReelCore
import ReelIngest
import ReelSandbox
import ReelTerminal
import ReelStorage
import ReelValidation

/// Where Reel keeps its things, for every command that looks at them.
struct LibraryOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The library folder: catalog, temporary files and, by default, the media. "
        + "Else $REEL_LIBRARY, else library in the configuration file, else $XDG_DATA_HOME/reel.",
      valueName: "dir"), completion: .directory,
    transform: RawArguments.place)
  var library: String?

  @Option(
    help: ArgumentHelp(
      "A catalog shared by several machines, instead of a library: postgres://USER@HOST/DATABASE. "
        + "Else $REEL_CATALOG, else catalog in the configuration file.",
      valueName: "postgres://…"), transform: RawArguments.text)
  var catalog: String?

  @Option(
    help: ArgumentHelp(
      "A configuration file (YAML). Else $XDG_CONFIG_HOME/reel/config.yaml, if it exists.",
      valueName: "file"), completion: .file(), transform: RawArguments.place)
  var config: String?

  @OptionGroup var terminal: TerminalOptions

  func validate() throws {
    if library != nil, catalog != nil {
      throw ValidationError(
        "Use either --library or --catalog, not both.")
    }
  }

  /// For commands that may come next.
  var hint: CommandHint { CommandHint(program: ProgramName.shown, library: library, catalog: catalog) }
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
struct ReadingOptions: ParsableArguments {
  @Option(
    help: "How the worker is sandboxed: auto uses what the system offers, strict requires all of it.")
  var isolation: IsolationRequest?

  @Option(
    help: ArgumentHelp("The path of reel-probe-worker, if it is not next to reel.", valueName: "file"),
    completion: .file(), transform: RawArguments.place)
  var worker: String?

  @Option(help: ArgumentHelp("Seconds allowed for reading one file (default: 10).", valueName: "seconds"))
  var deadline: Double?

  @Flag(help: "Follow symbolic links, but never out of a folder that is being walked.")
  var followLinks = false

  func validate() throws {
    if let deadline, !(deadline > 0 && deadline <= 3600) {
      throw ValidationError("--deadline must be a number of seconds above 0, up to 3600.")
    }
  }
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
struct AddressOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How much of a file at an address may be read to find out what it is, such as 64MiB (default) or 1GB.",
      valueName: "size"))
  var maxRead: ReadLimit?

  @OptionGroup var bucket: BucketOptions
}

/// What goes where while a run is on.
struct RunOutputOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Write events as JSON lines to a file, - (stdout; the report moves to stderr) or fd:N.",
      valueName: "file|-|fd:N"), completion: .file(), transform: RawArguments.place)
  var events: String?

  @Option(help: "How progress is shown on stderr (default: auto).")
  var progress: ProgressStyle?

  @Flag(name: [.short, .long], help: "Show no progress.")
  var quiet = false

  @Option(
    help: ArgumentHelp(
      "Log events of this level and above to stderr, as key=value lines; replaces the progress display, unless "
        + "--progress is given.", valueName: "level"))
  var logLevel: LogLevel?

  @Option(
    help: ArgumentHelp(
      "Write the run's numbers to a file for Prometheus' node exporter, every 15 seconds and at the end.",
      valueName: "file.prom"), completion: .file(), transform: RawArguments.place)
  var metrics: String?

  @Flag(help: "Print the result as JSON.")
  var json = false
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

/// What happens to the videos, the same for one and for many.
struct IntakeOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The destination: \(DestinationHelp.kinds). Default: media/ in the library.", valueName: "destination"),
    completion: .directory,
    transform: RawArguments.place)
  var to: String?

  @Option(
    help: ArgumentHelp(
      "Bytes per second for all uploads together, such as 10MB/s or 512KiB/s.", valueName: "rate"),
    transform: RawArguments.text)
  var limitRate: String?

  @Option(
    help: ArgumentHelp("Concurrent uploads (default: 16 to S3, elsewhere as many as --jobs).", valueName: "n")
  )
  var uploads: Int?

  @Option(
    help: ArgumentHelp(
      "The largest file accepted, such as 20GB or 512MiB, or none for no limit (default: 64GB).",
      valueName: "size"))
  var maxSize: SizeLimit?

  @Option(
    help: ArgumentHelp(
      "Give each post a poster, a JPEG beside its video; with required, a video without one is not published.",
      valueName: "required"))
  var posters: PostersChoice?

  @Option(
    help: ArgumentHelp("Pixels of a poster's longer side, 16 to 4096 (default: 512).", valueName: "pixels"))
  var posterSize: Int?

  @Option(
    help: ArgumentHelp(
      "Mend files before they are published, as reel mend does: \(MendList.names), separated by commas; or "
        + "none (default).", valueName: "list"))
  var mend: MendList?

  @Option(help: ArgumentHelp("The author's id.", valueName: "id"), transform: RawArguments.text)
  var author: String?

  @Option(help: ArgumentHelp("The author's name.", valueName: "name"), transform: RawArguments.text)
  var authorName: String?

  @Option(
    help: ArgumentHelp("Permissions of stored files, in octal (default: 600).", valueName: "mode"),
    transform: RawArguments.text)
  var mode: String?

  @Option(
    help: ArgumentHelp(
      "What is accepted: a preset or a policy file (`reel policy list`). Default: any whole video.",
      valueName: "name|file"), completion: .file(), transform: RawArguments.place)
  var policy: String?

  @Flag(help: "Accept the author named in a sidecar, which anyone who made the clip can write.")
  var trustSidecars = false

  @Flag(name: .customLong("no-source-name"), help: "Leave the name of the source file out of its post.")
  var noSourceName = false

  @Flag(help: "Make up like and share counts between 1000 and 100000, for a demo feed.")
  var demoCounts = false

  func validate() throws {
    if let uploads, !(1...64).contains(uploads) {
      throw ValidationError("--uploads must be a number from 1 to 64.")
    }
    if let posterSize, !PosterOptions.sizes.contains(posterSize) {
      throw ValidationError("--poster-size must be a number of pixels from 16 to 4096.")
    }
    if let mode, FolderModes(octal: mode) == nil {
      throw ValidationError("--mode must be octal and let the owner read and write: 600, 640, 644.")
    }
  }
}

/// Of the commands that name what they publish; what is taken from a queue is published, once.
struct OnceOptions: ParsableArguments {
  @Option(
    help:
      "What to do with a video that is already published: skip it, or publish it again (allow).")
  var duplicates: DuplicateHandling = .skip

  @Flag(help: "Show what would happen without writing anything.")
  var dryRun = false
}

/// How many files are taken in at once.
struct JobsOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Files processed at once (default: twice the processors, at least 4; at least 16 where addresses are named).",
      valueName: "n"))
  var jobs: Int?

  func validate() throws {
    if let jobs, !(1...64).contains(jobs) { throw ValidationError("--jobs must be a number from 1 to 64.") }
  }
}

enum PostersChoice: String, ExpressibleByArgument, CaseIterable {
  case wanted, required, none
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

extension Settings {
  /// What the command line says.
  init(
    _ library: LibraryOptions, reading: ReadingOptions? = nil, intake: IntakeOptions? = nil,
    output: RunOutputOptions? = nil, store: StoreOptions? = nil, addresses: AddressOptions? = nil,
    bucket: BucketOptions? = nil, jobs: Int? = nil
  ) {
    self.init(
      library: library.library,
      catalog: library.catalog.map { CatalogSetting(address: $0, isArgument: true) },
      to: intake?.to, author: intake?.author, authorName: intake?.authorName,
      publicBaseURL: store?.publicBaseURL, mode: intake?.mode, jobs: jobs, worker: reading?.worker,
      deadline: reading?.deadline, isolation: reading?.isolation,
      progress: output?.progress, logLevel: output?.logLevel,
      limitRate: intake?.limitRate, maxSize: intake?.maxSize,
      uploads: intake?.uploads, posters: intake?.posters?.rawValue, posterSize: intake?.posterSize,
      mend: intake?.mend, maxRead: addresses?.maxRead,
      store: store.map { StoreSettings($0) } ?? (addresses?.bucket ?? bucket).map { StoreSettings($0) }
        ?? StoreSettings())
  }
}

extension StoreSettings {
  /// What the command line says; a flag that is not given says nothing.
  init(_ options: StoreOptions) {
    self.init(options.bucket)
    serviceAccount = options.serviceAccount
    project = options.project
    presign = options.presign
    adapterEnv = options.adapterEnv
    adapterDeadline = options.adapterDeadline
    uploadHosts = options.uploadHosts
    (requestChecksums, conditionalPuts) = (options.bucket.requestChecksums, options.bucket.conditionalPuts)
  }

  /// The same, of what reaches a bucket.
  init(_ options: BucketOptions) {
    self.init(
      endpoint: options.endpoint, region: options.region, pathStyle: options.pathStyle,
      profile: options.profile, credentials: options.credentials, caFile: options.caFile,
      proxy: options.proxy, insecureHTTP: options.insecureHTTP ? true : nil)
  }
}

extension IntakeOptions {
  /// How a run treats its files, by these flags and `settings`.
  func ingestOptions(_ settings: Settings, _ once: OnceOptions? = nil) -> IngestOptions {
    var options = IngestOptions()
    options.metadata = PostMetadata(authorID: author, authorName: authorName)
    options.defaultMetadata = PostMetadata(authorID: settings.author, authorName: settings.authorName)
    options.trustSidecars = trustSidecars
    options.duplicates = once?.duplicates ?? .skip
    options.dryRun = once?.dryRun ?? false
    options.jobs = AppContext.jobs(settings)
    if let limit = settings.maxSize { options.maxSize = limit.bytes }
    options.posters = settings.posters.flatMap { IngestOptions.Posters(rawValue: $0) } ?? .none
    if let size = settings.posterSize { options.poster.size = size }
    options.mends = MendOptions(settings.mend?.mends ?? [])
    options.nameLength = settings.nameLength ?? 22
    options.keepsSourceName = !noSourceName
    options.demoCounts = demoCounts
    options.workingDirectory = WorkingFolder.path()
    return options
  }
}
