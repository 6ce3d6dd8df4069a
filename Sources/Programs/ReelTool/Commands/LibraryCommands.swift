import ArgumentParser
import ReelCore
import ReelLibrary
import ReelPostgres
import ReelSource
import ReelTerminal

/// `reel status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show what the catalog holds, and which files failed and why.",
    examples: [
      "reel status",
      "reel status --json",
      "reel status --metrics --catalog postgres://reel@db.example/reel",
    ])

  @OptionGroup var library: LibraryOptions

  @OptionGroup var answer: AnswerOptions

  @Flag(help: "Print how the queue stands in Prometheus' text format, for a collector.")
  var metrics = false

  @Flag(help: "First forget which files failed, and why; those that fail again are listed again.")
  var forget = false

  func validate() throws {
    if answer.json, metrics { throw ValidationError("--json and --metrics exclude each other.") }
    if forget, metrics { throw ValidationError("--forget and --metrics exclude each other.") }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    if metrics {
      guard let queue = try await queue(settings) else { throw QueuePlace.absence }
      return try OutputStream.standardOutput.write(QueueMetrics(queue).text())
    }
    let place = try CatalogPlace(settings)
    if forget { try await forgetFailures(place) }
    let catalog = try await AppContext.reading(settings)
    var status = try await catalog?.status() ?? .empty
    // The files of a shared catalog may be on another machine.
    if case .library = place { status.leaveOutGoneFiles() }
    let view = StatusView(status, library: place.name)
    let queue = try await queue(settings).map { QueueView($0) }
    try answer.tell(StatusDocument(catalog: view, queue: queue).answer) {
      view.text($0) + (queue?.text($0) ?? "")
    }
  }

  private func forgetFailures(_ place: CatalogPlace) async throws {
    guard try await place.isThere() else { throw CommandFailure(.couldNotRun, place.absence) }
    let catalog = try await place.writing()
    do {
      _ = try await BlockingQueue(label: "reel.status", width: 1).run { () throws(CatalogError) in
        try catalog.forgetFailures()
      }
    } catch {
      try? await catalog.close()
      throw error
    }
    try await catalog.close()
  }

  /// The state of the queue in a shared catalog; nil where there is none.
  private func queue(_ settings: Settings) async throws -> QueueStatus? {
    guard case .server = try CatalogPlace(settings) else { return nil }
    let pool = try QueuePlace.pool(settings)
    defer { pool.close() }
    return try await BlockingQueue(label: "reel.status", width: 1).run { () throws(CatalogError) in
      try WorkQueue.status(pool) {
        LongWait.tell(
          "the queue is left out, which this user may not read: docs/fleet.md lists what to grant")
      }
    }
  }
}

extension CatalogStatus {
  /// Leaves out files that no longer exist, as they need nobody's attention.
  fileprivate mutating func leaveOutGoneFiles() {
    let count = failures.count
    failures.removeAll { path, _ in path.isGone }
    failureCount -= count - failures.count
  }

  /// The status of a library that does not exist yet.
  static let empty = CatalogStatus(
    posts: 0, bytes: 0, destinations: [], unfinished: 0, failures: [], failureCount: 0, schemaVersion: 0)
}

/// `reel backup -o FILE`
struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy the catalog to a new file, even while it is in use.",
    discussion: """
      The copy is whole and checked when it has its name. The videos are not in it: copy the store after the \
      catalog, then every post in the backup has its object. docs/backup.md says how to put both back.
      """,
    examples: [
      "reel backup -o catalog-copy.sqlite",
      "reel backup -o /mnt/backup/catalog.sqlite --library /srv/reel",
    ])

  @OptionGroup var library: LibraryOptions

  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp("The new file. An existing file is never replaced.", valueName: "file"),
    completion: .file(), transform: RawArguments.place)
  var output: String?

  @OptionGroup var former: FormerPlace

  @OptionGroup var answer: AnswerOptions

  /// What was copied, and to which file.
  private struct Answer: Encodable {
    let library: String
    let file: String
  }

  func validate() throws {
    try former.check(output, missing: "say where the copy goes: -o FILE.")
  }

  func run() async throws {
    let file = former.or(output)
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let path = try CatalogPlace(settings).needingLibrary(
      "copy its database with pg_dump, or a running copy of it")
    guard let library = try await LibraryFolder.existing(at: path) else {
      throw CatalogError(.unusable, "there is no library at \(path): name another with --library")
    }
    try await CatalogBackup.write(of: library, to: file)
    try answer.tell(AnswerDocument(Answer(library: path, file: file))) {
      $0.text(["the catalog of \(path) is in \(file)"])
    }
  }
}

