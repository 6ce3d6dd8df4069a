import ArgumentParser
import ReelCore
import ReelTerminal

/// `reel cache`
struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "How large the memory of digests and readings is; reel cache clear forgets it.",
    discussion: "Posts are never in the cache. What is forgotten is read again when it is needed.",
    subcommands: [Show.self, Clear.self], defaultSubcommand: Show.self)

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "How large it is.")

    @OptionGroup var library: LibraryOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
      try await CacheCommand.print(library, json: json, cleared: false) { catalog throws(CatalogError) in
        try await catalog.cacheStatus()
      }
    }
  }

  struct Clear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear", abstract: "Forget it, and say how much was freed.")

    @OptionGroup var library: LibraryOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
      try await CacheCommand.print(library, json: json, cleared: true) { catalog throws(CatalogError) in
        try await catalog.clearCache()
      }
    }
  }

  private static func print(
    _ library: LibraryOptions, json: Bool, cleared: Bool,
    _ ask: (any PostCatalog) async throws(CatalogError) -> CacheStatus
  ) async throws {
    let settings = try SettingsReader.read(flags: Settings(library), file: library.config)
    let catalog = cleared ? try await AppContext.existing(settings) : try await AppContext.reading(settings)
    var status = CacheStatus(files: 0, readings: 0, bytes: 0)
    if let catalog {
      do throws(CatalogError) {
        status = try await ask(catalog)
        try await catalog.close()
      } catch {
        throw CommandFailure(error)
      }
    }
    let view = CacheView(status, cleared: cleared)
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(json ? view.json(pretty: traits.isTerminal) : view.text(traits))
  }
}
