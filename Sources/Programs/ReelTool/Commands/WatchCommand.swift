import ArgumentParser
import FoundationEssentials
import Glibc
import ReelCore
import ReelFeeds
import ReelIngest
import ReelProcess
import ReelSource
import ReelTerminal

/// `reel watch FOLDER…`
struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Ingest the files in folders, then each new one as soon as it is complete.",
    discussion: """
      A file is ingested when nobody has it open for writing and, unless its writer was seen closing it, it has not changed \
      for a while; one that looks cut off \
      is checked again later before it is reported as such. Ctrl-C (SIGINT) or SIGTERM ends the watch; SIGHUP makes it reload its settings \
      and reopen its event file. Buckets (s3://bucket/folder/) are listed at intervals (--every).
      """,
    examples: [
      "reel watch /srv/drop",
      "reel watch /srv/drop --after move:/srv/done --reject move:/srv/bad",
      "reel watch s3://inbox/ --every 1m --to /srv/media",
    ])

  @Option(
    help: ArgumentHelp(
      "What to do with a file once it is a post: keep (default), delete, or move:FOLDER.", valueName: "what"),
    transform: RawArguments.text)
  var after: String?

  @Option(
    help: ArgumentHelp(
      "What to do with a file that can't become a post: keep (default), or move:FOLDER, with a text file beside it "
        + "that says why.", valueName: "what"),
    transform: RawArguments.text)
  var reject: String?

  @Option(
    help: ArgumentHelp(
      "How long a file must stay unchanged, if its writer was not seen closing it (default: 2s; 10s for polled folders).",
      valueName: "time"), transform: TimeText.argument(0...86_400, "from 0 to 1d"))
  var settle: Double?

  @Option(
    help: ArgumentHelp(
      "Where nobody can tell whether a file is still open (NFS, SMB, other users' files): after this long without a change "
        + "it counts as closed, and may be moved or removed (default: never).", valueName: "time"))
  var presumeClosed: Interval?

  @Flag(help: "List the folders at intervals, for file systems that report no changes (NFS, SMB).")
  var poll = false

  @Option(
    help: ArgumentHelp(
      "The interval at which folders are polled and buckets listed, such as 30s or 5m (default: 10s; 30s for buckets).",
      valueName: "time"))
  var every: Interval?

  @OptionGroup(title: "Common") var place: TargetOptions
  @OptionGroup(title: "Common") var lanes: JobsOptions
  @OptionGroup(title: "Which files") var names: FilterByNameOptions
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
  @OptionGroup(title: "How files are read") var walking: WalkingOptions
  @Argument(help: "The folders, by path or address (s3://bucket/folder/).", completion: .directory)
  var folders: [String]

  func validate() throws {
    if reject == "delete" {
      throw ValidationError(
        "--reject must be keep or move:FOLDER: a file that could not be published is never deleted.")
    }
  }

  func run() async throws {
    let signals = WatchSignals()
    let manager = ServiceManager(
      environment: try ProcessEnvironment.current().texts { ServiceManager.variables.contains($0) })
    let (places, begun) = (FileDisposal.Folders(), Date())
    try await WatchSession(
      plan: { try await plan(manager, places, begun) }, signals: signals, manager: manager
    ).run()
  }

  /// - Parameters:
  ///   - places: the folders that files are moved to, opened by the first plan.
  ///   - begun: when the process started.
  /// - Throws: ``CommandFailure``.
  private func plan(
    _ manager: ServiceManager, _ places: FileDisposal.Folders, _ begun: Date
  ) async throws -> WatchSession.Plan {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let named = try Sources.named(folders)
    let filter = try names.filter(in: named)
    let inputs = try await Sources.inputs(named, settings)
    let disposals = WatchFeed.Disposals(
      after: try disposal(after, "--after", places), reject: try disposal(reject, "--reject", places),
      trustsSidecars: words.trustSidecars, folders: places)
    try check(inputs, disposals)
    var walk = WalkOptions(
      followLinks: reading.followLinks, filter: filter,
      skippedDirectories: [disposals.after, disposals.reject].compactMap(\.folder).compactMap {
        places.identity(of: $0)
      })
    walk.includesTrash = walking.includeTrash
    walk.skipsDoubtfulNames = true
    // Check this before a library is created.
    let belowDisposal =
      "it is, or is inside, the folder of --after or --reject, which is never ingested; name a folder outside it"
    try check(watches(inputs, walk, begun), whereExcluded: belowDisposal)
    var options = words.ingestOptions(settings)
    options.onError = .continue
    options.provesDuplicates = disposals.after != .keep
    let session = try await RunSession.open(settings, options, output, appends: true)
    let appContext = session.appContext
    appContext.excludeOwn(from: &walk)
    let watches = watches(inputs, walk, begun)
    do {
      try check(watches)
      let feed = try WatchFeed(
        watches, disposals: disposals, secondLook: secondLook, jobs: options.jobs,
        services: appContext.services, onStep: { DebugSteps.reach($0.rawValue) }
      ) { manager.tell("READY=1") }
      let greeting = WatchGreeting(
        places: inputs.map(place), destination: appContext.services.uploader.destination,
        after: disposals.after, reject: disposals.reject)
      return WatchSession.Plan(session: session, feed: feed, options: options, greeting: greeting)
    } catch {
      try? await appContext.close()
      throw error
    }
  }

  private var secondLook: Duration { .seconds(max(30, settle ?? 0)) }

  private func watches(
    _ inputs: [SourceInput], _ walk: WalkOptions, _ begun: Date
  ) -> [FolderWatch] {
    inputs.map { input in
      let place = place(input)
      return FolderWatch(
        input, options: walk,
        settings: FolderWatch.Settings(
          waits: place.waits, interval: place.interval, polls: poll,
          presumesClosed: presumeClosed?.duration, begun: begun))
    }
  }

  /// How changes in an input are noticed.
  private func place(_ input: SourceInput) -> WatchGreeting.Place {
    let isShared = !input.isRemote && !input.path.withCString { LocalFileSystem.holds($0) }
    let isTold = !poll && !input.isRemote && !isShared
    return WatchGreeting.Place(
      path: input.path, isBucket: input.isRemote, isListed: !isTold, isShared: isShared,
      interval: every?.duration ?? .seconds(input.isRemote ? 30 : 10),
      waits: SettlingFiles.Waits(settle: .seconds(settle ?? (isTold ? 2 : 10)), secondLook: secondLook))
  }

  /// Rejects what would only be noticed once the watch is under way, and would leave it with nothing to do.
  /// - Parameter whereExcluded: the message about a folder that is never ingested; nil for the walk's own message.
  private func check(_ watches: [FolderWatch], whereExcluded: String? = nil) throws {
    for watch in watches {
      // A folder that has vanished since the first check is waited for.
      guard let error = watch.obstacle(), error.code != .notFound else { continue }
      let reason = error.code == .outsideRoot ? whereExcluded ?? error.told : error.told
      throw CommandFailure(
        error.code == .outsideRoot || error.code == .isLink ? .usage : .couldNotRun,
        "\(watch.path) can't be watched: \(reason)")
    }
  }

  private func check(_ inputs: [SourceInput], _ disposals: WatchFeed.Disposals) throws {
    for input in inputs where !input.isRemote {
      guard DirectoryIdentity(at: input.path) != nil else {
        throw CommandFailure(
          .couldNotRun, "\(input.path) can't be watched: there is no such folder; check the name, or make it")
      }
    }
    let disposes = disposals.after != .keep || disposals.reject != .keep
    if disposes, let remote = inputs.first(where: \.isRemote) {
      throw CommandFailure(
        .usage, "--after and --reject are for folders: what is in \(remote.path) stays there; leave them out")
    }
  }

  private func disposal(
    _ text: String?, _ flag: String, _ places: FileDisposal.Folders
  ) throws -> FileDisposal.Kind {
    switch text {
    case nil, "keep": return .keep
    case "delete": return .delete
    case let text?:
      guard text.hasPrefix("move:"), text.count > 5 else {
        throw CommandFailure(
          .usage, "\(flag) must be keep, move:FOLDER\(flag == "--after" ? ", or delete" : ""); not \(text)")
      }
      if let problem = ShellWord.unexpandedHome(in: String(text.dropFirst(5))) {
        throw CommandFailure(.usage, "\(flag) \(text) names no folder: \(problem)")
      }
      // The argument was decoded when it was parsed.
      let path = SourcePath(String(text.dropFirst(5)))
      try places.openOrMake(path)
      return .move(path)
    }
  }
}

extension FileDisposal.Kind {
  fileprivate var folder: SourcePath? {
    if case .move(let folder) = self { folder } else { nil }
  }
}

/// An interval, as users write it: `30s`, `5m`, `1h`.
struct Interval: ExpressibleByArgument, Hashable, Sendable {
  /// From one second to one day.
  let duration: Duration

  init?(argument: String) {
    guard let seconds = TimeText.seconds(argument), (1...86_400).contains(seconds) else { return nil }
    duration = .seconds(seconds)
  }
}
