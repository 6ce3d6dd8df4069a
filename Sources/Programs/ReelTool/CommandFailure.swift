import ReelCore
import ReelFeeds
import ReelIngest
import ReelRemoteStorage
import ReelStorage
import ReelTerminal

/// Why a command could not do what it was asked: one sentence on stderr, and an exit code.
struct CommandFailure: Error {
  let code: ReelExit
  let message: String

  init(_ code: ReelExit, _ message: String) {
    self.code = code
    self.message = message
  }

  private init(_ error: some ReelError, isCancellation: Bool) {
    self.init(isCancellation ? .interrupted : .couldNotRun, error.told)
  }

  /// The failure that stands for an error which nothing on the way has put into words: whatever a layer throws ends up
  /// here. Nil for what is not a failure of the command: wrong usage, or output whose reader is gone.
  init?(_ error: any Error) {
    switch error {
    case let failure as CommandFailure: self = failure
    case let error as CatalogError: self.init(error, isCancellation: error.code == .cancelled)
    case let error as UploadError: self.init(error, isCancellation: error.code == .cancelled)
    case let error as ProbeError: self.init(error, isCancellation: error.code == .cancelled)
    case let error as PosterError: self.init(error, isCancellation: error.code == .cancelled)
    case let error as MendError: self.init(error, isCancellation: error.code == .cancelled)
    case let error as AllowedSources.NoSource: self.init(.usage, error.told)
    case let error as DestinationAddressError: self.init(.usage, error.told)
    case let error as SourceAddressError: self.init(.usage, error.told)
    case is CancellationError: self.init(.interrupted, "interrupted")
    case let error as OutputRefusal: self.init(.usage, error.told)
    case let error as any ReelError: self.init(.couldNotRun, error.told)
    default: return nil
    }
  }

  /// The words for `error` within a sentence.
  static func reason(_ error: any Error) -> String { CommandFailure(error)?.message ?? "\(error)" }

  func tell() { OutputStream.complain(message) }

  /// Prints the answer of a command that was asked for JSON and has not printed any. Its problem has the name of the
  /// exit code.
  /// - Parameter arguments: of this process. If events occupy standard output, the answer goes to standard error, as a
  ///   report does.
  func answer(_ arguments: [String]) {
    let flags = arguments.prefix { $0 != "--" }
    let events =
      zip(flags, flags.dropFirst()).filter { $0.0 == "--events" }.map(\.1)
      + flags.filter { $0.hasPrefix("--events=") }.map { String($0.dropFirst("--events=".count)) }
    let isTaken = events.contains { OutputStream.isStandardOutput(SourcePath($0)) || $0 == "fd:1" }
    guard flags.contains("--json"), isTaken || !OutputStream.hasOutput else { return }
    let problem =
      code == .interrupted
      ? .interrupted : AnswerProblem("\(code)", message)
    let (stream, traits) =
      isTaken
      ? (OutputStream.standardError, TerminalTraits.standardError())
      : (OutputStream.standardOutput, TerminalTraits.standardOutput())
    // The reader may be gone; then the exit code alone tells.
    try? stream.write(AnswerDocument(NoKeys(), problems: [problem]).json(pretty: traits.isTerminal))
  }
}

extension AnswerProblem {
  /// The problem to add to an answer already begun, when the command can't continue.
  static func couldNotGoOn(_ error: any Error) -> AnswerProblem {
    let failure = CommandFailure(error)
    if failure?.code == .interrupted || error is CancellationError || error is OutputClosed {
      return .interrupted
    }
    if let exit = error as? CommandExit {
      return exit.code == .interrupted
        ? .interrupted : AnswerProblem("\(exit.code)", "it ended early; the reason was reported before")
    }
    return AnswerProblem("\(failure?.code ?? .couldNotRun)", CommandFailure.reason(error))
  }
}

/// Returns what `body` returns. An error that does not say what was attempted is replaced by a ``CommandFailure`` with
/// the words of `told`.
func orCommandFailure<Value, Failure: Error>(
  _ code: ReelExit = .couldNotRun, _ body: () throws(Failure) -> Value, told: (Failure) -> String
) throws -> Value {
  do throws(Failure) {
    return try body()
  } catch {
    throw CommandFailure(code, told(error))
  }
}

/// - Parameter subject: what `body` reads; its error does not name it.
func orCommandFailure<Value>(
  reading subject: String, _ body: () throws(SourceError) -> Value
) throws -> Value {
  try orCommandFailure(.couldNotRun, body) { "\(subject) can't be used: \($0.told)" }
}

/// The exit codes of `reel`, as `--help` prints them.
enum ReelExit: Int32, Sendable {
  case done = 0
  /// Bad setup; a file, library, destination or catalog that is not there or out of reach.
  case couldNotRun = 1
  /// Something here went wrong with some files, and trying again may help; the rest are done.
  case someFailed = 3
  /// Some files are not wanted, or can't be used anywhere; nothing else went wrong.
  case someRefused = 4
  case usage = 64
  /// Ended by a signal, or because the reader of the output went away.
  case interrupted = 130
}

/// The exit code of a command, found from what became of its files: the worst one wins.
struct ExitTally: Sendable {
  /// The paths that the user named. If one of these is missing or a folder, the user made a mistake; a file found in a
  /// folder may simply have vanished since.
  private let named: Set<SourcePath>
  /// Whether the user also named the output file. If so, a name that can't be used is the user's mistake.
  private let namesOutput: Bool
  private(set) var exit = ReelExit.done

  init(named: some Sequence<SourcePath>, namesOutput: Bool = false) {
    (self.named, self.namesOutput) = (Set(named), namesOutput)
  }

  mutating func note(_ code: FileFailure.Code, of path: SourcePath) {
    note(code, isNamed: named.contains(path))
  }

  mutating func note(_ code: FileFailure.Code, isNamed: Bool = false) {
    switch code {
    case .source(.notFound) where isNamed, .source(.isDirectory) where isNamed: note(.couldNotRun)
    case .other("nameTaken"), .other("nameRefused"): note(namesOutput ? .couldNotRun : .someFailed)
    default: note(code.isOfTheFile ? .someRefused : .someFailed)
    }
  }

  mutating func note(_ other: ReelExit) {
    if exit == .done || other.rawValue < exit.rawValue { exit = other }
  }
}
