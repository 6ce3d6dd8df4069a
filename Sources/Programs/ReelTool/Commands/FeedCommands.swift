import ArgumentParser
import FoundationEssentials
import ReelCore
import ReelTerminal
import ReelUpkeep

/// `reel feed`
struct FeedCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "feed",
    abstract: "List posts, newest first, a page at a time.",
    discussion: """
      --before takes the cursor that a page prints, and gives the page after it. --from P --size N gives the posts \
      with the numbers P, P + 1, … up to P + N - 1, oldest first, as the feed apps ask. In JSON, `next` is what the \
      same option takes for the next page (--before, or --from where it was given), as a text; null where there is none.

      --presign prints new signed URLs for the posts in one S3 bucket, the one that --to or the setting names, instead of \
      the URLs that they were published with. The catalog is not changed.
      """,
    examples: [
      "reel feed",
      "reel feed --author ada --since 7d",
      "reel feed --size 100 --json",
    ])

  @OptionGroup var library: LibraryOptions

  @Option(help: ArgumentHelp("Posts per page, 1 to 1000.", valueName: "n"))
  var size = 20

  @Option(help: ArgumentHelp("Begin after the page that printed this cursor.", valueName: "cursor"))
  var before: String?

  @Option(
    help: ArgumentHelp("Begin with the post of this number; oldest first.", valueName: "number")
  )
  var from: Int?

  @OptionGroup(title: "Which posts") var filter: FilterOptions

  @Flag(help: "Print {\"v\":1, \"posts\":[…], \"next\":…}.")
  var json = false

  @OptionGroup(title: "Signed URLs") var signing: SigningOptions

  func validate() throws {
    if signing.presign != nil, !json {
      throw ValidationError("--presign goes with --json: the table shows no URLs.")
    }
    guard (1...1000).contains(size) else { throw ValidationError("--size must be a number from 1 to 1000.") }
    if before != nil, from != nil { throw ValidationError("--before and --from exclude each other.") }
    if let before, FeedCursor(before) == nil {
      throw ValidationError("--before takes a cursor that a page printed.")
    }
    if from != nil, filter.postFilter != PostFilter() {
      throw ValidationError("--from gives all posts: --author, --since and --search do not go with it.")
    }
    if let from, from < 1 { throw ValidationError("--from must be the number of a post, counted from 1.") }
  }

  func run() async throws {
    var flags = Settings(flagsOf: self)
    flags.to = signing.to
    let settings = try SettingsReader.read(flags: flags, file: library.config)
    let signing = try await signing.signing(settings)
    let catalog = try await AppContext.reading(settings)
    var (page, order) = try await page(catalog)
    if let signing, let catalog { page = try await signed(page, signing, catalog) }
    try OutputStream.standardOutput.answer(json: json, AnswerDocument(FeedDocument(page))) {
      FeedTable.text(
        page, order: order, size: size, filter: filter.text, in: try CatalogPlace(settings).name,
        hint: .ofThisProcess, $0)
    }
  }

  private func signed(
    _ page: FeedPage, _ signing: PostSigning, _ catalog: any PosterAdding
  ) async throws -> FeedPage {
    let (signed, elsewhere) = try await signing.signed(page, catalog)
    guard elsewhere > 0 else { return signed }
    let posts = HumanNumber.count(elsewhere, "post is", "posts are")
    OutputStream.mention("\(posts) not in \(signing.destination): their URLs are those of publishing")
    return signed
  }

  private func page(_ catalog: (any PostCatalog)?) async throws -> (FeedPage, FeedTable.Order) {
    guard let catalog else { return (FeedPage(posts: [], next: nil), .newest(before: nil)) }
    if let from {
      let (page, last) = try await catalog.page(from: from, size: size)
      return (page, .oldest(from: from, last: last))
    }
    let cursor = before.flatMap { FeedCursor($0) }
    let page = try await catalog.newestPosts(matching: filter.postFilter, before: cursor, limit: size)
    return (page, .newest(before: cursor))
  }
}

