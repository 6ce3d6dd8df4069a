import ArgumentParser
import FoundationEssentials
import ReelCore
import ReelIngest
import ReelStorage
import ReelTerminal
import ReelUpkeep
import Synchronization

/// What the commands that change posts print.
struct ChangeOutput: ParsableArguments {
  @Flag(help: "Print JSON.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Write events as JSON lines to this file, to - (stdout) or to fd:N.", valueName: "file"),
    completion: .file())
  var events: String?

  /// Where the answer goes: to standard error where events occupy standard output.
  var stream: OutputStream {
    events.map { OutputStream.isStandardOutput(SourcePath($0)) } ?? false ? .standardError : .standardOutput
  }

  func report(
    _ kind: PostChange.Kind, isDryRun: Bool = false, of subjects: [String] = []
  ) -> ChangeReport {
    ChangeReport(
      kind, json: json, isDryRun: isDryRun, to: stream, wording: { FlagNames.put(into: $0) },
      hint: .ofThisProcess, subjects: RawArguments.paths(subjects))
  }
}

/// The options of commands that change posts where they are stored.
struct CredentialsOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The store that the available credentials are for, if it is not the one in the settings.",
      valueName: "destination"), completion: .directory, transform: RawArguments.place)
  var to: String?
}

/// `reel remove POST|FILE…`
struct RemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Take posts out of the feed, and their videos and posters out of the store.",
    discussion: """
      The posts are named by their ids or by their files, or chosen by --author, --since and --search. Their videos stay \
      known: ingesting one again answers `removed`, unless --again is given. With --keep the objects stay in the store for \
      a while, for reel restore; reel prune removes them after that. \
      Exit codes: 0 done · 3 some could not be removed · 1 could not run, or could not continue. The same command, or \
      reel prune, finishes what was begun.
      """,
    examples: [
      "reel remove clip.mp4 --reason \"no rights\"",
      "reel remove --author ada --keep 30d --dry-run",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup var credentials: CredentialsOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup(title: "Which posts") var filter: FilterOptions
  @OptionGroup var output: ChangeOutput

  @Option(
    help: ArgumentHelp("Why; remembered with the post.", valueName: "text"), transform: RawArguments.text)
  var reason: String?

  @Option(
    help: ArgumentHelp("Who removes it; remembered with the post.", valueName: "name"),
    transform: RawArguments.text)
  var by: String?

  @Option(
    help: ArgumentHelp(
      "Keep the objects for this long: 12h, 30d, 8w; a number alone is seconds.", valueName: "time"))
  var keep: TimeSpan?

  @Flag(help: "Show which posts would be removed without writing anything.")
  var dryRun = false

  @Argument(
    help: ArgumentHelp("Ids of posts, or their files.", valueName: "id|file"), completion: .file())
  var posts: [String] = []

  func validate() throws {
    try filter.requireEither(posts)
    // A user who gives a folder, which needs no credentials, means the posts in it, but would lose all the others, too.
    if posts.isEmpty, let to = credentials.to,
      DestinationAddress.kind(ofName: to)?.needsSecretOfItsOwn == false
    {
      throw ValidationError(
        "--to does not choose posts, it says which store the credentials are for: leave it out to remove what --author, --since "
          + "and --search choose from every store, or name the posts.")
    }
  }

  func run() async throws {
    var settings = try SettingsReader.read(flagsOf: self, file: library.config)
    settings.to = credentials.to ?? settings.to
    let removal = Removal(reason: reason, by: by, at: .now, keptUntil: keep.map { $0.end(after: .now) })
    let report = output.report(.removal(removal), isDryRun: dryRun, of: posts)
    let selection = PostSelection(
      subjects: RawArguments.paths(posts), filter: filter.postFilter, includesKept: true)
    let (isDryRun, keeps) = (dryRun, keep != nil)
    try await ChangeSession(settings: settings, events: dryRun ? nil : try EventTarget.open(output.events))
      .run(report) {
        changes, catalog in
        // No filter finds a post that an earlier, unfinished removal has taken out of the feed.
        if selection.subjects.isEmpty, !isDryRun {
          try await changes.resumeAll { try report.addCarriedOn($0, $1) }
        }
        let posts = try await selection.posts(in: catalog)
        if isDryRun {
          for post in posts { try await report.wouldRemove(post, keeping: keeps, in: catalog) }
          return
        }
        let kept = Mutex<[PostID]>([])
        try await changes.change(posts, .removal(removal)) { post, outcome in
          // Objects that an earlier removal kept are removed now, unless they are to be kept again.
          if case .removed(let removed) = outcome, removed.mayBeStored, !keeps {
            kept.withLock { $0.append(post) }
          } else {
            try report.add(post, outcome)
          }
        }
        try await changes.change(kept.withLock { $0 }, .purge) { try report.add($0, $1) }
      }
  }
}

