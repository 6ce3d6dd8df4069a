import Foundation

extension ReelBinary.Running {
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
}
