import CEscapes
import CReel
import Glibc
import ReelWire

/// A worker whose reader has been taken over: it does what the file tells it to. For tests only.
///
/// Everything but the reader is the shipped worker's: how it starts, confines itself, and communicates.
@main
enum SabotagedWorker {
  static func main() {
    let arguments = CommandLine.arguments
    if arguments.count == 3 { exit(withOneLayer(arguments[1], arguments[2])) }
    WorkerProgram.run(HijackedReader())
    exit(64)
  }

  /// Returns 0 when that layer alone refuses `attempt`.
  private static func withOneLayer(_ layer: String, _ attempt: String) -> Int32 {
    guard reel_confine_privileges() == 0 else { return 10 }
    switch layer {
    case "landlock":
      guard reel_confine_landlock() == 0 else { return 11 }
      return reel_escape(attempt)
    case "limits":
      var bounds = reel_bounds(memory: 64 << 20, seconds: 10, descriptors: 1, output: 0)
      guard reel_confine_limits(&bounds) == 0 else { return 12 }
      return reel_eat_memory() < 64 << 20 ? 0 : 1
    default: return 13
    }
  }
}
