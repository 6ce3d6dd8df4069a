import ArgumentParser
import ReelCore
import ReelLibrary
import ReelTerminal

/// `reel verify`
struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares what the stores hold with the catalog, and says which posts are damaged.",
    discussion: """
      Every published object is looked for; its length is compared, and its digest where the store proves one. \
      --read reads every object back and hashes it. Nothing is changed. \
      A store that needs a secret is looked at where --to, or the destination of the settings, says that those at hand \
      are for it. \
      Exit codes: 0 nothing is damaged · 3 a post is damaged, or its object can't be read · \
      1 a store or the catalog is out of reach, or was not looked at, and nothing damaged was found.
      """)

  @OptionGroup var library: LibraryOptions
  @OptionGroup var store: StoreOptions

  @Option(
    help: ArgumentHelp(
      "Look only at this store, by its address or by the name that `reel status` gives it. Default: all.",
      valueName: "destination"), transform: RawArguments.place)
  var to: String?

  @Flag(help: "Read every object back and compare its digest.")
  var read = false

  @Option(help: ArgumentHelp("Objects looked at, at once (default: 8).", valueName: "n"))
  var jobs: Int = 8

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if !(1...64).contains(jobs) { throw ValidationError("--jobs is a number from 1 to 64.") }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flags: Settings(library, store: store), file: library.config)
    let session = VerificationSession(
      settings: settings, to: to, readsObjects: read, width: jobs, json: json)
    try await session.run().end()
  }
}
