import ArgumentParser
import FoundationEssentials
import ReelCore
import ReelPostgres
import ReelSource
import ReelTerminal

/// `reel queue`
struct QueueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queue",
    abstract: "Look at the items of the queue, and steer them: retry, cancel, pause, limit, prune.",
    subcommands: [
      List.self, Show.self, Retry.self, Cancel.self, Priority.self, Pause.self, Resume.self, Limit.self,
      Prune.self,
    ])

  /// `reel queue list`
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List items in the order in which they were enqueued, each on a line.",
      examples: [
        "reel queue list --state failed",
        "reel queue list --label import --since 2h --json",
      ])

    @OptionGroup var library: LibraryOptions
    @OptionGroup var choice: ItemOptions

    @Option(help: ArgumentHelp("List at most this many items.", valueName: "n"))
    var size: Int?

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Print one JSON object per line, for each item.")
    var jsonl = false

    func validate() throws {
      if json, jsonl { throw ValidationError("--json and --jsonl exclude each other.") }
      if let size, size < 1 { throw ValidationError("--size must be a number from 1.") }
    }

    func run() async throws {
      let settings = try SettingsReader.read(flagsOf: self, file: library.config)
      let filter = try choice.filter([])
      let traits = TerminalTraits.standardOutput()
      var (last, left) = (Int64(0), size ?? Int.max)
      var answer = AnswerStream("items")
      while left > 0 {
        let place = last
        let count = min(left, 1000)
        let items: [QueuedItem]
        do {
          items = try await QueuePlace.looking(settings) { queue throws(CatalogError) in
            try queue.items(filter, after: place, upTo: count)
          }
        } catch {
          // The JSON document was begun and must be completed.
          if json, answer.isBegun {
            try OutputStream.standardOutput.write(answer.end(NoKeys(), problems: [.couldNotGoOn(error)]))
          }
          throw error
        }
        guard let end = items.last else { break }
        let views = items.map { QueuedItemView($0) }
        try OutputStream.standardOutput.write(
          try views.map {
            json ? try answer.text($0) : jsonl ? try JSONOutput.text($0) : $0.line(traits)
          }.joined())
        (last, left) = (end.id, left - items.count)
      }
      if json { try OutputStream.standardOutput.write(answer.end(NoKeys())) }
    }
  }

  /// `reel queue show ITEM`
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show an item and its history: who took it when, how that ended, and when it is tried again.",
      examples: [
        "reel queue show 42",
        "reel queue show /mnt/clips/clip.mp4",
      ])

    @OptionGroup var library: LibraryOptions

    @OptionGroup var answer: AnswerOptions

    @Argument(
      help: ArgumentHelp("The item's number, its path or its address.", valueName: "item"),
      completion: .file())
    var item: String

    func run() async throws {
      let filter = try ItemOptions.named([item])
      let found = try await QueuePlace.looking(library.settings()) { queue throws(CatalogError) in
        var found: [(QueuedItem, [ItemHappening])] = []
        for item in try queue.items(filter, upTo: 100) {
          found.append((item, try queue.history(of: item.id)))
        }
        return found
      }
      if found.isEmpty {
        throw CommandFailure(.couldNotRun, QueuePlace.absence(of: item))
      }
      let views = found.map { QueuedItemView($0.0, history: $0.1) }
      try answer.tell(AnswerDocument(["items": views])) { traits in
        views.map { $0.text(traits) }.joined(separator: "\n")
      }
    }
  }

  /// `reel queue retry`
  struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry",
      abstract:
        "Put back items that failed or were set aside, refused or cancelled, as if they had never been tried.",
      discussion: """
        By default: all items that failed or were set aside. Refused items are put back only if they are selected by --state \
        refused, by --code, or by name; they are judged again, by the policy that they were enqueued with, or else by their \
        worker's.
        """,
      examples: [
        "reel queue retry 42",
        "reel queue retry --code timeout --dry-run",
      ])

    @OptionGroup var library: LibraryOptions
    @OptionGroup var steering: SteeringOptions

    func run() async throws {
      var filter = try steering.filter()
      if filter.states == nil, filter.codes == nil, filter.policies == nil, steering.items.isEmpty {
        filter.states = [.failed, .setAside]
      }
      // Cancelled items are put back only if they are asked for.
      if !steering.choice.state.contains(.cancelled), steering.items.isEmpty { filter.areCancelled = false }
      try await steering.steer(.retry, filter, library, (did: "to be retried", would: "would be retried"))
    }
  }

  /// `reel queue cancel`
  struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "cancel",
      abstract:
        "Keep waiting items from being taken; one that is already taken is finished, but not tried again.",
      examples: [
        "reel queue cancel 42",
        "reel queue cancel --label import",
      ])

    @OptionGroup var library: LibraryOptions
    @OptionGroup var steering: SteeringOptions

    func run() async throws {
      try await steering.steer(
        .cancel, steering.filter(needed: "cancel"), library, (did: "cancelled", would: "would be cancelled"))
    }
  }

  /// `reel queue priority N`
  struct Priority: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "priority",
      abstract: "Give items that have not ended another priority; higher ones are taken first.",
      examples: [
        "reel queue priority 10 42",
        "reel queue priority 10 --label import",
      ])

    @OptionGroup var library: LibraryOptions
    @Argument(
      help: ArgumentHelp("The new priority; items are enqueued with 0 unless told otherwise.", valueName: "n")
    )
    var priority: ItemPriority
    @OptionGroup var steering: SteeringOptions

    func run() async throws {
      let number = priority.value
      try await steering.steer(
        .priority(number), steering.filter(needed: "change"), library,
        (did: "given priority \(number)", would: "would be given priority \(number)"))
    }
  }

  /// `reel queue pause [LABEL]`
  struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "pause",
      abstract: "Stop workers from taking items of a label, or any items; those already taken are finished.",
      examples: [
        "reel queue pause",
        "reel queue pause import",
      ])

    @OptionGroup var options: ThrottleOptions

    func run() async throws {
      try await options.throttle(.paused) { queue, label throws(CatalogError) in try queue.pause(label) }
    }
  }

  /// `reel queue resume [LABEL]`
  struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resume", abstract: "End the pause of a label, or the one of everything.",
      examples: [
        "reel queue resume",
        "reel queue resume import",
      ])

    @OptionGroup var options: ThrottleOptions

    func run() async throws {
      try await options.throttle(.resumed) { queue, label throws(CatalogError) in try queue.resume(label) }
    }
  }

  /// `reel queue limit N [LABEL]`
  struct Limit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "limit",
      abstract: "Let at most N items of a label, or of all, be taken at once; none for any number.",
      examples: [
        "reel queue limit 4 import",
        "reel queue limit none import",
      ])

    @Argument(help: ArgumentHelp("How many, or none.", valueName: "n"))
    var most: ItemLimit
    @OptionGroup var options: ThrottleOptions

    func run() async throws {
      let most = most.count
      try await options.throttle(.limited(most)) { queue, label throws(CatalogError) in
        try queue.limit(label, to: most)
      }
    }
  }

  /// `reel queue prune --older-than AGE`
  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "prune",
      abstract: "Forget items that ended a while ago: those that are done, or in the states of --state.",
      discussion: """
        Posts stay. Listed again, a file that was done is enqueued again, and found to be a post; one that was refused or \
        failed is tried again.
        """,
      examples: [
        "reel queue prune --older-than 90d",
        "reel queue prune --older-than 30d --state done --dry-run",
      ])

    @OptionGroup var library: LibraryOptions

    @Option(help: ArgumentHelp("Only what ended longer ago: 12h, 90d, 8w.", valueName: "age"))
    var olderThan: TimeSpan

    @OptionGroup var steering: SteeringOptions

    func validate() throws {
      if let state = steering.choice.state.first(where: { !$0.isEnd }) {
        throw ValidationError("items in the state \(state.name) have not ended and can't be pruned.")
      }
    }

    func run() async throws {
      let settings = try library.settings()
      var filter = try steering.filter()
      if filter.states == nil, steering.items.isEmpty { filter.states = [.done] }
      let (meant, age, dryRun) = (filter, Duration.seconds(olderThan.seconds), steering.dryRun)
      let found = try await QueuePlace.changing(settings, dryRun: dryRun) { queue throws(CatalogError) in
        let count = try queue.prune(meant, endedBefore: age, dryRun: dryRun)
        return (count: count, firstEnd: count == 0 ? try queue.firstEnd(meant) : nil)
      }
      let count = found?.count ?? 0
      let first = found?.firstEnd.map { "; the first ended \(QueuedItemView.time($0))" } ?? ""
      let reason = count > 0 ? "" : ": none of the selected items ended that long ago\(first)"
      try await steering.tell(
        count, settings,
        (did: "forgotten\(reason)", would: "would be forgotten\(reason)"))
    }
  }
}

