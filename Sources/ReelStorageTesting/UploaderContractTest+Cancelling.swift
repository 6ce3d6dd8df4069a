import ReelCore
import Synchronization

extension UploaderContractTest {
  /// Cancelling the task ends the upload and leaves nothing visible.
  static let cancelling: [UploaderContractTest] = [
    UploaderContractTest(
      "cancel.midway", "an upload whose task is cancelled halfway ends with cancelled, leaving nothing"
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
    UploaderContractTest("cancel.before", "a task that is cancelled already stores nothing") { context in
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

/// An upload in a task of its own, which anybody can cancel, before it begins too.
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
