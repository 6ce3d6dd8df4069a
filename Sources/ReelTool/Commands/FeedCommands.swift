import ArgumentParser
import ReelCore
import ReelIngest
import ReelLibrary
import ReelTerminal

/// `reel feed`
struct FeedCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "feed",
    abstract: "List posts, newest first, a page at a time.",
    discussion: """
      --before takes the cursor that a page prints, and gives the page after it. --from P gives the posts with \
      pageNumber from P on, in order, as the feed apps ask.
      """)

  @OptionGroup var library: LibraryOptions

  @Option(help: ArgumentHelp("Posts per page, 1 to 1000.", valueName: "n"))
  var size = 20

  @Option(help: ArgumentHelp("Begin after the page that printed this cursor.", valueName: "cursor"))
  var before: String?

  @Option(help: ArgumentHelp("Begin with this page number, oldest first.", valueName: "page number"))
  var from: Int?

  @Flag(help: "Print {\"v\":1, \"posts\":[…], \"next\":…}.")
  var json = false

  func validate() throws {
    guard (1...1000).contains(size) else { throw ValidationError("--size is a number from 1 to 1000.") }
    if before != nil, from != nil { throw ValidationError("--before and --from exclude each other.") }
    if let before, FeedCursor(before) == nil {
      throw ValidationError("--before takes a cursor that a page printed.")
    }
    if let from, from < 1 { throw ValidationError("--from is a page number, counted from 1.") }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flags: Settings(library), file: library.config)
    let page = try await page(try await AppContext.reading(settings))
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(
      json
        ? FeedDocument(page).json(pretty: traits.isTerminal)
        : FeedTable.text(page, size: size, hint: CommandHint(library: library.library), traits))
  }

  private func page(_ catalog: (any PostCatalog)?) async throws -> FeedPage {
    guard let catalog else { return FeedPage(posts: [], next: nil) }
    do throws(CatalogError) {
      if let from {
        return FeedPage(posts: try await catalog.posts(from: from, count: size), next: nil)
      }
      return try await catalog.newestPosts(before: before.flatMap { FeedCursor($0) }, limit: size)
    } catch {
      throw CommandFailure(error)
    }
  }
}

/// `reel show ID`
struct ShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "One post, whole.")

  @OptionGroup var library: LibraryOptions

  @Flag(help: "Print the post as JSON.")
  var json = false

  @Argument(help: "The post's id, as the feed prints it.", transform: RawArguments.text)
  var id: String

  func validate() throws {
    if PostID(id) == nil { throw ValidationError("\"\(id)\" is not a post id; reel feed prints them.") }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flags: Settings(library), file: library.config)
    guard let post = try await post(try await AppContext.reading(settings)) else {
      throw CommandFailure(
        .couldNotRun, "there is no post \(id) in this library; reel feed lists what there is")
    }
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(
      json ? JSONOutput.text(post, pretty: traits.isTerminal) : PostSummary.text(post, traits))
  }

  private func post(_ catalog: (any PostCatalog)?) async throws -> Post? {
    guard let catalog, let id = PostID(id) else { return nil }
    do throws(CatalogError) {
      return try await catalog.post(id)
    } catch {
      throw CommandFailure(error)
    }
  }
}
