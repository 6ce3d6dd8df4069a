import ArgumentParser
import ReelCore
import ReelProcess
import ReelTerminal

/// `reel export -o FILE`
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write all posts to a CSV or JSON Lines file, or to stdout.",
    discussion: """
      Posts come in the order of their numbers. The file gets its name when it is complete. docs/post.md describes \
      the columns. In a CSV, a text that a spreadsheet would take for a formula gets an apostrophe before it; --raw \
      leaves it out.
      """,
    examples: [
      "reel export -o posts.csv",
      "reel export -o posts.jsonl",
    ])

  @OptionGroup var library: LibraryOptions

  @Option(help: "csv or jsonl. Default: the file's ending; jsonl on stdout.")
  var format: ExportForm?

  @Flag(help: "In a CSV, write texts as they are. Not for spreadsheets.")
  var raw = false

  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp("Where they go: posts.csv, posts.jsonl, or - for stdout.", valueName: "file"),
    completion: .file(), transform: RawArguments.place)
  var output: String?

  @Flag(help: "Replace a file that is there.")
  var force = false

  @OptionGroup var former: FormerPlace

  @Flag(help: "Print JSON: the file, and how many posts are in it.")
  var json = false

  private struct Answer: Encodable {
    let file: String
    let posts: Int
  }

  private func form(of file: String) -> ExportForm? {
    if let format { return format }
    if file == "-" { return .jsonl }
    return ExportForm.allCases.first { file.hasSuffix("." + $0.rawValue) }
  }

  func validate() throws {
    try former.check(output, missing: "say where the posts go: -o posts.csv, or -o - for stdout.")
    let file = output ?? former.place ?? ""
    guard let form = form(of: file) else {
      throw ValidationError("\(file) ends neither in .csv nor in .jsonl: say with --format what it is to be.")
    }
    if json, file == "-" {
      throw ValidationError("--json and -o - would both write to standard output; give -o a file.")
    }
    if raw, form != .csv { throw ValidationError("--raw is about CSV; JSON Lines have every text as it is.") }
  }

  func run() async throws {
    let file = former.or(output)
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let place = try CatalogPlace(settings)
    let found = try await place.reading()
    guard let catalog = found else { throw CommandFailure(.couldNotRun, place.absence) }
    let export = PostExport(catalog: catalog, table: PostTable(form(of: file) ?? .jsonl, raw: raw))
    // There is nothing to clean up, so a signal may end the process as it does by default.
    guard file != "-" else {
      _ = try await export.write { try OutputStream.standardOutput.write($0) }
      return
    }
    try OutputForm.posts.check(file)
    guard WholeFile.isWrittenAside(file) else { return try tell(try await export.write(to: file), in: file) }
    if !force, SourcePath(file).fileKind != nil { FormerWords.tellReplaced(file) }
    let (result, wasInterrupted) = await RunSignals.cancelling {
      try await export.write(to: file) { DebugSteps.reach("exportWritten") }
    }
    // An export that was complete before the signal came counts as complete.
    if case .failure = result, wasInterrupted {
      throw CommandFailure(.interrupted, "interrupted; \(file) is as it was before")
    }
    try tell(try result.get(), in: file)
  }

  private func tell(_ count: Int, in file: String) throws {
    guard json else { return OutputStream.mention("\(HumanNumber.count(count, "post", "posts")) in \(file)") }
    try OutputStream.standardOutput.answer(AnswerDocument(Answer(file: file, posts: count)))
  }
}

extension ExportForm: ExpressibleByArgument {}
