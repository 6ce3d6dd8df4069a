import ReelCore
import Synchronization

extension UploaderPromise {
  /// Progress is honest.
  static let reporting: [UploaderPromise] = [
    UploaderPromise(
      "progress.honest", "progress grows within an attempt, never beyond the total, and ends there"
    ) {
      scene in
      for content in try [PromiseContent(size: 0), PromiseContent(size: 1), scene.small(), scene.large()] {
        let reports = Reports()
        _ = try await scene.uploader.upload(try scene.source(content), to: try scene.newKey()) {
          reports.add($0)
        }
        try checkProgress(reports.all, content.size, scene)
      }
    },
    UploaderPromise("progress.sparse", "progress is reported at most a few times a megabyte") { scene in
      let reports = Reports()
      let content = try scene.large()
      _ = try await scene.uploader.upload(try scene.source(content), to: try scene.newKey()) {
        reports.add($0)
      }
      let attempts = Int64(reports.all.last?.attempt ?? 1)
      let most = attempts * (8 + 4 * (content.size >> 20))
      try scene.expect(
        Int64(reports.all.count) <= most, "\(reports.all.count) reports for \(content.size) bytes")
    },
  ]

  private static func checkProgress(
    _ reports: [TransferProgress], _ size: Int64, _ scene: PromiseScene
  ) throws {
    for report in reports {
      try scene.expect(report.total == size, "a total of \(report.total) is reported for \(size) bytes")
      try scene.expect((0...size).contains(report.sent), "\(report.sent) of \(size) bytes are reported")
      try scene.expect(report.attempt >= 1, "attempt \(report.attempt) is reported")
    }
    for (before, after) in zip(reports, reports.dropFirst()) where before.attempt == after.attempt {
      try scene.expect(before.sent <= after.sent, "\(before.sent) bytes are followed by \(after.sent)")
      try scene.expect(after.retrying == nil, "a reason to retry is reported twice")
    }
    for (before, after) in zip(reports, reports.dropFirst()) where before.attempt != after.attempt {
      try scene.expect(after.attempt > before.attempt, "attempt \(after.attempt) follows \(before.attempt)")
      try scene.expect(after.retrying != nil, "attempt \(after.attempt) is announced without a reason")
    }
    try scene.expect(
      reports.last?.sent == size, "the last report says \(reports.last?.sent ?? -1) of \(size)")
  }
}

/// What an upload reports, from whatever thread, in the order of the calls.
private final class Reports: Sendable {
  private let reports = Mutex<[TransferProgress]>([])

  var all: [TransferProgress] { reports.withLock { $0 } }

  func add(_ progress: TransferProgress) { reports.withLock { $0.append(progress) } }
}
