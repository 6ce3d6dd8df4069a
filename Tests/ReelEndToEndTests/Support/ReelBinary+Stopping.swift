import Foundation

extension ReelBinary.Running {
  private struct EndedBefore: Error {}

  /// Waits until `isSo` returns true. It is an error if the process ends first.
  func until(_ isSo: () throws -> Bool) async throws {
    while try !isSo() {
      guard process.isRunning else { throw EndedBefore() }
      try await Task.sleep(for: .microseconds(Int(10_000)))
    }
  }

  private struct NeverStopped: Error {}

  /// Waits until the process has stopped itself because of `REEL_FAILPOINT=…=stop`.
  func untilStopped() async throws {
    let path = "/proc/\(process.processIdentifier)/stat"
    // Waits as long as a busy machine needs. It is an error if the process ends first.
    while process.isRunning {
      let stat = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      if stat.split(separator: ")").last?.hasPrefix(" T") == true { return }
      try await Task.sleep(for: .microseconds(Int(10_000)))
    }
    throw NeverStopped()
  }

  /// Whether `signal` was sent to the process and is still pending. Several of the same count as one.
  func hasPending(_ signal: Int32) -> Bool {
    let path = "/proc/\(process.processIdentifier)/status"
    let status = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return status.split(separator: "\n").contains { line in
      let words = line.split(separator: "\t")
      guard let name = words.first, ["ShdPnd:", "SigPnd:"].contains(name), words.count == 2 else {
        return false
      }
      return UInt64(words[1], radix: 16).map { $0 & (1 << UInt64(signal - 1)) != 0 } ?? false
    }
  }
}
