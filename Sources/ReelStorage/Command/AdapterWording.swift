import Glibc
import ReelCore

/// What is said about an adapter: its name, and none of its secrets.
struct AdapterWording: Sendable {
  let program: AdapterProgram
  let environment: AdapterEnvironment

  private var who: String { "the adapter \(program.name)" }

  /// The result, or why there is none.
  func verdict(
    _ ending: AdapterDialogue.Ending?, _ end: AdapterProcess.End, _ failure: UploadError?, errors: String?
  ) throws(UploadError) -> AdapterResult {
    if let failure { throw failure }
    switch ending {
    case .result(let result):
      guard end != .unknown else {
        throw UploadError(
          .storeUnusable,
          "\(who) gave its result, and how it ended can't be known: something in this process collects children that "
            + "are not its own; see that it waits for its own only")
      }
      guard end == .exited(0) else {
        throw UploadError(.interrupted, "\(who) gave its result and then \(words(end)): \(hint(errors))")
      }
      return result
    case .failure(let code, let message, let retryAfter):
      throw UploadError(code, "\(who) says: \(clean(message))", retryAfter: retryAfter)
    case nil:
      // As a shell tells that there is no such command, or none that may be run.
      let isBroken = end == .exited(126) || end == .exited(127)
      throw UploadError(
        isBroken ? .storeUnusable : .interrupted, "\(who) \(words(end)) without a result: \(hint(errors))")
    }
  }

  private func words(_ end: AdapterProcess.End) -> String {
    switch end {
    case .exited(let code): "ended with exit code \(code)"
    case .signalled: "was ended by a signal"
    case .unknown: "ended, nobody knows how,"
    }
  }

  private func hint(_ errors: String?) -> String {
    guard let errors else { return "it said nothing to its standard error either" }
    return "the last it said was \"\(clean(errors))\""
  }

  /// An adapter's own words, harmless and without what was passed to it.
  func clean(_ text: String) -> String {
    AdapterText.sentence(environment.withoutSecrets(text))
  }

  /// An adapter that does not keep to the protocol does so for every file.
  func breach(_ breach: AdapterViolation) -> UploadError {
    UploadError(
      .storeUnusable,
      "\(who) breaks the protocol: \(breach.words)\(quoted(breach.quote)); "
        + "`reel uploader check` shows what it is to do")
  }

  func silent(for time: Duration) -> UploadError {
    UploadError(
      .interrupted,
      "\(who) told nothing new for \(Int((time / .seconds(1)).rounded())) s and was ended: let it report its "
        + "progress, or give it more time with --adapter-deadline")
  }

  var cancelled: UploadError {
    UploadError(.cancelled, "cancelled while \(who) was at work; it was ended")
  }

  /// It could not be started.
  func notStarted(_ error: SystemError) -> UploadError {
    switch error.code {
    case ENOENT:
      UploadError(
        .storeUnusable,
        "\(who) can't be started: there is no such file, or the program named in its first line is missing")
    case EACCES:
      UploadError(.storeUnusable, "\(who) can't be started: it may not be executed; see `chmod +x`")
    case ENOEXEC:
      UploadError(
        .storeUnusable,
        "\(who) can't be started: it is not a program; a script begins with a line like #!/bin/sh")
    case ECHILD:
      UploadError(
        .storeUnusable,
        "\(who) can't be started: this process ignores SIGCHLD, so that how an adapter ends would be lost; give that "
          + "signal its default disposition")
    case EMFILE, ENFILE, EAGAIN, ENOMEM:
      UploadError(.unavailable, "\(who) can't be started (\(error)): use fewer --uploads")
    default: UploadError(.storeUnusable, "\(who) can't be started (\(error))")
    }
  }

  /// What it claims can't be.
  /// - Parameter quote: its own words, whole.
  func wrong(_ claim: String, quoting quote: String? = nil) -> UploadError {
    UploadError(.verificationFailed, "\(who) is not to be believed: \(claim)\(quoted(quote))")
  }

  private func quoted(_ text: String?) -> String {
    text.map { ": " + AdapterText.quoted(environment.withoutSecrets($0)) } ?? ""
  }
}
