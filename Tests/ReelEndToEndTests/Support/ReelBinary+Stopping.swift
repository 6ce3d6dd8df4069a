import Foundation

extension ReelBinary.Running {
  private struct EndedBefore: Error {}

  /// Waits until something is so; an end that comes first is an error.
  func until(_ isSo: () throws -> Bool) async throws {
    while try !isSo() {
      guard process.isRunning else { throw EndedBefore() }
      try await Task.sleep(for: .microseconds(Int(10_000)))
    }
  }

  private struct NeverStopped: Error {}

  /// Waits until the process has stopped itself, as `REEL_FAILPOINT=…=stop` makes it.
  func untilStopped() async throws {
    let path = "/proc/\(process.processIdentifier)/stat"
    // As long as it takes on a crowded machine; an end that comes first is no stop.
    while process.isRunning {
      let stat = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      if stat.split(separator: ")").last?.hasPrefix(" T") == true { return }
      try await Task.sleep(for: .microseconds(Int(10_000)))
    }
    throw NeverStopped()
  }

  /// Whether `signal` was sent to it and not taken yet; two of the same at once are one.
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
