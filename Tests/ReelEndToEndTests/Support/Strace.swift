import Foundation

/// Records the system calls of the real binary.
enum Strace {
  static let path = "/usr/bin/strace"

  /// Whether strace is installed and may trace.
  static let isPossible: Bool = {
    guard FileManager.default.isExecutableFile(atPath: path) else { return false }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = ["-o", "/dev/null", "/bin/true"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()
}