extension ItemState: ExpressibleByArgument {
  package init?(argument: String) {
    guard let state = ItemState.allCases.first(where: { $0.name == argument }) else { return nil }
    self = state
  }

  package static var allValueStrings: [String] { allCases.map(\.name) }
}

/// A priority. The parser takes a number below 0 for an option, unless it has the minus sign of
/// ``RawArguments/readingPriority(_:)``.
struct ItemPriority: ExpressibleByArgument {
  let value: Int

  init?(argument: String) {
    guard let value = Int(argument.replacing(RawArguments.minus, with: "-")) else { return nil }
    self.value = value
  }
}

/// A number of items, or no limit.
struct ItemLimit: ExpressibleByArgument {
  /// Nil for no limit.
  let count: Int?

  init?(argument: String) {
    if argument == "none" {
      count = nil
      return
    }
    guard let count = Int(argument), count >= 0 else { return nil }
    self.count = count
  }
}

/// A label on the command line.
enum LabelArgument {
  static func parsed(_ argument: String) throws -> String {
    guard QueueLabel.isValid(argument) else { throw ValidationError("a label is \(QueueLabel.words).") }
    return argument
  }
}

/// Which items are meant.
struct ItemOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Items in this state: waiting, taken, later, done, refused, failed, setAside or cancelled; can be repeated.",
      valueName: "state"))
  var state: [ItemState] = []

  @Option(help: ArgumentHelp("Items whose last failure has this code; can be repeated.", valueName: "code"))
  var code: [String] = []

  @Option(
    help: ArgumentHelp("Items of this label; can be repeated.", valueName: "label"),
    transform: LabelArgument.parsed)
  var label: [String] = []

  @Option(
    help: ArgumentHelp(
      "Items that were decided by this policy, as reel queue show names it; can be repeated.",
      valueName: "policy"))
  var decidedBy: [String] = []

  @Option(
    help: ArgumentHelp(
      "Items that have changed since then: a day or a time (2026-11-22, 2026-11-22T10:00:00Z; UTC), or how long ago (90m, 12h, 7d).",
      valueName: "time"))
  var since: SinceTime?

  @Option(
    help: ArgumentHelp("Items below this folder or address; can be repeated.", valueName: "path|address"),
    completion: .directory)
  var path: [String] = []

  /// - Parameters:
  ///   - named: numbers, paths or addresses of items.
  ///   - verb: what is to be done to them, where the user has to choose some.
  func filter(_ named: [String], needed verb: String? = nil) throws -> ItemFilter {
    var filter = try Self.named(named)
    if !state.isEmpty { filter.states = state }
    if !code.isEmpty { filter.codes = code }
    if !label.isEmpty { filter.labels = label }
    if !decidedBy.isEmpty { filter.policies = decidedBy }
    filter.since = since?.date
    if !path.isEmpty {
      if filter.places != nil { throw ValidationError("either name items, or choose them by --path.") }
      filter.places = Self.places(path)
    }
    if let verb, filter.isEmpty {
      throw ValidationError(
        "name the items to \(verb), or choose them by --state, --code, --label, --since or --path; --state waiting selects all waiting items."
      )
    }
    return filter
  }

  /// The items of these numbers, or of these paths and addresses.
  static func named(_ named: [String]) throws -> ItemFilter {
    var filter = ItemFilter()
    if named.isEmpty { return filter }
    let numbers = named.compactMap { Int64($0) }
    guard numbers.isEmpty || numbers.count == named.count else {
      throw ValidationError(
        "name items either by their numbers or by paths and addresses; ./2026 is a file of that name.")
    }
    if numbers.isEmpty { filter.places = places(named) } else { filter.items = numbers }
    return filter
  }

  private static func places(_ named: [String]) -> [SourcePath] {
    RawArguments.paths(named).map(WorkingFolder.canonical)
  }
}

