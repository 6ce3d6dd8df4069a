import Foundation

/// Runs the real binary with system calls that fail, are slow, or are its last.
enum Strace {
  static let path = "/usr/bin/strace"

  /// Whether there is one here that may trace.
  static let isPossible: Bool = {
    guard FileManager.default.isExecutableFile(atPath: path) else { return false }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = ["-o", "/dev/null", "-e", "inject=getppid:error=EIO", "/bin/true"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  /// Runs `reel` with `fault` at the `nth` time that any of its threads makes `call`. Tells whether that came.
  static func run(
    _ bench: Workbench, _ call: String, _ fault: String, at nth: Int, _ arguments: [String]
  ) throws -> (outcome: ReelBinary.Outcome, happened: Bool) {
    let log = bench.folder.appendingPathComponent("strace-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: log) }
    let launcher = [
      path, "-f", "--seccomp-bpf", "-o", log.path, "-e", "trace=\(call)", "-e",
      "inject=\(call):\(fault):when=\(nth)",
    ]
    let outcome = try ReelBinary.start(
      arguments + ["--library", bench.library.path], in: bench.folder, launcher: launcher
    ).outcome()
    let told = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    return (
      outcome, told.contains("INJECTED") || told.contains("killed by SIGKILL") || told.contains("DELAYED")
    )
  }
}
