import ArgumentParser
import FoundationEssentials
import Glibc
import ReelCore
import ReelPage
import ReelTerminal
import ReelUpkeep
import ReelValidation

/// `reel validate PATH…`
struct ValidateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Check that videos are what they should be, by rules, a policy or a lock.",
    discussion: """
      Exit codes: 0 all files pass · 4 a file breaks a rule, differs from the lock or can't be read, or there are no files · \
      3 none of these, but some files could not be judged · 1 could not run, or a file is not there · 64 usage · \
      130 interrupted.
      """,
    examples: [
      "reel validate fixtures",
      "reel validate fixtures --lock fixtures/reel.lock --report junit=out.xml",
      "reel validate clip.mp4 --policy web-playback",
    ])

  @OptionGroup var options: ValidationOptions
  @OptionGroup(title: "Files at addresses") var addresses: AddressOptions

  @Option(
    help: ArgumentHelp("Compare each file with what it was when it was locked.", valueName: "file"),
    completion: .file(), transform: RawArguments.place)
  var lock: String?

  @Option(
    help: ArgumentHelp(
      "people (default), json, jsonl, junit, github, sarif, markdown or html; with =FILE to a file. May be given again; "
        + "one goes to stdout.", valueName: "kind[=file]"))
  var report: [ReportTarget] = []

  @Flag(help: "Print JSON, as --report json does.")
  var json = false

  /// All that are asked for.
  private var reports: [ReportTarget] {
    let asked = json ? report + [ReportTarget(argument: "json")].compactMap(\.self) : report
    return asked.enumerated().filter { !asked[..<$0.offset].contains($0.element) }.map(\.element)
  }

  @Flag(help: "Fail a file if a rule could not be evaluated for it.")
  var strict = false

  @Flag(help: "Succeed even if there are no files.")
  var allowEmpty = false

  @Option(
    help: ArgumentHelp("Say what a rule means and how to fix a file; `list` names all.", valueName: "rule"),
    transform: RawArguments.text)
  var explain: String?

  @Argument(help: "Files and folders, by path or address (s3://bucket/name, https://…).", completion: .file())
  var paths: [String] = []

  func validate() throws {
    if explain != nil, json { throw ValidationError("--explain prints text for people; leave out --json.") }
    if explain == nil, paths.isEmpty { throw ValidationError("Name the files or folders to validate.") }
    if reports.filter({ $0.path == nil }).count > 1 {
      throw ValidationError(
        "stdout carries one report; send the others to files, as in --report junit=out.xml.")
    }
  }

  private static func word(_ path: String) -> String { ShellWord.quoted(Array(path.utf8)) }

  func run() async throws {
    if let explain { return try explainRule(explain) }
    let place = lock.map { LockPlace(path: $0) }
    let locked = try place.map { place in
      guard let file = try place.read() else {
        let (files, lock) = (paths.map(Self.word).joined(separator: " "), Self.word(place.path))
        let command = CommandHint(program: ProgramName.shown).text("lock", "\(files) -o \(lock)")
        throw CommandFailure(.couldNotRun, "there is no lock file \(place.path); make it with: \(command)")
      }
      return (place: place, file: file)
    }
    let session = try await options.session(paths, of: self)
    let writer = try ReportWriter(
      reports, stepSummary: try ProcessEnvironment.current().text("GITHUB_STEP_SUMMARY"))
    let begun = Date()
    let judgement = try await session.judge(locks: locked != nil)
    let result = session.review.report(judgement, lock: locked, strict: strict, allowsEmpty: allowEmpty)
    let pictured = writer.hasPictures ? ValidationPage.pictured(result) : []
    let pictures = await session.illustration.pictures(
      of: pictured.map { ListedFile(path: $0, at: begun) })
    try writer.write(result, pictures)
    if judgement.missing(RawArguments.paths(paths)) != nil { try ReelExit.couldNotRun.end() }
    try ReelExit(result.outcome).end()
  }

  private func explainRule(_ id: String) throws {
    let traits = TerminalTraits.standardOutput()
    if id == "list" {
      return try OutputStream.standardOutput.write(RuleSummary.list(RuleRegistry.infos, traits))
    }
    guard let info = RuleRegistry.info(id) else {
      let hint = RuleRegistry.nearest(to: id).map { "; did you mean \($0)?" } ?? "; --explain list names all"
      throw CommandFailure(.usage, "there is no rule \"\(id)\"\(hint)")
    }
    try OutputStream.standardOutput.write(RuleSummary.text(info, traits))
  }
}

extension FixtureReview.Outcome {
  /// The first of `named` that is not there.
  fileprivate func missing(_ named: [SourcePath]) -> SourcePath? {
    files.first { file in
      guard case .unreachable(let error) = file.facts.reading else { return false }
      return error.code == .notFound && named.contains(file.facts.path)
    }?.facts.path
  }
}