/// `reel restore POST|FILE…`
struct RestoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Put removed posts back into the feed, at their old places.",
    discussion: """
      While its video is in the store (reel remove --keep) nothing else is needed; after that, --from names the original \
      file, or a folder that holds it. A poster that is gone is made again by reel poster --missing.
      """,
    examples: [
      "reel restore 01a1fdd6-be1e-750d-b5e1-0c01f1176e0f",
      "reel restore clip.mp4 --from ~/Videos",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup var credentials: CredentialsOptions
  @OptionGroup(title: "Stores") var viewing: ViewingOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var output: ChangeOutput

  @Option(
    help: ArgumentHelp("The original file, or a folder with it; can be repeated.", valueName: "path"),
    completion: .file())
  var from: [String] = []

  @Argument(
    help: ArgumentHelp("Ids of posts, or their files.", valueName: "id|file"), completion: .file())
  var posts: [String]

  func run() async throws {
    var settings = try SettingsReader.read(flagsOf: self, file: library.config)
    settings.to = credentials.to ?? settings.to
    var session = ChangeSession(settings: settings, events: try EventTarget.open(output.events))
    // A file that names a post has its bytes, so it can supply them.
    let subjects = RawArguments.paths(posts)
    let places = from.isEmpty ? subjects.filter { PostID($0.text) == nil } : try Sources.named(from)
    if !places.isEmpty {
      session.supply = FileRestoreSource(inputs: try await Sources.inputs(places, settings))
    }
    let report = output.report(.restoration)
    let selection = PostSelection(subjects: subjects, isOfRemoved: true)
    try await session.run(report) { changes, catalog in
      try await changes.change(try await selection.posts(in: catalog), .restoration) {
        try report.add($0, $1)
      }
    }
  }
}

/// `reel edit POST|FILE… --caption …`
struct EditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Change what posts say: caption, music, author's name, counts.",
    discussion: """
      An empty text ("") removes the present one. --likes and --shares are for apps that count elsewhere and write the \
      counts back. The author's id and the video are what make a post: they can't be changed.
      """,
    examples: [
      "reel edit clip.mp4 --caption \"First light\"",
      "reel edit 01a1fdd6-be1e-750d-b5e1-0c01f1176e0f --likes 12",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup var output: ChangeOutput

  @Option(
    help: ArgumentHelp("What is said about the video.", valueName: "text"), transform: RawArguments.text)
  var caption: String?

  @Option(help: ArgumentHelp("The music that goes with it.", valueName: "text"), transform: RawArguments.text)
  var music: String?

  @Option(
    help: ArgumentHelp("The name to show beside the video.", valueName: "name"), transform: RawArguments.text)
  var authorName: String?

  @Option(help: ArgumentHelp("The number of likes.", valueName: "n"))
  var likes: Int?

  @Option(help: ArgumentHelp("The number of shares.", valueName: "n"))
  var shares: Int?

  @Argument(
    help: ArgumentHelp("Ids of posts, or their files.", valueName: "id|file"), completion: .file())
  var posts: [String]

  private var edit: PostEdit {
    PostEdit(
      caption: caption, music: music, authorName: authorName, likeCount: likes, shareCount: shares)
  }

  func validate() throws {
    guard edit != PostEdit() else {
      throw ValidationError("say what to change: --caption, --music, --author-name, --likes or --shares.")
    }
    for count in [likes, shares].compactMap(\.self) where count < 0 {
      throw ValidationError("--likes and --shares are counts, from 0.")
    }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let (selection, edit) = (PostSelection(subjects: RawArguments.paths(posts)), edit)
    let report = output.report(.edit(edit))
    try await ChangeSession(settings: settings, events: try EventTarget.open(output.events)).run(report) {
      changes, catalog in
      try await changes.change(try await selection.posts(in: catalog), .edit(edit)) { try report.add($0, $1) }
    }
  }
}

