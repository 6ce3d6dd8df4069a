import ArgumentParser
import ReelCore
import ReelLibrary
import ReelTerminal

/// `reel backup FILE`
struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies the catalog to a new file, also while it is in use.",
    discussion: """
      The copy is whole and checked when it has its name. The videos are not in it: copy the store after the \
      catalog, then every post in the backup has its object. docs/backup.md says how to put both back.
      """)

  @OptionGroup var library: LibraryOptions

  @Argument(help: "The new file. One that is there is never replaced.", transform: RawArguments.place)
  var file: String

  func run() async throws {
    let settings = try SettingsReader.read(flags: Settings(library), file: library.config)
    let path = try AppContext.libraryPath(settings)
    try await orCommandFailure { () async throws(CatalogError) in
      guard let library = try await LibraryFolder.existing(at: path) else {
        throw CatalogError(.unusable, "there is no library at \(path): name another with --library")
      }
      try await CatalogBackup.write(of: library, to: file)
    }
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(traits.sanitized("the catalog of \(path) is in \(file)") + "\n")
  }
}
