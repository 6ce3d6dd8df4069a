import Foundation
import Glibc
import ReelTestSupport

/// One measured run of the real `reel`, found beside the tests and used as by a user.
struct ReelRun {
  let output: [UInt8]
  let errors: [UInt8]
  /// The exit code; nil if a signal ended the process.
  let status: Int32?
  /// The peak resident memory, in bytes, of the largest process: `reel` itself or a worker that it waited for.
  let peakMemory: Int

  var text: String { String(decoding: output, as: UTF8.self) }
  var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: true) }
  var errorText: String { String(decoding: errors, as: UTF8.self) }

  /// The folder into which the build put the programs.
  static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// The project's root.
  static let project = Checkout.root

  static func program(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// A program that `reel` may start: from `REEL_WORKERS` if that is set, because a sanitizer's own system calls are
  /// not allowed in a worker.
  static func worker(_ name: String) -> String { workers.map { "\($0)/\(name)" } ?? program(name) }
  static let workers = ProcessInfo.processInfo.environment["REEL_WORKERS"]

  /// The options that `scripts/test --long` sets for the sanitizers, which apply to the programs, too.
  private static let sanitizerOptions = ProcessInfo.processInfo.environment
    .filter { ["TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key) }.map { "\($0.key)=\($0.value)" }

  struct Failure: Error {
    let what: String
    let code: Int32
  }

  /// Runs `reel` with these arguments in `folder`.
  /// - Parameter through: A program that runs it, with its arguments, such as `strace`.
  static func run(_ arguments: [String], in folder: URL, through wrapper: [String] = []) throws -> ReelRun {
    try run(command: wrapper + [program("reel")] + arguments, in: folder)
  }

  /// Runs `reel` in its own terminal, created by `script`: its output is what the terminal received.
  static func runInTerminal(_ arguments: [String], in folder: URL) throws -> ReelRun {
    let words = ([program("reel")] + arguments).map { "'\($0)'" }.joined(separator: " ")
    return try run(command: ["script", "-qec", words, "/dev/null"], in: folder)
  }

  static var hasTerminals: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/script") }

  private static func run(command: [String], in folder: URL) throws -> ReelRun {
    let command = ["/usr/bin/env", "-C", folder.path] + command
    let errors = folder.appendingPathComponent("stderr-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: errors) }
    var ends: [Int32] = [0, 0]
    // A pair of sockets, because those can be created with close-on-exec.
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Failure(what: "socketpair", code: errno)
    }
    defer { close(ends[0]) }
    let child: pid_t
    do {
      defer { close(ends[1]) }
      child = try spawn(command, home: folder, output: ends[1], errors: errors.path)
    }
    let output = drain(ends[0])
    var status: Int32 = 0
    var usage = rusage()
    while wait4(child, &status, 0, &usage) == -1, errno == EINTR {}
    return ReelRun(
      output: output, errors: Array(try Data(contentsOf: errors)),
      status: status & 0x7F == 0 ? status >> 8 & 0xFF : nil, peakMemory: usage.ru_maxrss << 10)
  }

  private static func spawn(
    _ command: [String], home folder: URL, output: Int32, errors: String
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    // A busy machine may stall for a while, so a file has more time than it needs, and a worker more for its start.
    // What is itself slow is ended by the limit on a file's processor time.
    let environment =
      [
        "HOME=\(folder.path)", "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm-256color",
        "REEL_DEADLINE=120",
      ] + sanitizerOptions
    var arguments = command.map { strdup($0) } + [nil]
    var variables = environment.map { strdup($0) } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var child: pid_t = 0
    let code = posix_spawnp(&child, command[0], &actions, nil, &arguments, &variables)
    guard code == 0 else { throw Failure(what: "posix_spawn \(command[0])", code: code) }
    return child
  }

  /// Reads to the end.
  private static func drain(_ descriptor: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return bytes }
      bytes += buffer.prefix(count)
    }
  }
}
