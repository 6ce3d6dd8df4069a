import Foundation
import ReelLibrary
import ReelTestSupport
import Testing

extension ReelBinary.Running {
  private struct EndedBefore: Error {}

  /// Waits until `isSo` returns true. It is an error if the process ends first.
  func until(_ isSo: () throws -> Bool) async throws {
    while true {
      // What happened before the end still counts.
      let isRunning = process.isRunning
      if try isSo() { return }
      guard isRunning else { throw EndedBefore() }
      try await rest(milliseconds: 10)
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
      try await rest(milliseconds: 10)
    }
    throw NeverStopped()
  }

  /// Makes the lease of the stopped process count as over, whatever the time is.
  /// - Throws: ``SQLiteError`` with the code `busy` if it was stopped within a commit.
  func endLease(in library: URL) throws {
    let catalog = try Connection(library.appendingPathComponent("catalog.sqlite").path, .readWrite)
    try catalog.run("UPDATE owner SET leaseUntil = 0 WHERE pid = ?", [Int64(process.processIdentifier)])
    try #require(catalog.changeCount == 1)
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
