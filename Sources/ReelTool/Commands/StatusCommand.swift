import ArgumentParser
import ReelCore
import ReelTerminal

/// `reel status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "What the catalog holds, and what failed and why.")

  @OptionGroup var library: LibraryOptions

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    let settings = try SettingsReader.read(flags: Settings(library), file: library.config)
    let path = try AppContext.libraryPath(settings)
    let status = try await status(try await AppContext.reading(settings)) ?? .empty
    let view = StatusView(status, library: path)
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(
      json ? JSONOutput.text(view, pretty: traits.isTerminal) : view.text(traits))
  }

  private func status(_ catalog: (any PostCatalog)?) async throws -> CatalogStatus? {
    do throws(CatalogError) {
      return try await catalog?.status()
    } catch {
      throw CommandFailure(error)
    }
  }
}

extension CatalogStatus {
  /// Of a library that is not there yet.
  static let empty = CatalogStatus(
    posts: 0, bytes: 0, destinations: [], unfinished: 0, failures: [], failureCount: 0, schemaVersion: 0)
}
