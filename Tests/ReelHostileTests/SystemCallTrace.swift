import Foundation

/// The system calls of a run and all its children that open, connect or confine, recorded by `strace`.
struct SystemCallTrace {
  private struct Call {
    let process: Int
    let text: Substring
  }
  let run: ReelRun
  private let calls: [Call]

  /// Whether `strace` is installed and the kernel permits it, which containers often don't.
  static var isPossible: Bool {
    let probe = Process()
    probe.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
    probe.arguments = ["-f", "-o", "/dev/null", "/bin/true"]
    (probe.standardOutput, probe.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    guard (try? probe.run()) != nil else { return false }
    probe.waitUntilExit()
    return probe.terminationStatus == 0
  }

  private static let watched = "execve,open,openat,openat2,creat,socket,connect,sendto,bind,seccomp,prctl"

  static func of(_ arguments: [String], in folder: URL) throws -> SystemCallTrace {
    let file = folder.appendingPathComponent("trace")
    let run = try ReelRun.run(
      arguments, in: folder,
      through: ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=\(watched)", "-o", file.path])
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    let calls = text.split(separator: "\n").compactMap { line -> Call? in
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let process = Int(parts[0]) else { return nil }
      return Call(process: process, text: parts[1].drop { $0 == " " })
    }
    return SystemCallTrace(run: run, calls: calls)
  }

  /// The IDs of the processes that became workers.
  var workers: Set<Int> {
    Set(
      calls.filter { $0.text.hasPrefix("execve(") && $0.text.contains("/reel-probe-worker\"") }
        .map(\.process))
  }

  func isConfined(_ worker: Int) -> Bool { confinement(of: worker) != nil }

  /// The index of the call with which a process loads its filter.
  private func confinement(of process: Int) -> Int? {
    calls.firstIndex {
      $0.process == process
        && ($0.text.contains("SECCOMP_SET_MODE_FILTER") || $0.text.contains("PR_SET_SECCOMP"))
        && !$0.text.contains("EFAULT")
    }
  }

  /// The watched calls that workers made after that.
  var forbiddenInWorkers: [String] {
    workers.flatMap { worker in
      guard let start = confinement(of: worker) else { return [] as [String] }
      return calls[(start + 1)...].filter { $0.process == worker && Self.reaches($0.text) }
        .map { "\(worker): \($0.text)" }
    }
  }

  private static func opens(_ text: Substring) -> Bool {
    ["open(", "openat(", "openat2(", "creat("].contains { text.hasPrefix($0) }
  }

  private static func reaches(_ text: Substring) -> Bool {
    opens(text) || ["socket(", "connect(", "sendto(", "bind(", "execve("].contains { text.hasPrefix($0) }
  }

  /// The calls in any process that open a path containing `words`.
  func opened(containing words: String) -> [String] {
    calls.filter { Self.opens($0.text) && $0.text.contains(words) }.map { String($0.text) }
  }

  /// The calls in any process that use a network or another program's socket.
  var connections: [String] {
    calls.filter {
      $0.text.hasPrefix("connect(") || $0.text.hasPrefix("socket(AF_INET") || $0.text.hasPrefix("sendto(")
    }.map { "\($0.process): \($0.text)" }
  }
}
