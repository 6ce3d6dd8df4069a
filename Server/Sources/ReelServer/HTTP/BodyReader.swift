import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Synchronization

/// Reads the body of a request as it comes, no faster than it is processed, and for as long as it comes fast enough.
struct BodyReader: Sendable {
  /// How a body ended.
  enum End: Sendable {
    case whole
    /// The connection was cut, or the sender went away.
    case cut
    case tooSlow
    /// Another request continues the upload.
    case overtaken
    case shutDown
  }
  let pace: SenderPace
  let metrics: ServerMetrics

  /// - Parameters:
  ///   - stop: asked when another request is to continue the upload.
  ///   - take: called with each piece, in order; an error that it throws ends the reading, and is thrown.
  func read(
    _ request: Request, _ context: ServerContext, until stop: StopSignal,
    _ take: @escaping @Sendable (ByteBuffer) async throws -> Void
  ) async throws -> End {
    if request.headers[.expect]?.lowercased() == "100-continue" {
      // Only now: a request that the headers rule out has been refused without sending a byte.
      await context.inform(HTTPResponse(status: .continue))
    }
    let progress = Progress()
    return try await withThrowingTaskGroup(of: End.self) { group in
      group.addTask { try await pieces(request, progress, take) }
      group.addTask {
        while !progress.isTooSlow(by: pace) { try await Task.sleep(for: pace.patience / 4) }
        return .tooSlow
      }
      group.addTask { await stop.isAsked() ? .overtaken : .cut }
      group.addTask {
        try await gracefulShutdown()
        return .shutDown
      }
      defer { group.cancelAll() }
      guard let end = try await group.next() else { return .cut }
      group.cancelAll()
      // Wait until what is being written has been written.
      while await group.nextResult() != nil {}
      return end
    }
  }

  private func pieces(
    _ request: Request, _ progress: Progress, _ take: (ByteBuffer) async throws -> Void
  ) async throws -> End {
    var iterator = request.body.makeAsyncIterator()
    while true {
      let bytes: ByteBuffer?
      do {
        bytes = try await iterator.next()
      } catch {
        return .cut
      }
      guard let bytes else {
        return Task.isCancelled || progress.isShort(of: request.headers) ? .cut : .whole
      }
      progress.noteArrival(of: bytes.readableBytes)
      metrics.count(received: bytes.readableBytes)
      try await take(bytes)
      progress.noteWritten()
    }
  }

  private final class Progress: Sendable {
    private let state = Mutex(SenderProgress(begun: .now))

    func noteArrival(of count: Int) { state.withLock { $0.noteArrival(of: count, at: .now) } }

    func noteWritten() { state.withLock { $0.noteWritten(at: .now) } }

    func isTooSlow(by pace: SenderPace) -> Bool { state.withLock { $0.isTooSlow(by: pace, at: .now) } }

    /// Whether fewer bytes came than the headers stated.
    func isShort(of headers: HTTPFields) -> Bool {
      guard let text = headers[.contentLength], let length = Int64(text) else { return false }
      return state.withLock { $0.received } < length
    }
  }
}
