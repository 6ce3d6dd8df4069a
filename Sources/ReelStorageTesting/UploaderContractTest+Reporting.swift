import ReelCore
import Synchronization

extension UploaderContractTest {
  /// Progress is honest.
  static let reporting: [UploaderContractTest] = [
    UploaderContractTest(
      "progress.honest", "progress grows within an attempt, never beyond the total, and ends there"
    ) {
      context in
      for content in try [TestContent(size: 0), TestContent(size: 1), context.small(), context.large()] {
        let reports = Reports()
        _ = try await context.uploader.upload(try context.source(content), to: try context.newKey()) {
          reports.add($0)
        }
        try checkProgress(reports.all, content.size, context)
      }
    },
    UploaderContractTest("progress.sparse", "progress is reported at most a few times a megabyte") {
      context in
      let reports = Reports()
      let content = try context.large()
      _ = try await context.uploader.upload(try context.source(content), to: try context.newKey()) {
        reports.add($0)
      }
      let attempts = Int64(reports.all.last?.attempt ?? 1)
      let most = attempts * (8 + 4 * (content.size >> 20))
      try context.expect(
        Int64(reports.all.count) <= most, "\(reports.all.count) reports for \(content.size) bytes")
    },
  ]

  private static func checkProgress(
    _ reports: [TransferProgress], _ size: Int64, _ context: ContractTestContext
  ) throws {
    for report in reports {
      try context.expect(report.total == size, "a total of \(report.total) is reported for \(size) bytes")
      try context.expect((0...size).contains(report.sent), "\(report.sent) of \(size) bytes are reported")
      try context.expect(report.attempt >= 1, "attempt \(report.attempt) is reported")
    }
    for (before, after) in zip(reports, reports.dropFirst()) where before.attempt == after.attempt {
      try context.expect(before.sent <= after.sent, "\(before.sent) bytes are followed by \(after.sent)")
      try context.expect(after.retrying == nil, "a reason to retry is reported twice")
    }
    for (before, after) in zip(reports, reports.dropFirst()) where before.attempt != after.attempt {
      try context.expect(after.attempt > before.attempt, "attempt \(after.attempt) follows \(before.attempt)")
      try context.expect(after.retrying != nil, "attempt \(after.attempt) is announced without a reason")
    }
    try context.expect(
      reports.last?.sent == size, "the last report says \(reports.last?.sent ?? -1) of \(size)")
  }
}

/// What an upload reports, from whatever thread, in the order of the calls.
private final class Reports: Sendable {
  private let reports = Mutex<[TransferProgress]>([])

  var all: [TransferProgress] { reports.withLock { $0 } }

  func add(_ progress: TransferProgress) { reports.withLock { $0.append(progress) } }
}