extension ReelExit {
  /// How `reel validate` ends.
  init(_ outcome: ValidationReport.Outcome) {
    switch outcome {
    case .passed: self = .done
    case .failed: self = .someRefused
    case .unjudged: self = .someFailed
    }
  }
}

/// `reel lock PATH…`
struct LockCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Record what each file is, for `reel validate --lock`.",
    discussion: """
      The lock of a folder is written to FOLDER/reel.lock. If there is a lock already, the differences are shown and \
      nothing is written, unless --force is given.

      Exit codes: 0 written, or nothing differs · 4 there are differences and no --force, or there is no file · \
      1 could not run, or a file is not there · 64 usage · 130 interrupted.
      """,
    examples: [
      "reel lock fixtures",
      "reel lock fixtures --force",
    ])

  @OptionGroup var options: ValidationOptions

  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp("Where the lock is written.", valueName: "file"), completion: .file(),
    transform: RawArguments.place)
  var output: String?

  @Flag(help: "Show the differences, and replace the lock that is there.")
  var force = false

  @Option(help: .hidden, completion: .file(), transform: RawArguments.place)
  var to: String?

  @Flag(help: .hidden)
  var update = false

  @Flag(help: "Succeed even if there are no files.")
  var allowEmpty = false

  @Flag(help: "Print JSON.")
  var json = false

  @Argument(help: "Files and folders.", completion: .file())
  var paths: [String]

  func validate() throws {
    if to != nil, output != nil { throw ValidationError("--to is an old name of -o: give one of them.") }
  }

  func run() async throws {
    if update { FormerWords.tell("--update", isNow: "--force") }
    let replaces = force || update
    guard !RawArguments.paths(paths).contains(where: \.isAddress) else {
      throw CommandFailure(
        .usage, "only files on this machine can be locked; download the others first")
    }
    let place = LockPlace(path: try path())
    let old = try place.read()
    let session = try await options.session(paths, of: self)
    let judgement = try await session.judge(locks: true)
    guard !judgement.files.isEmpty || allowEmpty else {
      throw CommandFailure(.someRefused, "no files were found to lock; use --allow-empty to accept that")
    }
    if let missing = judgement.missing(RawArguments.paths(paths)) {
      throw CommandFailure(.couldNotRun, "\(missing.text): no such file; nothing was locked")
    }
    let change = session.review.update(judgement, old: old, place: place)
    if old == nil || replaces && !change.lines.isEmpty { try place.write(change.lock) }
    try tell(change, isNew: old == nil, replaces: replaces, place, unread: judgement.files)
    if old != nil, !replaces, !change.lines.isEmpty { try ReelExit.someRefused.end() }
  }

  private func path() throws -> String {
    if let to {
      let place = ShellWord.quoted(Array(to.utf8))
      FormerWords.tell("--to \(place)", isNow: "-o \(place)")
    }
    if let place = output ?? to { return place }
    var facts = stat()
    guard paths.count == 1, let folder = try? RawArguments.place(paths[0]), stat(folder, &facts) == 0,
      facts.st_mode & S_IFMT == S_IFDIR
    else {
      throw CommandFailure(
        .usage, "say with -o FILE where to write the lock; it can be left out for a single folder only")
    }
    return folder + (folder.hasSuffix("/") ? "" : "/") + "reel.lock"
  }

  private func tell(
    _ change: LockUpdate, isNew: Bool, replaces: Bool, _ place: LockPlace,
    unread files: [FixtureReview.EvaluatedFile]
  ) throws {
    let traits = TerminalTraits.standardOutput()
    let count = HumanNumber.count(change.lock.entries.count, "file", "files")
    let differences = isNew ? [] : change.lines
    let isWritten = isNew || replaces && !differences.isEmpty
    let isRefused = !isWritten && !differences.isEmpty
    let refusal = "\(place.path) was not changed; use --force to write these differences"
    // Locked as what it is, and most likely not what was meant.
    let unread: [AnswerProblem] = files.compactMap { file in
      guard case .unreachable(let error) = file.facts.reading else { return nil }
      return AnswerProblem(error.code.rawValue, error.message, path: file.facts.path)
    }
    guard !json else {
      let answer = Answer(
        lock: place.path, files: change.lock.entries.count, written: isWritten, differences: differences)
      let problems = unread + (isRefused ? [AnswerProblem("differs", refusal, subject: place.path)] : [])
      return try OutputStream.standardOutput.write(
        AnswerDocument(answer, problems: problems, ok: !isRefused).json(pretty: traits.isTerminal))
    }
    let ending =
      isRefused
      ? refusal : isWritten ? "\(place.path) written: \(count)" : "\(place.path) is up to date: \(count)"
    try OutputStream.standardOutput.write(
      traits.text(differences + [ending] + unread.map { $0.told }))
  }

  /// How a lock stands after `reel lock`.
  private struct Answer: Encodable {
    let lock: String
    let files: Int
    let written: Bool
    /// Lines for people; `reel validate --lock --json` has them by file and fact.
    let differences: [String]
  }
}
