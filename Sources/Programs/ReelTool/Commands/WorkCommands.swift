import ArgumentParser
import FoundationEssentials
import Glibc
import ReelCore
import ReelFeeds
import ReelIngest
import ReelPostgres
import ReelSource
import ReelStores
import ReelTerminal

/// `reel enqueue PATH…`
struct EnqueueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enqueue",
    abstract:
      "Put videos into the queue of a shared catalog, for reel work to publish: each once, however often it is listed.",
    discussion: """
      Folders and buckets are walked as reel ingest walks them; nothing is read but names, sizes, times and ETags, and \
      the beginning of what has no video's name. A file that has changed since counts as another one. Machines that work on \
      the queue must find the files under the same paths and addresses. Each item carries the --to, --policy and --author \
      that it is enqueued with: a worker takes no item that names another --to than its own, or, if it has a --policy itself, \
      another one.
      """,
    examples: [
      "reel enqueue s3://inbox/ --catalog postgres://reel@db.example/reel",
      "reel enqueue /mnt/clips --label import --priority 5",
      "reel enqueue --files0-from list --dry-run",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup(title: "Buckets") var bucket: BucketOptions

  @Option(
    name: .customLong("files0-from"),
    help: ArgumentHelp(
      "Enqueue the files listed in FILE, or on stdin, separated by NULs.", valueName: "file|-"),
    completion: .file())
  var filesFrom: String?

  @Option(help: ArgumentHelp("Files of a higher priority are taken first.", valueName: "n"))
  var priority: Int = 0

  @OptionGroup(title: "What is asked for each file") var wishes: WishOptions

  @Flag(help: .hidden)
  var retry = false

  @Flag(help: "Follow symbolic links, but never out of a folder that is being walked.")
  var followLinks = false

  @OptionGroup(title: "How files are read") var walking: WalkingOptions
  @OptionGroup(title: "Which files") var names: FilterByNameOptions

  @Flag(help: "Show how many would be enqueued, and change nothing.")
  var dryRun = false

  @Flag(help: "Print the result as JSON.")
  var json = false

  @Argument(
    help: "Files and folders, by path or address (s3://bucket/folder/, https://…).", completion: .file())
  var paths: [String] = []

  func validate() throws {
    if paths.isEmpty, filesFrom == nil, !retry {
      throw ValidationError(
        "name the files or folders to enqueue, or give a list with --files0-from.")
    }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let named = try Sources.named(paths)
    let filter = try names.filter(in: filesFrom == nil ? named : [])
    let listed = try filesFrom.map { try FileListArgument.inputs($0).map(\.path) } ?? []
    try Self.check(named + listed)
    if retry { FormerWords.tell("reel enqueue --retry", isNow: "reel queue retry") }
    let pool = try QueuePlace.pool(settings)
    let policy = try wishes.policy.map { try PolicyFiles.shared($0) }
    let asked = try await wishes.wishes(settings, policy)
    let inputs = try await Sources.inputs((named + listed).map(WorkingFolder.canonical), settings)
    var options = WalkOptions(followLinks: followLinks, filter: filter)
    options.includesTrash = walking.includeTrash
    options.remoteUse = .finding
    let walk = SourceWalk(inputs: inputs, options: options)
    let (priority, retry, dryRun, time) = (priority, retry, dryRun, wishes.at?.date)
    let result = try await BlockingQueue(label: "reel.enqueue", width: 1).run { () throws(CatalogError) in
      let queue = try dryRun ? WorkQueue.existing(pool) : WorkQueue(pool)
      if let policy, !dryRun { try queue?.keep(policy) }
      return try Enqueuing(queue: queue, priority: priority, wishes: asked, time: time, dryRun: dryRun)
        .run(walk, retry: retry)
    }
    pool.close()
    for failure in result.failures {
      let told = Sentence.naming(failure.path.text, failure.error.told)
      OutputStream.complain("\(told) [\(failure.error.code.rawValue)]")
    }
    let view = EnqueuedView(
      new: result.count.new, known: result.count.known, putBack: result.putBack,
      failed: result.failures.count,
      dryRun: dryRun)
    let problems = result.failures.map {
      AnswerProblem($0.error.code.rawValue, $0.error.told, path: $0.path)
    }
    try OutputStream.standardOutput.answer(json: json, AnswerDocument(view, problems: problems)) {
      view.text($0)
    }
    var tally = ExitTally(named: inputs.map(\.path))
    for failure in result.failures { tally.note(.source(failure.error.code), of: failure.path) }
    try tally.exit.end()
  }
}

