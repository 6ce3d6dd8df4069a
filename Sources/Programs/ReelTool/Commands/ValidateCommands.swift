import ArgumentParser
import FoundationEssentials
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
      "reel validate fixtures --report junit=out.xml",
      "reel validate clip.mp4 --policy web-playback",
    ])

  @OptionGroup var options: ValidationOptions
  @OptionGroup(title: "Files at addresses") var addresses: AddressOptions

  @Option(
    help: ArgumentHelp(
      "Compare each file with what it was when it was locked (default: FOLDER/reel.lock, if there is one).",
      valueName: "file"), completion: .file(), transform: RawArguments.place)
  var lock: String?

  @Flag(help: "Compare with no lock.")
  var noLock = false

  @Option(
    help: ArgumentHelp(
      "people (default), json, jsonl, junit, github, sarif, markdown or html; with =FILE to a file. May be given again; "
        + "one goes to stdout.", valueName: "kind[=file]"))
  var report: [ReportTarget] = []

  @Flag(help: "Print JSON, as --report json does.")
  var json = false

  /// All reports that were asked for, each once.
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
    if explain == nil, paths.isEmpty { throw ValidationError("name the files or folders to validate.") }
    if lock != nil, noLock { throw ValidationError("use either --lock or --no-lock, not both.") }
    if reports.filter({ $0.path == nil }).count > 1 {
      throw ValidationError(
        "stdout carries one report; send the others to files, as in --report junit=out.xml.")
    }
  }

  func run() async throws {
    if let explain { return try explainRule(explain) }
    let place = (lock ?? (noLock ? nil : LockPlace.usual(for: paths))).map { LockPlace(path: $0) }
    let locked = try place.flatMap { place -> (place: LockPlace, file: LockFile)? in
      var place = place
      guard let file = try place.read() else {
        if lock == nil { return nil }
        let advice =
          canBeLocked
          ? "make it with: \(options.lockCommand(paths, place.path, replaces: false))"
          : "only files on this machine can be locked"
        throw CommandFailure(.couldNotRun, "there is no lock file \(place.path); \(advice)")
      }
      return (place: place, file: file)
    }
    let session = try await options.session(paths, of: self)
    let writer = try ReportWriter(
      reports.map { ($0.kind, $0.path) },
      stepSummary: try ProcessEnvironment.current().text("GITHUB_STEP_SUMMARY"))
    let begun = Date()
    let judgement = try await session.judge(
      locks: locked != nil,
      isLocked: { file in
        locked.map { $0.file.entries[$0.place.name(of: file.path)]?.digest == file.digest }
          ?? false
      },
      advises: true)
    let acceptance = locked.flatMap {
      canBeLocked ? options.lockCommand(paths, $0.place.path, replaces: true) : nil
    }
    let result = session.review.report(
      judgement, lock: locked, acceptance: acceptance, strict: strict, allowsEmpty: allowEmpty)
    let pictured = writer.hasPictures ? ValidationPage.pictured(result) : []
    let pictures = await session.illustration.interruptiblePictures(
      of: pictured.map { ListedFile(path: $0, at: begun) })
    try writer.write(result, pictures)
    if judgement.missing(RawArguments.paths(paths)) != nil { try ReelExit.couldNotRun.end() }
    try ReelExit(result.outcome).end()
  }

  private var canBeLocked: Bool { !RawArguments.paths(paths).contains(where: \.isAddress) }

  private func explainRule(_ id: String) throws {
    let output = OutputStream.standardOutput
    if id == "list" { return try output.write(RuleSummary.list(RuleRegistry.infos, output.traits)) }
    guard let info = RuleRegistry.info(id) else {
      let hint = RuleRegistry.nearest(to: id).map { "; did you mean \($0)?" } ?? "; --explain list names all"
      throw CommandFailure(.usage, "there is no rule \"\(id)\"\(hint)")
    }
    try output.write(RuleSummary.text(info, output.traits))
  }
}

extension ReelExit {
  /// The exit code of `reel validate`.
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

      A Git LFS pointer is not locked in the place of its file, nor is what can't be read here: what the lock has of \
      them stays.

      Exit codes: 0 written, or nothing differs · 4 there are differences and no --force, a file is not fetched, or there \
      is no file · 3 a file or folder can't be read here · 1 could not run, or a file is not there · 64 usage · 130 interrupted.
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

  @OptionGroup var answer: AnswerOptions

  @Argument(help: "Files and folders.", completion: .file())
  var paths: [String]

  func validate() throws {
    if to != nil, output != nil { throw ValidationError("--to is an old name of -o: give one of them.") }
  }

  func run() async throws {
    if update { FormerWords.tell("--update", isNow: "--force") }
    let replaces = force || update
    guard !RawArguments.paths(paths).contains(where: \.isAddress) else {
      throw CommandFailure(.usage, "only files on this machine can be locked; download the others first")
    }
    var place = LockPlace(path: try path())
    let old = try place.read()
    let session = try await options.session(paths, of: self)
    let judgement = try await session.judge(locks: true)
    guard !judgement.files.isEmpty || allowEmpty else {
      guard answer.json else { throw CommandFailure(.someRefused, LockReport.noFiles) }
      try OutputStream.standardOutput.answer(LockReport.ofNoFiles(place, old))
      return try ReelExit.someRefused.end()
    }
    if let missing = judgement.missing(RawArguments.paths(paths)) {
      throw CommandFailure(.couldNotRun, "\(missing.text): no such file; nothing was locked")
    }
    let report = LockReport(
      session.review, judgement, old: old, place: place, replaces: replaces,
      command: options.lockCommand(paths, output ?? to, replaces: true))
    if let lock = report.written { try place.write(lock) }
    try answer.tell(report.answer) { report.text($0) }
    if !report.unread.isEmpty { try ReelExit.someFailed.end() }
    if report.isRefused || !report.pointers.isEmpty { try ReelExit.someRefused.end() }
  }

  private func path() throws -> String {
    if let to {
      let place = ShellWord.quoted(Array(to.utf8))
      FormerWords.tell("--to \(place)", isNow: "-o \(place)")
    }
    if let place = output ?? to { return place }
    if let missing = RawArguments.paths(paths).first(where: { $0.fileStatus == nil }) {
      throw CommandFailure(.couldNotRun, "\(missing.text): there is no such file or folder")
    }
    guard let place = LockPlace.usual(for: paths) else {
      throw CommandFailure(
        .usage, "say with -o FILE where to write the lock; it can be left out for a single folder only")
    }
    return place
  }
}
