import ArgumentParser
import Dispatch
import Glibc
import ReelCore
import ReelIngest
import ReelPostgres
import ReelSource
import ReelTerminal

/// `reel enqueue PATH…`
struct EnqueueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enqueue",
    abstract:
      "Put videos into the queue of a shared catalog, for reel work to publish: each once, however often it is listed.",
    discussion: """
      Folders are walked as reel ingest walks them; nothing is read but names, sizes and times. A file that has changed \
      since counts as another one. Machines that work on the queue must find the files under the same paths.
      """)

  @OptionGroup var library: LibraryOptions

  @Option(
    name: .customLong("files0-from"),
    help: ArgumentHelp(
      "Enqueue the files listed in FILE, or on stdin, separated by NULs.", valueName: "file|-"),
    completion: .file())
  var filesFrom: String?

  @Option(help: ArgumentHelp("Files of a higher priority are taken first.", valueName: "n"))
  var priority: Int = 0

  @Flag(help: "Put back what failed or was set aside, to be tried again.")
  var retry = false

  @Flag(help: "Follow symbolic links, but never out of a folder that is being walked.")
  var followLinks = false

  @Option(help: ArgumentHelp("Enqueue only files that match; can be repeated.", valueName: "glob"))
  var include: [String] = []

  @Option(help: ArgumentHelp("Skip files and folders that match; can be repeated.", valueName: "glob"))
  var exclude: [String] = []

  @Flag(help: "Print the result as JSON.")
  var json = false

  @Argument(help: "Files and folders.", completion: .file())
  var paths: [String] = []

  func validate() throws {
    if paths.isEmpty, filesFrom == nil, !retry {
      throw ValidationError(
        "Name the files or folders to enqueue, give a list with --files0-from, or say --retry.")
    }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flags: Settings(library), file: library.config)
    let filter = NameFilter(
      including: try GlobPattern.parsed(include), excluding: try GlobPattern.parsed(exclude))
    var inputs = RawArguments.paths(paths).map { SourceInput(path: $0) }
    if let filesFrom { inputs += try FileListArgument.inputs(filesFrom) }
    let pool = try QueuePlace.pool(settings)
    let (walk, priority, retry) = (
      SourceWalk(inputs: inputs, options: WalkOptions(followLinks: followLinks, filter: filter)), priority,
      retry
    )
    let result = try await orCommandFailure { () async throws(CatalogError) in
      try await BlockingQueue(label: "reel.enqueue", width: 1).run { () throws(CatalogError) in
        try Enqueuing(queue: WorkQueue(pool), priority: priority).run(walk, retry: retry)
      }
    }
    pool.close()
    let traits = TerminalTraits.standardOutput()
    for failure in result.failures {
      let told = Sentence.naming(failure.path.text, failure.error.told)
      try OutputStream.standardError.write(
        "reel: \(SanitizedText.line(told)) [\(failure.error.code.rawValue)]\n")
    }
    let view = EnqueuedView(
      new: result.count.new, known: result.count.known, putBack: result.putBack, failed: result.failures.count
    )
    try OutputStream.standardOutput.write(
      json ? JSONOutput.text(view, pretty: traits.isTerminal) : view.text(traits))
    if !result.failures.isEmpty { throw CommandExit(code: .someFailed) }
  }
}

/// What `reel enqueue` does.
private struct Enqueuing {
  struct Result {
    var count = WorkQueue.Enqueued()
    var putBack = 0
    var failures: [(path: SourcePath, error: SourceError)] = []
  }

  let queue: WorkQueue
  let priority: Int

  /// Blocks.
  func run(_ walk: SourceWalk, retry: Bool) throws(CatalogError) -> Result {
    var result = Result()
    if retry { result.putBack = try queue.putBack([.failed, .setAside]) }
    let folder = WorkingFolder.path()
    while true {
      let items = walk.next(upTo: 1000)
      if items.isEmpty { return result }
      var new: [NewItem] = []
      for item in items {
        switch item {
        case .candidate(let file): new.append(NewItem(file, in: folder))
        case .failed(let path, let error): result.failures.append((path, error))
        case .ignored, .orphanSidecar: continue
        }
      }
      let count = try queue.enqueue(new, priority: priority)
      result.count.new += count.new
      result.count.known += count.known
    }
  }
}