extension EnqueueCommand {
  /// Rejects addresses with a query: what follows the `?` may be a signature, which the queue must not hold.
  /// - Throws: ``CommandFailure``.
  private static func check(_ paths: [SourcePath]) throws {
    for path in paths where path.scheme?.hasPrefix("http") == true {
      guard let end = path.bytes.firstIndex(of: UInt8(ascii: "?")) else { continue }
      let shown = SourcePath(bytes: Array(path.bytes[..<end]))
      throw CommandFailure(
        .usage,
        "\(shown)?… can't be enqueued: what follows the ? may be a signature, which everybody who can read the queue "
          + "would see; enqueue it without the query, or use reel ingest")
    }
  }
}

/// What is requested for each enqueued file.
struct WishOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where to store it: only workers that store there take it. Otherwise: where its worker stores.",
      valueName: "destination"), completion: .directory, transform: RawArguments.place)
  var to: String?

  @Option(
    help: ArgumentHelp(
      "What is accepted: a preset or a policy file, which all workers get with the item. Otherwise: its worker's.",
      valueName: "name|file"), completion: .file(), transform: RawArguments.place)
  var policy: String?

  @Option(
    help: ArgumentHelp("The author's id. Otherwise: its worker's.", valueName: "id"),
    transform: RawArguments.text)
  var author: String?

  @Option(
    help: ArgumentHelp(
      "A word by which items are found, paused, limited, and shared out evenly, such as a customer's.",
      valueName: "label"), transform: LabelArgument.parsed)
  var label: String?

  @Option(
    help: ArgumentHelp(
      "Not before this time: a day or a time (2026-11-22, 2026-11-22T10:00:00Z; UTC), or how long from now (90m, 12h, 7d).",
      valueName: "time"))
  var at: ComingTime?

  func wishes(_ settings: Settings, _ policy: QueuePolicy?) async throws -> ItemWishes {
    var wishes = ItemWishes(
      label: label ?? "", policy: policy?.name, author: author?.isEmpty == true ? nil : author)
    if let to {
      var settings = settings
      settings.to = to
      let stores = Stores(settings, library: nil)
      wishes.destination = try await stores.open(to).uploader.destination.name
    }
    return wishes
  }
}

/// A moment to come, given as a time or as a length of time from now.
struct ComingTime: ExpressibleByArgument {
  let date: Date

  init?(argument: String) {
    if let span = TimeSpan(argument: argument) {
      date = span.end(after: .now)
    } else {
      guard argument.contains("-"), let moment = SinceTime(argument: argument) else { return nil }
      date = moment.date
    }
  }
}

