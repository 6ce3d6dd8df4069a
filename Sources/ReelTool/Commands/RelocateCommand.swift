import ArgumentParser
import ReelCore
import ReelTerminal

/// `reel relocate OLD NEW`
struct RelocateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relocate",
    abstract: "Tells the catalog that a store was moved: what was stored in OLD is in NEW from now on.",
    discussion: """
      Move the store first, with whatever moves folders or buckets. Every post's object is looked for in NEW; only \
      when all are there, and as long as they should be, the catalog is changed, at once. No object is touched. \
      The library's own store needs this only when it was moved out of the library. \
      Exit codes: 0 done · 3 an object is missing or damaged in NEW · 1 could not look, or can't be done; in all but \
      the first nothing was changed.
      """)

  @OptionGroup var library: LibraryOptions
  @OptionGroup var store: StoreOptions

  @Flag(help: "Read every object in NEW and compare its digest, beside its length.")
  var read = false

  @Option(
    help:
      "What to do with videos that are posts in OLD and in NEW: skip (change nothing) or allow (keep both posts of each) (default: skip)."
  )
  var duplicates: DuplicatesChoice = .skip

  @Argument(
    help: "Where it was: an address as --to takes it, or the name that `reel status` gives it.",
    transform: RawArguments.place)
  var old: String

  @Argument(help: "Where it is now, as --to takes it.", transform: RawArguments.place)
  var new: String

  func run() async throws {
    let settings = try SettingsReader.read(flags: Settings(library, store: store), file: library.config)
    let session = RelocationSession(
      settings: settings, old: old, new: new, readsObjects: read,
      duplicates: duplicates == .allow ? .allow : .skip)
    try await session.run().end()
  }
}