extension NewItem {
  /// - Parameter folder: where relative paths begin.
  fileprivate init(_ file: FoundFile, in folder: SourcePath?) {
    let isAbsolute = file.path.bytes.first == UInt8(ascii: "/")
    let path = isAbsolute ? file.path : folder?.appending(file.path.bytes) ?? file.path
    self.init(
      address: path, version: "\(file.identity.size) \(file.identity.modifiedAt)", size: file.identity.size)
  }
}

/// `reel work`
struct WorkCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "work",
    abstract: "Publish what is in the queue of a shared catalog, until it is empty.",
    discussion: """
      As many as you like may work on one queue, anywhere. A signal (SIGTERM) ends it: what is stored is finished, the rest \
      is given back at once. What one held that died is free again after a minute; what three died of is set aside \
      (reel status).
      """)

  @OptionGroup var intake: IntakeOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var reading: ReadingOptions
  @OptionGroup var output: RunOutputOptions
  @OptionGroup var library: LibraryOptions

  @Option(
    help: ArgumentHelp(
      "Files processed at once (default: twice the processors, at least 4).", valueName: "n")
  )
  var jobs: Int?

  @Flag(help: "Wait for more when the queue is empty.")
  var forever = false

  @Option(
    help: ArgumentHelp(
      "How long a signal waits for what is being finished before it ends this all the same.",
      valueName: "seconds"))
  var grace: Double = 25

  func validate() throws {
    if let jobs, !(1...64).contains(jobs) { throw ValidationError("--jobs is a number from 1 to 64.") }
    if !(grace >= 0 && grace <= 3600) {
      throw ValidationError("--grace is a number of seconds from 0 to 3600.")
    }
    if intake.dryRun {
      throw ValidationError("--dry-run is for reel ingest: what is taken from the queue is published.")
    }
    if intake.duplicates == .allow {
      throw ValidationError(
        "--duplicates allow is for reel ingest: an item may be taken twice, after a crash.")
    }
  }

  func run() async throws {
    let settings = try SettingsReader.read(
      flags: Settings(library, reading: reading, intake: intake, output: output, store: store, jobs: jobs),
      file: library.config)
    var options = intake.ingestOptions(settings)
    options.onError = .continue
    let pool = try QueuePlace.pool(settings)
    let target = try EventTarget.open(output.events)
    let appContext = try await AppContext.open(
      settings, dryRun: false, jobs: options.jobs, posters: options.posters, policy: intake.policy,
      measures: output.metrics != nil)
    let session = RunSession(
      appContext: appContext, output: output, settings: settings, target: target, hint: library.hint)
    let walk = WalkOptions(
      followLinks: reading.followLinks, skippedDirectories: appContext.ownDirectories)
    let work: WorkSession
    do {
      work = try await WorkSession.begin(
        pool, destination: appContext.services.uploader.destination.name, jobs: options.jobs, walk: walk,
        staysForMore: forever, grace: .seconds(grace))
    } catch {
      try? await appContext.close()
      throw error
    }
    let exit: ReelExit
    do {
      exit = try await session.work(work, options: options)
    } catch {
      try? await work.end()
      throw error
    }
    try await work.end()
    try exit.end()
  }
}

/// Where the queue is: where the catalog is.
enum QueuePlace {
  /// - Throws: ``CommandFailure``.
  static func pool(_ settings: Settings) throws -> PostgresPool {
    guard case .server(let address, let library) = try CatalogPlace(settings) else {
      throw CommandFailure(
        .usage, "the queue is in a catalog that several machines share: name it with --catalog postgres://…")
    }
    return PostgresPool(address, library: library)
  }
}
