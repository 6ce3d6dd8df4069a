import CEscapes
import Glibc
import ReelCore
import Testing

/// A program built beside these tests, or in the folder named by `REEL_WORKERS`: a test process under a sanitizer can
/// use workers without one.
enum Program {
  private static let folder = getenv("REEL_WORKERS").map { String(cString: $0) }

  /// Whether the workers run under a sanitizer, whose own memory and system calls (in a crash or at exit) a confined
  /// process is not allowed. `scripts/test --long` runs the skipped tests with other workers.
  static let isSanitized = reel_is_sanitized() == 1 && folder == nil
  static let whyNotSanitized: Comment =
    "what a sanitizer itself does at an end, or with memory, is not allowed in a worker"

  static func path(_ name: String) -> String {
    if let folder { return "\(folder)/\(name)" }
    var own = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &own, own.count)
    let executable = String(decoding: own.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return executable.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
      separator: "/")
      + "/\(name)"
  }

  /// Runs the program to its end and returns its exit status, or -1 if a signal ended it. Its standard error goes to
  /// `output`.
  static func run(_ name: String, _ arguments: [String], output: String = "/dev/null") throws -> Int32 {
    try run(at: path(name), arguments, output: output)
  }

  /// As above, for the program at `path`.
  static func run(at path: String, _ arguments: [String], output: String = "/dev/null") throws -> Int32 {
    var pointers = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 2, output, O_WRONLY | O_CREAT, 0o600)
    var pid: pid_t = 0
    let error = posix_spawn(&pid, path, &actions, nil, &pointers, environ)
    guard error == 0 else { throw SourceError(.unreadable, "\(path) could not be started: error \(error)") }
    var status: Int32 = 0
    waitpid(pid, &status, 0)
    return status & 0x7f == 0 ? status >> 8 & 0xff : -1
  }
}