/// `reel work`
struct WorkCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "work",
    abstract: "Publish what is in the queue of a shared catalog, until it is empty.",
    discussion: """
      Any number of workers can share one queue, on any machine. SIGTERM ends a worker: files already stored are finished, \
      the others go back to the queue at once. Files of a worker that died go back after two minutes; a file on which three \
      workers died is set aside (see reel status). A worker that fails on many files in a row returns them to the queue and \
      ends. Exit codes are those of reel ingest; 130 after a signal, even if --grace ran out.
      """,
    examples: [
      "reel work --to s3://videos/ --catalog postgres://reel@db.example/reel",
      "reel work --to /mnt/media --forever --only-label import",
    ])

  @OptionGroup(title: "Common") var place: TargetOptions
  @OptionGroup(title: "Common") var lanes: JobsOptions
  @OptionGroup(title: "Library and settings") var library: LibraryOptions
  @OptionGroup(title: "What posts say") var words: PostOptions
  @OptionGroup(title: "Posters and mending") var changes: PosterAndMendOptions
  @OptionGroup(title: "Limits") var limits: LimitOptions
  @OptionGroup(title: "Stores") var folder: FolderStoreOptions
  @OptionGroup(title: "Stores") var viewing: ViewingOptions
  @OptionGroup(title: "Stores over S3 and HTTP") var bucket: BucketOptions
  @OptionGroup(title: "Stores at Firebase") var firebase: FirebaseOptions
  @OptionGroup(title: "Stores on tus servers") var tus: TusOptions
  @OptionGroup(title: "Stores of your own programs") var adapter: AdapterOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup(title: "Progress, events and logs") var output: RunOutputOptions

  @Flag(help: "Wait for more when the queue is empty.")
  var forever = false

  @Option(
    help: ArgumentHelp(
      "After a signal: how long to wait for files in progress before they are given back (default: 25s).",
      valueName: "time"), transform: TimeText.argument(0...3600, "from 0 to 1h"))
  var grace: Double?

  @Option(
    help: ArgumentHelp(
      "Take only what lies in a folder, at an address (s3://bucket/, https://host/folder/) or on a host; can be repeated. "
        + "Otherwise: anything but system folders, hidden files, this machine and private networks.",
      valueName: "folder|address|host"))
  var allow: [String] = []

  @Option(
    help: ArgumentHelp("Take only items of this label; can be repeated.", valueName: "label"),
    transform: LabelArgument.parsed)
  var onlyLabel: [String] = []

  @OptionGroup(title: "Trying again") var retrying: RetryOptions

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    var options = words.ingestOptions(settings)
    options.onError = .continue
    _ = try QueuePlace.pool(settings)
    let session = try await RunSession.open(settings, options, output)
    let appContext = session.appContext
    let destination = appContext.services.uploader.destination.name
    var walk = WalkOptions(followLinks: reading.followLinks)
    appContext.excludeOwn(from: &walk)
    let work: WorkSession
    do {
      let allowed = try AllowedSources(allow, destination: destination)
      guard let catalog = appContext.services.catalog as? PostgresCatalog else { throw QueuePlace.absence }
      let serving = QueueWorker.Serving(
        labels: onlyLabel, policy: try place.policy.map { try PolicyFiles.shared($0).name })
      let (sources, check) = (
        Sources(settings, rule: allowed.refusal), MachineCheck(services: appContext.services)
      )
      let staysForMore = forever
      let queue = BlockingQueue(label: "reel.work", width: 1)
      let feed = try await queue.run { [walk, options] () throws(CatalogError) in
        try QueueFeed.begin(
          catalog, destination: destination, serving: serving, retrying: QueueWorker.Settings(settings),
          jobs: options.jobs, staysForMore: staysForMore, walk: walk, allowed: allowed, check: check,
          tell: { LongWait.tell($0) }
        ) { item async throws(SourceError) in try await sources.input(item) }
      }
      work = WorkSession(feed, on: queue, grace: .seconds(grace ?? 25))
    } catch {
      try? await appContext.close()
      throw error
    }
    let exit = try await session.work(work, options: options)
    try work.end()
    try exit.end()
  }
}

/// How often, and after which pause, a failure that may pass is retried.
struct RetryOptions: SettingFlags {
  @Option(\.retries) var retries
  @Option(\.retryDelay) var retryDelay
}

extension QueueWorker.Settings {
  fileprivate init(_ settings: Settings) {
    self.init()
    if let retries = settings.retries { mostFailures = retries + 1 }
    if let delay = settings.retryDelay { pause = .seconds(delay) }
  }
}

/// Where the queue is: in the same database as the catalog.
enum QueuePlace {
  /// - Throws: ``CommandFailure``.
  static func pool(_ settings: Settings) throws -> PostgresPool {
    guard let pool = try CatalogPlace(settings).pool() else { throw absence }
    return pool
  }

  static let absence = CommandFailure(
    .usage, "the queue is in a catalog that several machines share: name it with --catalog postgres://…")
}
