import ArgumentParser
import ReelCore
import ReelLibrary
import ReelStores
import ReelTerminal
import ReelUpkeep

/// `reel doctor`
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract:
      "Find, and with --fix repair, what a crash, a person or a bug left wrong in the library and its stores.",
    discussion: """
      It changes nothing unless --fix is given. --fix repairs only what is certain, and never removes an object that is \
      not in the catalog. If the catalog itself is gone, --rebuild makes a new one from the stored objects (docs/backup.md). \
      Exit codes: 0 nothing is wrong, or everything was repaired · 3 problems remain · 1 could not check.
      """,
    examples: [
      "reel doctor",
      "reel doctor --fix",
      "reel doctor --rebuild --library /srv/reel",
    ])

  @OptionGroup var library: LibraryOptions

  @OptionGroup(title: "Stores") var viewing: ViewingOptions
  @OptionGroup var store: StoreOptions

  @Flag(help: "Repair what is certain.")
  var fix = false

  @Flag(help: "Read every stored object and compare its digest, not only its length.")
  var read = false

  @Option(
    help: ArgumentHelp(
      "With --fix: give up what was started and has been left alone for this long (default: 1d).",
      valueName: "time"),
    transform: Self.graceSeconds)
  var grace: Double?

  @Option(
    help: ArgumentHelp(
      "With --fix: restore missing or damaged objects from this file or folder; can be repeated.",
      valueName: "path"), completion: .file())
  var from: [String] = []

  @Flag(
    help:
      "Rebuild a lost catalog from the stored objects. Captions, authors and the like are not recovered."
  )
  var rebuild = false

  @Option(
    help: ArgumentHelp(
      "The store that the available credentials are for; with --rebuild another folder that only this library stored in, "
        + "which can be repeated.",
      valueName: "destination"), completion: .directory, transform: RawArguments.place)
  var to: [String] = []

  @OptionGroup var output: ChangeOutput

  /// Rejects a number without a unit, which meant hours up to 0.2: taken for seconds, it would abandon what another
  /// process is still working on.
  @Sendable private static func graceSeconds(_ text: String) throws -> Double {
    let seconds = try TimeText.argument(0...360_000_000, "from 0 to 100000h")(text)
    guard seconds == 0 || text.last?.isLetter == true else {
      throw ValidationError("a number alone was hours before: write \(text)h, or \(text)s")
    }
    return seconds
  }

  func validate() throws {
    if !from.isEmpty, !fix {
      throw ValidationError("--from says where --fix puts objects back from: give both.")
    }
    if rebuild, fix || read {
      throw ValidationError("--rebuild is for a catalog that is gone: run reel doctor again after it.")
    }
    if to.count > 1, !rebuild {
      throw ValidationError("--to names one store; several are for --rebuild.")
    }
  }

  func run() async throws {
    var settings = try SettingsReader.read(flagsOf: self, file: library.config)
    if rebuild { return try await rebuild(settings) }
    if let named = to.first { settings.to = named }
    var supply: FileRestoreSource?
    if !from.isEmpty {
      supply = FileRestoreSource(inputs: try await Sources.inputs(Sources.named(from), settings))
    }
    let writer = ChangeEventWriter(target: try EventTarget.open(output.events))
    let place = try CatalogPlace(settings)
    let checkup = LibraryCheckup(
      Stores(settings, library: place.library), grace: .seconds(grace ?? 86_400), readsObjects: read,
      supply: supply, examined: place.examined, writing: place.writing, notice: ChangeSession.tell,
      tell: { try await writer.write($0) })
    let diagnosis = try await checkup.diagnosis(fixing: fix)
    let view = DiagnosisView(
      diagnosis.worded(FlagNames.put), library: place.name, fixed: fix, searched: !from.isEmpty,
      sqlite: place.sqlite)
    try output.stream.answer(json: output.json, view.answer) { view.text($0) }
    if !diagnosis.left.isEmpty { throw CommandExit(code: .someFailed) }
  }

  private func rebuild(_ settings: Settings) async throws {
    let view = try await rebuilt(settings)
    try OutputStream.standardOutput.answer(json: output.json, view.answer) { view.text($0) }
    if !view.failures.isEmpty { throw CommandExit(code: .someFailed) }
  }

  private func rebuilt(_ settings: Settings) async throws -> RebuildView {
    let path = try CatalogPlace(settings).needingLibrary("put a backup of the database back (pg_restore)")
    guard let library = try await LibraryFolder.existing(at: path) else {
      throw CatalogError(.unusable, "there is no library at \(path): name another with --library")
    }
    let stores = Stores(settings, library: library.path)
    let prober = AppContext.prober(settings, workers: Processors.available)
    let rebuild = LibraryRebuild(of: library, folders: to, prober: prober, width: Processors.available) {
      let opened = try await stores.open($0)
      return (opened.uploader, opened.folder)
    }
    let rebuilt: LibraryRebuild.Rebuilt
    do {
      rebuilt = try await rebuild.run { LongWait.tell($0) }
      await prober.close()
    } catch {
      await prober.close()
      throw error
    }
    return RebuildView(
      library: library.path, posts: rebuilt.posts, failures: rebuilt.failures.map { $0.worded(FlagNames.put) }
    )
  }
}

/// `reel verify`
struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compare the stores with the catalog, and report damaged posts.",
    discussion: """
      Every published object is looked for; its length is compared, and its digest where the store proves one. \
      --read reads every object back and hashes it. Nothing is changed. \
      A store that needs credentials is checked only if --to, or the destination in the settings, names it: the credentials \
      that are set are for that store. \
      Exit codes: 0 nothing is damaged · 3 a post is damaged, or its object can't be read · \
      1 a store or the catalog is out of reach, or was not looked at, and nothing damaged was found.
      """,
    examples: [
      "reel verify",
      "reel verify --read --json",
      "reel verify --to s3://videos/",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup var store: StoreOptions

  @Option(
    help: ArgumentHelp(
      "Check only this store, given by its address or its name in `reel status`. Default: all.",
      valueName: "destination"), completion: .directory, transform: RawArguments.place)
  var to: String?

  @Flag(help: "Read every object back and compare its digest.")
  var read = false

  @Option(help: ArgumentHelp("Objects checked at once.", valueName: "n"))
  var jobs: Int = 8

  @OptionGroup var answer: AnswerOptions

  func validate() throws {
    if !(1...64).contains(jobs) { throw ValidationError("--jobs must be a number from 1 to 64.") }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let session = VerificationSession(
      settings: settings, to: to, readsObjects: read, width: jobs, json: answer.json)
    try await session.run().end()
  }
}
