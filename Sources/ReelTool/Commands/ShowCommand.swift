import ArgumentParser
import ReelCore
import ReelTerminal

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
