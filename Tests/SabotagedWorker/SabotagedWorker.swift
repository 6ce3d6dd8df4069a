import Glibc
import ReelWorker

/// A worker whose reader has been taken over: it does what the file tells it to. For tests only.
///
/// Everything but the reader is the shipped worker's: how it starts, confines itself, and speaks.
@main
enum SabotagedWorker {
  static func main() {
    if !WorkerProgram.run(HijackedReader()) { exit(64) }
  }
}
