import ArgumentParser
import ReelCatalogCopy
import ReelCore
import ReelTerminal

/// `reel catalog …`
struct CatalogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "catalog", abstract: "Copy a catalog to another place.", subcommands: [CopyCommand.self])

  /// `reel catalog copy FROM TO`
  struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "copy",
      abstract:
        "Copy a whole catalog between library folders and PostgreSQL servers, in either direction.",
      discussion: """
        Copies posts with their numbers, intents, posters, pending events, upload states and all that is remembered \
        of files, then reads both catalogs and compares them. FROM is only read, and must not be in use by \
        another process. TO must be empty; it becomes a catalog only when the copy is complete and has been compared. After \
        an interruption, run the same command again. No object is copied or moved. See docs/fleet.md. \
        Exit codes: 0 copied and compared · 1 not copied.
        """,
      examples: [
        "reel catalog copy /srv/reel postgres://reel@db.example/reel",
        "reel catalog copy postgres://reel@db.example/reel /srv/reel",
      ])

    @OptionGroup var terminal: TerminalOptions

    @OptionGroup var answer: AnswerOptions

    @Argument(
      help: "The catalog to copy: a library folder, or postgres://USER@HOST/DATABASE.",
      completion: .directory,
      transform: RawArguments.place)
    var from: String

    @Argument(
      help: "Where to: a folder without a catalog, or an empty database.", completion: .directory,
      transform: RawArguments.place)
    var to: String

    func run() async throws {
      let (source, target) = (try CatalogPlace(named: from), try CatalogPlace(named: to))
      guard try await !source.isSame(as: target) else {
        throw CommandFailure(.usage, "both are the catalog \(source.name): name another place for the copy")
      }
      let copy = CatalogCopy(from: try await source.copySource(), to: target.copyTarget())
      let result = try await BlockingQueue(label: "reel.catalog.copy", width: 1).run { try copy.run() }
      let view = CatalogCopyView(
        result, from: source.name, to: target.name, isShared: target.library == nil)
      try answer.tell(AnswerDocument(view)) { view.text($0) }
    }
  }
}
