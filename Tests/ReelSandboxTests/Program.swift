import CEscapes
import Glibc
import ReelCore
import Testing

/// A program that was built beside these tests, or in the folder that `REEL_WORKERS` names: a test process under a
/// sanitizer can have workers without one.
enum Program {
  private static let folder = getenv("REEL_WORKERS").map { String(cString: $0) }

  /// Whether the workers are under a sanitizer, whose own system calls at a crash or an exit, and whose own memory, a
  /// confined process may not have. `scripts/test --long` runs what this leaves out with other workers.
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

  /// Runs it to its end and gives its exit status, -1 when a signal ended it. What it says goes to `output`.
  static func run(_ name: String, _ arguments: [String], output: String = "/dev/null") throws -> Int32 {
    try run(at: path(name), arguments, output: output)
  }

  /// The same for any program.
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
