import CProcess
import Glibc
import ReelCore

/// How this program is called, for commands that are to be copied.
enum ProgramName {
  /// `reel`; or the wrapper that has started it, such as a checkout's `scripts/reel`, which no shell finds by that name.
  static let shown: String = {
    guard let argument = reel_argument(0), strchr(argument, Int32(UInt8(ascii: "/"))) != nil,
      let called = resolved(argument), let program = resolved("/proc/self/exe"), called != program
    else { return "reel" }
    let bytes = UnsafeBufferPointer(start: argument, count: strlen(argument)).map(UInt8.init(bitPattern:))
    return ShellWord.quoted(bytes)
  }()

  private static func resolved(_ path: UnsafePointer<CChar>) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