/// Which items are changed, and how the changes are reported.
struct SteeringOptions: ParsableArguments {
  @OptionGroup var choice: ItemOptions

  @Flag(help: "Show how many items would be affected, and change nothing.")
  var dryRun = false

  @Flag(help: "Print the result as JSON.")
  var json = false

  @Argument(
    help: ArgumentHelp("Items, by their numbers, paths or addresses.", valueName: "item"), completion: .file()
  )
  var items: [String] = []

  /// - Parameter verb: what is to be done to the items, where the user has to choose some.
  func filter(needed verb: String? = nil) throws -> ItemFilter { try choice.filter(items, needed: verb) }

  func steer(
    _ what: Steering, _ filter: ItemFilter, _ library: LibraryOptions, _ words: (did: String, would: String)
  ) async throws {
    let (settings, dryRun) = (try library.settings(), dryRun)
    let count = try await QueuePlace.changing(settings, dryRun: dryRun) { queue throws(CatalogError) in
      guard dryRun else { return try queue.steer(what, filter) }
      var filter = filter
      filter.states = filter.states.map { $0.filter(what.states.contains) } ?? what.states
      return try queue.count(filter)
    }
    try await tell(count ?? 0, settings, words)
  }

  /// Reports how many items were changed, and which of the named ones do not exist.
  func tell(
    _ count: Int, _ settings: Settings, _ words: (did: String, would: String)
  ) async throws {
    let missing = try await missing(tellsOthers: count == 0, settings)
    let view = SteeringView(items: count, dryRun: dryRun)
    try OutputStream.standardOutput.answer(json: json, AnswerDocument(view, problems: missing)) {
      $0.text(["\(HumanNumber.count(count, "item", "items")) \(dryRun ? words.would : words.did)"])
    }
    for problem in missing { CommandFailure(.couldNotRun, problem.message).tell() }
    if !missing.isEmpty { try ReelExit.couldNotRun.end() }
  }

