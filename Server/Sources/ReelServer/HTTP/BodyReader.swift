import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Synchronization

/// Reads the body of a request as it comes, no faster than it is taken, and for as long as it comes fast enough.
struct BodyReader: Sendable {
  /// How a body ended.
  enum End: Sendable {
    case whole
    /// The line was cut, or its sender went away.
    case cut
    case tooSlow
    /// Somebody else goes on with it.
    case overtaken
    case shutDown
  }
  let pace: SenderPace
  let metrics: ServerMetrics

  /// - Parameters:
  ///   - stop: asked where another request is to go on with it.
  ///   - take: called with each piece, in order; what it throws ends the reading, and is thrown.
  func read(
    _ request: Request, _ context: ServerContext, until stop: StopSignal,
    _ take: @escaping @Sendable (ByteBuffer) async throws -> Void
  ) async throws -> End {
    if request.headers[.expect]?.lowercased() == "100-continue" {
      // Only now: who is refused by what the headers say has been, without sending a byte.
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
      // What is just being written is written before this returns.
      while await group.nextResult() != nil {}
      return end
    }
  }

  private func pieces(
    _ request: Request, _ progress: Progress, _ take: @escaping @Sendable (ByteBuffer) async throws -> Void
  ) async throws -> End {
    var iterator = request.body.makeAsyncIterator()
    var gathered = ByteBuffer()
    while true {
      let next: ByteBuffer?
      var isBroken = false
      do {
        next = try await iterator.next()
      } catch {
        (next, isBroken) = (nil, true)
      }
      if var bytes = next {
        progress.add(bytes.readableBytes)
        metrics.count(received: bytes.readableBytes)
        // Behind one that fills a read there is most likely another.
        let isFollowed =
          bytes.readableBytes >= Self.fullRead && progress.received > Self.takenAtOnce
          && gathered.readableBytes + bytes.readableBytes < Self.mostGathered
        if isFollowed || gathered.readableBytes > 0 { gathered.writeBuffer(&bytes) }
        if isFollowed { continue }
        try await take(gathered.readableBytes > 0 ? gathered : bytes)
        gathered.clear()
        continue
      }
      if gathered.readableBytes > 0 {
        // In a task of its own: what has come counts, though this one is asked to stop.
        let rest = gathered
        try await Task { try await take(rest) }.value
      }
      return isBroken || Task.isCancelled || progress.isShort(of: request.headers) ? .cut : .whole
    }
  }

  /// What is read of a connection at once, at most.
  private static let fullRead = 65_536
  /// What is taken piece by piece: the first bytes tell what it is.
  private static let takenAtOnce: Int64 = 256 << 10
  /// Each piece costs its way to a thread and back. Those of a slow sender are small, and are not kept waiting.
  private static let mostGathered = 512 << 10

  private final class Progress: Sendable {
    private struct State {
      var received: Int64 = 0
      var last = ContinuousClock.now
    }
    private let state = Mutex(State())
    private let start = ContinuousClock.now

    func add(_ count: Int) {
      state.withLock { state in
        state.received += Int64(count)
        state.last = .now
      }
    }

    func isTooSlow(by pace: SenderPace) -> Bool {
      let (state, now) = (state.withLock { $0 }, ContinuousClock.now)
      return pace.isTooSlow(received: state.received, elapsed: now - start, silence: now - state.last)
    }

    var received: Int64 { state.withLock { $0.received } }

    /// Whether fewer bytes came than were said.
    func isShort(of headers: HTTPFields) -> Bool {
      guard let text = headers[.contentLength], let length = Int64(text) else { return false }
      return received < length
    }
  }
}