/// Which posts a command is about.
struct FilterOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Only posts of the author with this id.", valueName: "id"),
    transform: RawArguments.text)
  var author: String?

  @Option(
    help: ArgumentHelp(
      "Only posts published since then: a day or a time (2026-11-22, 2026-11-22T10:00:00Z; UTC), or how long ago (90m, 12h, 7d).",
      valueName: "time"))
  var since: SinceTime?

  @Option(
    help: ArgumentHelp(
      "Only posts with all of these words (or their beginnings) in caption, music, author's name or file name.",
      valueName: "text"), transform: RawArguments.text)
  var search: String?

  /// Requires that posts are either named, or chosen by these options.
  func requireEither(_ posts: [String]) throws {
    guard posts.isEmpty == (postFilter != PostFilter()) else {
      throw ValidationError(
        posts.isEmpty
          ? "name the posts, by their ids or files, or choose them by --author, --since or --search."
          : "either name posts, or choose them by --author, --since and --search.")
    }
  }

  var postFilter: PostFilter { PostFilter(authorID: author, since: since?.date, text: search) }

  /// The options as they are written on a command line; empty if there are none.
  var text: String {
    [("--author", author), ("--since", since?.text), ("--search", search)]
      .compactMap { name, value in value.map { " \(name)=\(ShellWord.quoted(value: $0))" } }.joined()
  }
}

/// A past moment, given as a time or as a length of time before now.
struct SinceTime: ExpressibleByArgument {
  let date: Date
  /// In ISO 8601: an absolute time, so that it means the same for the next page.
  var text: String { date.formatted(.iso8601) }

  init?(argument: String) {
    if let date = ISOTime.dayOrTime(argument) {
      self.date = date
    } else {
      guard let seconds = TimeText.seconds(argument) else { return nil }
      // Nothing was published before 1970.
      date = max(Date(timeIntervalSince1970: 0), Date(timeIntervalSinceNow: -seconds))
    }
  }
}

/// `reel show ID|FILE`
struct ShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show one post in full, by its id or by the file it was made from.",
    discussion: """
      A file is looked up by its contents, whatever its name: the post may have been made from a copy. If a video was \
      published several times, all its posts are shown, oldest first. Where there is none, posts that were removed are \
      shown, and why, when and by whom. If there is no such post, the exit code is 1.
      """,
    examples: [
      "reel show clip.mp4",
      "reel show 01a1fdd6-be1e-750d-b5e1-0c01f1176e0f --json",
    ])

  @OptionGroup var library: LibraryOptions

  @Flag(help: "Print the post as JSON; {\"posts\": […]}, if a file has several.")
  var json = false

  @Argument(
    help: ArgumentHelp("The post's id, as the feed prints it, or a video.", valueName: "id|file"),
    completion: .file())
  var subject: String

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let path = RawArguments.path(subject)
    let catalog = try await AppContext.reading(settings)
    let (posts, removed) = try await found(path, catalog, settings)
    if posts.isEmpty, removed.isEmpty { throw try await absence(path, settings) }
    try tell(posts, removed)
  }

  private func found(
    _ path: SourcePath, _ catalog: (any WholeCatalog)?, _ settings: Settings
  ) async throws -> ([Post], [RemovedPost]) {
    do {
      return try await PostSelection.meant(by: path, in: catalog)
    } catch let obstacle as PostSelection.Obstacle {
      // A file that is not on this machine may have been another machine's.
      guard let item = try await QueuePlace.said(of: path, settings) else { throw obstacle }
      throw CommandFailure(.couldNotRun, "\(obstacle.told); \(item)")
    }
  }

  private func absence(
    _ path: SourcePath, _ settings: Settings
  ) async throws -> CommandFailure {
    guard PostID(subject) == nil else {
      return CommandFailure(
        .couldNotRun, "there is no post \(subject) in this library; reel feed lists its posts")
    }
    let item = try await QueuePlace.said(of: path, settings).map { ": " + $0 } ?? ""
    return CommandFailure(.couldNotRun, "no post in this library was made from \(path.text)\(item)")
  }

  private func tell(_ posts: [Post], _ removed: [RemovedPost]) throws {
    let output = OutputStream.standardOutput
    guard json else {
      let traits = output.traits
      let cards = posts.map { PostSummary.text($0, traits) } + removed.map { PostSummary.text($0, traits) }
      return try output.write(cards.joined(separator: "\n"))
    }
    if posts.count > 1 {
      try output.answer(AnswerDocument(["posts": posts]))
    } else if removed.count > 1 {
      try output.answer(AnswerDocument(["posts": removed]))
    } else if let post = posts.first {
      try output.answer(AnswerDocument(post))
    } else if let removed = removed.first {
      try output.answer(AnswerDocument(removed))
    }
  }
}