  /// The problems of named items that do not exist.
  /// - Parameter tellsOthers: whether nothing was changed, so that the first few items that do exist are described on
  ///   stderr.
  private func missing(tellsOthers: Bool, _ settings: Settings) async throws -> [AnswerProblem] {
    let filters = try items.map { try ItemOptions.named([$0]) }
    let found = try await QueuePlace.looking(settings) { queue throws(CatalogError) in
      try filters.map { filter throws(CatalogError) in try queue.items(filter, upTo: 3) }
    }
    for item in tellsOthers ? Array(found.joined().prefix(3)) : [] {
      try? OutputStream.standardError.tell([QueuedItemView(item).sentence(.ofThisProcess)])
    }
    return zip(items, found).filter(\.1.isEmpty).map { name, _ in
      AnswerProblem("notFound", QueuePlace.absence(of: name), subject: RawArguments.path(name).text)
    }
  }

  private struct SteeringView: Encodable {
    let items: Int
    let dryRun: Bool
  }
}

/// The part of the queue that is paused or limited.
struct ThrottleOptions: ParsableArguments {
  @OptionGroup var library: LibraryOptions

  @Flag(help: "Print the result as JSON.")
  var json = false

  @Argument(
    help: ArgumentHelp("A label; \"\" for items without one. Without it: everything.", valueName: "label"),
    transform: LabelArgument.parsed)
  var label: String?

  /// Makes a change, and reports what holds now.
  func throttle(
    _ change: ThrottledView.Change,
    _ body: @escaping @Sendable (WorkQueue, String?) throws(CatalogError) -> Void
  ) async throws {
    let label = label
    var filter = ItemFilter()
    filter.states = [.waiting, .later]
    filter.labels = label.map { [$0] }
    let meant = filter
    let told = try await QueuePlace.changing(library.settings()) { queue throws(CatalogError) in
      try body(queue, label)
      return (count: try queue.count(meant), throttles: try queue.throttles())
    }
    guard let told else { return }
    let view = ThrottledView(change, of: label, waiting: told.count, throttles: told.throttles)
    try OutputStream.standardOutput.answer(json: json, AnswerDocument(view)) { view.text($0) }
  }
}

extension QueuePlace {
  /// The message about an item that does not exist.
  static func absence(of name: String) -> String {
    "there is no item \(RawArguments.path(name).text) in the queue; "
      + "`\(CommandHint.ofThisProcess.text("queue list"))` lists them"
  }

  /// The state of the item of a file that has no post; nil where there is no queue, or no such item.
  static func said(of path: SourcePath, _ settings: Settings) async throws -> String? {
    guard case .server = try CatalogPlace(settings) else { return nil }
    var filter = ItemFilter()
    filter.places = [WorkingFolder.canonical(path)]
    let asked = filter
    let items = try? await changing(settings, dryRun: true) { queue throws(CatalogError) in
      try queue.items(asked, upTo: 100)
    }
    return items?.last.map { "its \(QueuedItemView($0).sentence(.ofThisProcess))" }
  }

  /// Passes the existing queue to `body`.
  static func looking<Value: Sendable>(
    _ settings: Settings, _ body: @escaping @Sendable (WorkQueue) throws(CatalogError) -> Value
  ) async throws -> Value {
    guard let value = try await changing(settings, dryRun: true, body) else {
      throw CommandFailure(.couldNotRun, try CatalogPlace(settings).absence)
    }
    return value
  }

  /// Passes the queue to `body`. Unless it is a dry run, creates the queue where there is none.
  /// - Returns: nil in a dry run without a queue.
  @discardableResult
  static func changing<Value: Sendable>(
    _ settings: Settings, dryRun: Bool = false,
    _ body: @escaping @Sendable (WorkQueue) throws(CatalogError) -> Value
  ) async throws -> Value? {
    let pool = try pool(settings)
    defer { pool.close() }
    return try await BlockingQueue(label: "reel.queue", width: 1).run { () throws(CatalogError) in
      guard dryRun else { return try body(try WorkQueue(pool)) }
      guard let queue = try WorkQueue.existing(pool) else { return nil }
      return try body(queue)
    }
  }
}
