import ReelCore
import Synchronization

extension UploaderPromise {
  /// Cancelling the task ends the upload and leaves nothing visible.
  static let cancelling: [UploaderPromise] = [
    UploaderPromise(
      "cancel.midway", "an upload whose task is cancelled halfway ends with cancelled, leaving nothing"
    ) {
      scene in
      let key = try scene.newKey()
      let content = try scene.large()
      let upload = CancellableUpload()
      let midway = Midway { upload.cancel() }
      let source = try scene.source(content, midway: midway)
      try await scene.expectError([.cancelled], "an upload that was cancelled halfway") {
        try await upload.run { () async throws -> StoredObject in
          try await scene.uploader.upload(source, to: key) { midway.see($0) }
        }
      }
      try await scene.expectNothing(under: key, after: "cancelling")
      try await scene.upload(content, to: key)
      try await scene.expectWhole(content, under: key)
    },
    UploaderPromise("cancel.before", "a task that is cancelled already stores nothing") { scene in
      let key = try scene.newKey()
      let source = try scene.source(try scene.large())
      let upload = CancellableUpload()
      upload.cancel()
      try await scene.expectError([.cancelled], "an upload that was cancelled before it began") {
        try await upload.run { () async throws -> StoredObject in
          try await scene.uploader.upload(source, to: key) { _ in }
        }
      }
      try await scene.expectNothing(under: key, after: "cancelling")
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
