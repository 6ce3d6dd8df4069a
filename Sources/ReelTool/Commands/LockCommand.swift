import ArgumentParser
import Glibc
import ReelCore
import ReelTerminal
import ReelValidation

/// `reel lock PATH…`
struct LockCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "Write down what each file is, for `reel validate --lock`.",
    discussion: """
      Of a folder it is written to FOLDER/reel.lock. When there is a lock already, the differences are shown and \
      nothing is written, unless --update says so.

      Exit codes: 0 written, or nothing differs · 4 there are differences and no --update, or there is no file · \
      1 could not run · 64 usage · 130 interrupted.
      """)

  @OptionGroup var options: ValidationOptions

  @Option(help: ArgumentHelp("Where the lock is written.", valueName: "file"), transform: RawArguments.place)
  var to: String?

  @Flag(help: "Show the differences, and write them.")
  var update = false

  @Flag(help: "Do not fail when there is no file.")
  var allowEmpty = false

  @Argument(help: "Files and folders.")
  var paths: [String]

  func run() async throws {
    let place = LockPlace(path: try path())
    let old = try place.read()
    let session = try await options.session(paths)
    let judgement = try await session.judge(locks: true)
    if judgement.wasInterrupted { throw CommandExit(code: .interrupted) }
    guard !judgement.files.isEmpty || allowEmpty else {
      throw CommandFailure(.someRefused, "no file was found to lock (--allow-empty says that this is fine)")
    }
    let change = session.update(judgement, old: old, place: place)
    try tell(change, isNew: old == nil, place)
    if old == nil || update && !change.lines.isEmpty { try place.write(change.lock) }
    if old != nil, !update, !change.lines.isEmpty { try ReelExit.someRefused.end() }
  }

  private func path() throws -> String {
    if let to { return to }
    var facts = stat()
    guard paths.count == 1, let folder = try? RawArguments.place(paths[0]), stat(folder, &facts) == 0,
      facts.st_mode & S_IFMT == S_IFDIR
    else {
      throw CommandFailure(
        .usage, "say with --to FILE where the lock is written; only of one folder it is clear")
    }
    return folder + (folder.hasSuffix("/") ? "" : "/") + "reel.lock"
  }

  private func tell(_ change: LockUpdate, isNew: Bool, _ place: LockPlace) throws {
    let traits = TerminalTraits.standardOutput()
    let count = HumanNumber.count(change.lock.entries.count, "file", "files")
    var lines = isNew ? [] : change.lines
    if isNew || update && !change.lines.isEmpty {
      lines.append("\(place.path) written: \(count)")
    } else if change.lines.isEmpty {
      lines.append("\(place.path) says what is there: \(count)")
    } else {
      lines.append("\(place.path) is as it was; --update writes these differences")
    }
    try OutputStream.standardOutput.write(lines.map { traits.sanitized($0) + "\n" }.joined())
  }
}
