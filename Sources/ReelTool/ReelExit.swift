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