/// `reel relocate OLD NEW`
struct RelocateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relocate",
    abstract: "Record in the catalog that a store has moved from OLD to NEW.",
    discussion: """
      Move the store first, with any tool that moves folders or buckets. Every post's object is looked up in NEW; the \
      catalog is changed, in one step, only if all are there with the right length. No object is touched. \
      The library's own store needs this only if it was moved out of the library. \
      Exit codes: 0 done · 3 an object is missing or damaged in NEW · 1 could not check, or can't be done. Unless the \
      exit code is 0, nothing was changed.
      """,
    examples: [
      "reel relocate /srv/media /mnt/media",
      "reel relocate /srv/media s3://videos/ --read",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup(title: "Stores") var viewing: ViewingOptions
  @OptionGroup var store: StoreOptions

  @Flag(help: "Read every object in NEW and compare its digest, not only its length.")
  var read = false

  @OptionGroup var answer: AnswerOptions

  @Option(
    help:
      "Videos that have posts in both OLD and NEW: skip changes nothing, allow keeps both posts."
  )
  var duplicates: DuplicateHandling = .skip

  @Argument(
    help: "Where it was: its address, or the name that `reel status` gives it.",
    completion: .directory, transform: RawArguments.place)
  var old: String

  @Argument(
    help: "Where it is now: \(DestinationHelp.kinds).", completion: .directory, transform: RawArguments.place)
  var new: String

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let session = RelocationSession(
      settings: settings, old: old, new: new, readsObjects: read, duplicates: duplicates, json: answer.json)
    try await session.run().end()
  }
}

/// `reel cache`
struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Show the size of the cache of digests and probe results; `reel cache clear` empties it.",
    discussion: "Posts are never in the cache. What is forgotten is read again when it is needed.",
    subcommands: [Show.self, Clear.self], defaultSubcommand: Show.self)

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show how large the cache is.",
      examples: [
        "reel cache show",
        "reel cache show --json",
      ])

    @OptionGroup var library: LibraryOptions

    @OptionGroup var answer: AnswerOptions

    func run() async throws {
      try await CacheCommand.tell(library, answer, cleared: false) { catalog throws(CatalogError) in
        try await catalog.cacheStatus()
      }
    }
  }

  struct Clear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear", abstract: "Empty the cache, and print how much space was freed.",
      examples: [
        "reel cache clear",
        "reel cache clear --json",
      ])

    @OptionGroup var library: LibraryOptions

    @OptionGroup var answer: AnswerOptions

    func run() async throws {
      try await CacheCommand.tell(library, answer, cleared: true) { catalog throws(CatalogError) in
        try await catalog.clearCache()
      }
    }
  }

  private static func tell(
    _ library: LibraryOptions, _ answer: AnswerOptions, cleared: Bool,
    _ ask: (any PostCatalog) async throws(CatalogError) -> CacheStatus
  ) async throws {
    let settings = try SettingsReader.read(flagsOf: library, file: library.config)
    let catalog: (any PostCatalog)? =
      cleared ? try await AppContext.existing(settings) : try await AppContext.reading(settings)
    var status = CacheStatus(files: 0, readings: 0, bytes: 0)
    if let catalog {
      status = try await ask(catalog)
      try await catalog.close()
    }
    let view = CacheView(status, cleared: cleared)
    try answer.tell(AnswerDocument(view)) { view.text($0) }
  }
}
