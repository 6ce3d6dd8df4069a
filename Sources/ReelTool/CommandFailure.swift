import ReelCore
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
    self.init(error.code == .cancelled ? .interrupted : .couldNotRun, error.message)
  }

  init(_ error: UploadError) {
    self.init(error.code == .cancelled ? .interrupted : .couldNotRun, error.message)
  }

  init(_ error: ProbeError) {
    self.init(error.code == .cancelled ? .interrupted : .couldNotRun, error.message)
  }

  func tell() {
    // Nobody may be listening on stderr; the exit code says it then.
    try? OutputStream.standardError.write("reel: \(SanitizedText.line(message))\n")
  }
}
