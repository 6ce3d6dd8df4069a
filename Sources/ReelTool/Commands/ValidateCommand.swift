import ArgumentParser
import ReelTerminal
import ReelValidation

/// `reel validate PATH…`
struct ValidateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Tell whether videos are what they should be: by rules, a policy, or a lock.",
    discussion: """
      Exit codes: 0 all pass · 4 a rule or the lock is broken, a file can't be read, or there is none · \
      3 none is broken, and Reel could not judge some file · 1 could not run · 64 usage · 130 interrupted.
      """)

  @OptionGroup var options: ValidationOptions

  @Option(
    help: ArgumentHelp("Hold each file against what it was when it was locked.", valueName: "file"),
    transform: RawArguments.place)
  var lock: String?

  @Option(
    help: ArgumentHelp(
      "people (default), json, jsonl, junit, github, sarif or markdown; with =FILE to a file. May be given again; "
        + "one goes to stdout.", valueName: "kind[=file]"))
  var report: [ReportTarget] = []

  @Flag(help: "A rule that could not be judged fails its file.")
  var strict = false

  @Flag(help: "Do not fail when there is no file.")
  var allowEmpty = false

  @Option(
    help: ArgumentHelp("Say what a rule means and how to mend a file; `list` names all.", valueName: "rule"),
    transform: RawArguments.text)
  var explain: String?

  @Argument(help: "Files and folders.")
  var paths: [String] = []

  func validate() throws {
    if explain == nil, paths.isEmpty { throw ValidationError("Name the files or folders to validate.") }
    if report.filter({ $0.path == nil }).count > 1 {
      throw ValidationError(
        "stdout carries one report; send the others to files, as in --report junit=out.xml.")
    }
  }

  func run() async throws {
    if let explain { return try explainRule(explain) }
    let place = lock.map { LockPlace(path: $0) }
    let locked = try place.map { place in
      guard let file = try place.read() else {
        throw CommandFailure(.couldNotRun, "there is no lock file \(place.path); make it with `reel lock`")
      }
      return (place: place, file: file)
    }
    let session = try await options.session(paths)
    let writer = try ReportWriter(
      report, stepSummary: try ProcessEnvironment.current().text("GITHUB_STEP_SUMMARY"))
    let judgement = try await session.judge(locks: locked != nil)
    if judgement.wasInterrupted { throw CommandExit(code: .interrupted) }
    let result = session.report(judgement, lock: locked, strict: strict, allowsEmpty: allowEmpty)
    try writer.write(result)
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
