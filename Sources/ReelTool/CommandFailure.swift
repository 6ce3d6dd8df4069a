import ReelCore
import ReelIngest
import ReelTerminal

/// Why a command could not do what it was asked: one sentence on stderr, and an exit code.
struct CommandFailure: Error {
  let code: ReelExit
  let message: String

  init(_ code: ReelExit, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: CatalogError) {
    self.init(error.code == .cancelled ? .interrupted : .couldNotRun, error.told)
  }

  init(_ error: UploadError) {
    self.init(error.code == .cancelled ? .interrupted : .couldNotRun, error.told)
  }

  init(_ error: ProbeError) {
    self.init(error.code == .cancelled ? .interrupted : .couldNotRun, error.told)
  }

  func tell() {
    // Nobody may be listening on stderr; the exit code says it then.
    try? OutputStream.standardError.write("reel: \(SanitizedText.line(message))\n")
  }
}

extension FileFailure {
  /// An error of a layer, as the command line tells it of one file.
  /// - Parameter help: what is added to it.
  init(telling error: some ReelError, as code: some RawRepresentable<String>, _ help: String = "") {
    self.init(code: Code(rawValue: code.rawValue), message: error.told + help, cause: error)
  }
}

// The errors of the layers, as the command line tells them.

/// - Parameter subject: what `body` reads: an error does not name it.
func orCommandFailure<Value>(
  reading subject: String, _ body: () throws(SourceError) -> Value
) throws -> Value {
  do throws(SourceError) {
    return try body()
  } catch {
    throw CommandFailure(.couldNotRun, "\(subject) can't be used: \(error.told)")
  }
}

func orCommandFailure<Value>(_ body: () throws(UploadError) -> Value) throws -> Value {
  do throws(UploadError) { return try body() } catch { throw CommandFailure(error) }
}

func orCommandFailure<Value>(_ body: () async throws(CatalogError) -> Value) async throws -> Value {
  do throws(CatalogError) { return try await body() } catch { throw CommandFailure(error) }
}

func orCommandFailure<Value>(_ body: () async throws(UploadError) -> Value) async throws -> Value {
  do throws(UploadError) { return try await body() } catch { throw CommandFailure(error) }
}

/// The exit codes of `reel`, as `--help` prints them.
enum ReelExit: Int32, Sendable {
  case done = 0
  /// Bad setup, destination or catalog out of reach.
  case couldNotRun = 1
  /// Some files failed, the rest are done; also when others were refused.
  case someFailed = 3
  /// None failed, some were refused by policy.
  case someRefused = 4
  case usage = 64
  /// By a signal, or because the reader of the output went away.
  case interrupted = 130
}