/// `reel move POST|FILE… --to DESTINATION`
struct MoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "move",
    abstract: "Move posts to another store.",
    discussion: """
      Videos and posters are stored there and verified, then the posts show them there, under the ids and names that they \
      have, and only then they are removed here. (When a whole store has been moved already, reel relocate records it.)
      """,
    examples: [
      "reel move clip.mp4 --to s3://videos/",
      "reel move --author ada --to /srv/archive",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup(title: "Stores") var viewing: ViewingOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var output: ChangeOutput

  @Option(
    help: ArgumentHelp("Where to: \(DestinationHelp.kinds).", valueName: "destination"),
    completion: .directory, transform: RawArguments.place)
  var to: String

  @Option(
    help: ArgumentHelp(
      "The store that they are in, if the available credentials are for it, too.", valueName: "destination"),
    completion: .directory, transform: RawArguments.place)
  var from: String?

  @OptionGroup(title: "Which posts") var filter: FilterOptions

  @Argument(
    help: ArgumentHelp("Ids of posts, or their files.", valueName: "id|file"), completion: .file())
  var posts: [String] = []

  func validate() throws { try filter.requireEither(posts) }

  /// Whether the available credentials may be for the store `to`; otherwise they are for the one in the settings.
  private static func needsSecret(_ to: String) -> Bool {
    DestinationAddress.kind(ofName: to)?.needsSecretOfItsOwn ?? true
  }

  func run() async throws {
    var settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let named = settings.to
    settings.to = to
    var session = ChangeSession(settings: settings, events: try EventTarget.open(output.events))
    session.source = ChangeSession.Source(named: from ?? (Self.needsSecret(to) ? to : named))
    let target = try await session.destination(to)
    let report = output.report(.move(to: target))
    let selection = PostSelection(subjects: RawArguments.paths(posts), filter: filter.postFilter)
    try await session.run(report) { changes, catalog in
      try await changes.change(try await selection.posts(in: catalog), .move(to: target)) {
        try report.add($0, $1)
      }
    }
  }
}

/// `reel prune`
struct PruneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune",
    abstract:
      "Remove the videos and posters of removed posts whose keeping time is over, and finish interrupted changes.",
    discussion: """
      reel remove --keep says how long they are kept. The catalog also forgets what is no longer needed: what other \
      versions of Reel have read in files. Removed posts stay known. Run it from a timer, or now and then.
      """,
    examples: [
      "reel prune --dry-run",
      "reel prune",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup var credentials: CredentialsOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var output: ChangeOutput

  @Flag(help: "Show what would be removed without writing anything.")
  var dryRun = false

  func run() async throws {
    var settings = try SettingsReader.read(flagsOf: self, file: library.config)
    settings.to = credentials.to ?? settings.to
    let report = output.report(.purge, isDryRun: dryRun)
    let isDryRun = dryRun
    try await ChangeSession(settings: settings, events: dryRun ? nil : try EventTarget.open(output.events))
      .run(report) {
        changes, catalog in
        if isDryRun { return try await report.wouldPrune(catalog) }
        try await changes.resumeAll { try report.addCarriedOn($0, $1) }
        try await changes.purgeExpired(at: .now) { try report.add($0, $1) }
        report.note(forgotten: try await PostChanges.forgetReadings(in: catalog))
      }
  }
}

/// A length of time, as users write it.
struct TimeSpan: ExpressibleByArgument {
  let seconds: Double

  init?(argument: String) {
    guard let seconds = TimeText.seconds(argument), seconds > 0 else { return nil }
    self.seconds = min(seconds, 3e9)
  }

  func end(after moment: Date) -> Date { moment + seconds }
}
