import CProcess
import Glibc
import ReelCore
import ReelTerminal

/// The name of this program in commands for the user to copy.
enum ProgramName {
  /// `reel`, or the path of the wrapper that started it, such as a checkout's `scripts/reel`, which is on no shell's
  /// search path.
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

extension CommandHint {
  /// Where the catalog is, according to this process's arguments.
  static let ofThisProcess: CommandHint = {
    let arguments = Array(RawArguments.ofThisProcess().prefix { $0 != "--" })
    func value(_ flag: String) -> String? {
      arguments.indices.reversed().lazy.compactMap { index -> String? in
        if arguments[index].hasPrefix(flag + "=") {
          return String(arguments[index].dropFirst(flag.count + 1))
        }
        return arguments[index] == flag && index + 1 < arguments.count ? arguments[index + 1] : nil
      }.first
    }
    return CommandHint(
      program: ProgramName.shown, library: value("--library"),
      catalog: value("--catalog"), config: value("--config"))
  }()
}
