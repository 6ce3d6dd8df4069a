import ReelCore
import Synchronization

extension UploaderContractTest {
  /// Progress reports are truthful.
  static let reporting: [UploaderContractTest] = [
    UploaderContractTest(
      "progress.honest",
      "progress never decreases within an attempt or exceeds the total, and ends at the total"
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
    UploaderContractTest("progress.sparse", "progress is reported at most a few times per megabyte") {
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
      try context.expect(report.total == size, "a total of \(report.total) was reported for \(size) bytes")
      try context.expect((0...size).contains(report.sent), "\(report.sent) of \(size) bytes were reported")
      try context.expect(report.attempt >= 1, "attempt \(report.attempt) was reported")
    }
    for (before, after) in zip(reports, reports.dropFirst()) where before.attempt == after.attempt {
      try context.expect(
        before.sent <= after.sent, "progress fell from \(before.sent) to \(after.sent) bytes")
      try context.expect(
        after.retrying == nil, "a reason for a retry was reported after the attempt's first report")
    }
    for (before, after) in zip(reports, reports.dropFirst()) where before.attempt != after.attempt {
      try context.expect(
        after.attempt > before.attempt, "attempt \(after.attempt) followed attempt \(before.attempt)")
      try context.expect(
        after.retrying != nil, "attempt \(after.attempt) was reported without a reason for the retry")
    }
    try context.expect(
      reports.last?.sent == size, "the last report says \(reports.last?.sent ?? -1) of \(size)")
  }
}

/// Collects what an upload reports, on any thread, in the order of the calls.
private final class Reports: Sendable {
  private let reports = Mutex<[TransferProgress]>([])

  var all: [TransferProgress] { reports.withLock { $0 } }

  func add(_ progress: TransferProgress) { reports.withLock { $0.append(progress) } }
}

extension UploaderContractTest {
  /// Cancelling the task ends the upload and leaves nothing visible.
  static let cancelling: [UploaderContractTest] = [
    UploaderContractTest(
      "cancel.midway",
      "an upload whose task is cancelled halfway fails with cancelled and leaves nothing behind"
    ) {
      context in
      let key = try context.newKey()
      let content = try context.large()
      let upload = CancellableUpload()
      let midway = Midway { upload.cancel() }
      let source = try context.source(content, midway: midway)
      try await context.expectError([.cancelled], "an upload that was cancelled halfway") {
        try await upload.run { () async throws -> StoredObject in
          try await context.uploader.upload(source, to: key) { midway.see($0) }
        }
      }
      try await context.expectNothing(under: key, after: "cancelling")
      try await context.upload(content, to: key)
      try await context.expectWhole(content, under: key)
    },
    UploaderContractTest("cancel.before", "an upload in a task that is already cancelled stores nothing") {
      context in
      let key = try context.newKey()
      let source = try context.source(try context.large())
      let upload = CancellableUpload()
      upload.cancel()
      try await context.expectError([.cancelled], "an upload that was cancelled before it began") {
        try await upload.run { () async throws -> StoredObject in
          try await context.uploader.upload(source, to: key) { _ in }
        }
      }
      try await context.expectNothing(under: key, after: "cancelling")
    },
  ]
}

/// An upload in a task of its own, which can be cancelled at any time, even before it begins.
private final class CancellableUpload: Sendable {
  private struct State {
    var task: Task<StoredObject, any Error>?
    var isCancelled = false
  }
  private let state = Mutex(State())

  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }

  func run(_ body: @escaping @Sendable () async throws -> StoredObject) async throws -> StoredObject {
    let gate = AsyncStream<Void>.makeStream()
    let task = Task {
      for await _ in gate.stream {}
      return try await body()
    }
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
    gate.continuation.finish()
    return try await task.value
  }
}
