import ReelCore
import ReelStorage
import Synchronization

/// Passes a request body from the task that reads it to the thread that sends it.
final class BodyFeed: Sendable {
  /// What the sending thread gets.
  enum Piece {
    /// The number of bytes copied; 0 after the last.
    case bytes(Int)
    /// More bytes will follow.
    case notYet
    case failed(HTTPFailure)
  }

  private struct State {
    /// What waits to be sent.
    var chunk: ArraySlice<UInt8>?
    var isEnded = false
    var failure: HTTPFailure?
    /// Whether the sending side takes no more bytes.
    var isAbandoned = false
    /// The reader, waiting until its chunk is taken.
    var putting: CheckedContinuation<Bool, Never>?
    /// The sender, waiting for something to take.
    var taking: CheckedContinuation<Void, Never>?
    var wake: (@Sendable () -> Void)?

    var isEmpty: Bool { chunk == nil && !isEnded && failure == nil }
  }
  private let state: Mutex<State>

  init() { state = Mutex(State()) }

  /// Creates a feed that holds a whole body.
  init(whole bytes: [UInt8]) {
    state = Mutex(State(chunk: bytes.isEmpty ? nil : bytes[...], isEnded: true))
  }

  // MARK: Sending side

  /// Waits for the first chunk, the end of the body, or a failure.
  func begun() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if !state.isEmpty { return true }
        state.taking = continuation
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Copies the next bytes into `buffer`.
  /// - Parameter wake: called, from any thread, once there is something to take after ``Piece/notYet``.
  func take(into buffer: UnsafeMutableRawBufferPointer, wake: @escaping @Sendable () -> Void) -> Piece {
    let (piece, putting): (Piece, CheckedContinuation<Bool, Never>?) = state.withLock { state in
      if let failure = state.failure { return (.failed(failure), nil) }
      guard let chunk = state.chunk else {
        if state.isEnded { return (.bytes(0), nil) }
        state.wake = wake
        return (.notYet, nil)
      }
      let part = chunk.prefix(buffer.count)
      buffer.copyBytes(from: part)
      guard part.count == chunk.count else {
        state.chunk = chunk[part.endIndex...]
        return (.bytes(part.count), nil)
      }
      defer { (state.chunk, state.putting) = (nil, nil) }
      return (.bytes(part.count), state.putting)
    }
    putting?.resume(returning: true)
    return piece
  }

  /// Tells the reading side that no more bytes will be taken.
  func abandon() {
    let putting = state.withLock { state in
      state.isAbandoned = true
      defer { state.putting = nil }
      return state.putting
    }
    putting?.resume(returning: false)
  }

  // MARK: Reading side

  /// Reads `body` to its end, as fast as `limiter` and the sending side allow.
  func read(_ body: SourceBody, _ limiter: RateLimiter?) async {
    do throws(UploadError) {
      for try await chunk in SourceBodyChunks(body) {
        guard try await put(chunk, limiter) else { return }
      }
      change { $0.isEnded = true }
    } catch {
      change { $0.failure = HTTPFailure(reading: error) }
    }
  }

  /// As ``read(_:_:)``, but for bytes in memory.
  func read(_ bytes: [UInt8], _ limiter: RateLimiter) async {
    do throws(UploadError) {
      if try await put(bytes, limiter) { change { $0.isEnded = true } }
    } catch {
      change { $0.failure = .cancelled }
    }
  }

  /// Passes on all of `chunk`, and waits until it is taken.
  /// - Returns: False if it was not taken, because no more is wanted.
  private func put(_ chunk: [UInt8], _ limiter: RateLimiter?) async throws(UploadError) -> Bool {
    guard let limiter else { return await put(chunk[...]) }
    var rest = chunk[...]
    while !rest.isEmpty {
      let piece = rest.prefix(limiter.largestPiece)
      rest = rest.dropFirst(piece.count)
      try await rethrowing(as: { _ in UploadError(.cancelled, "cancelled while it was sent") }) {
        try await limiter.passing(piece.count)
      }
      guard await put(piece) else { return false }
    }
    return true
  }

  private func put(_ piece: ArraySlice<UInt8>) async -> Bool {
    await withCheckedContinuation { continuation in
      // In one step: between two, the piece could be taken, and the request end, which would look as if it had not
      // been wanted.
      let isWanted = change { state in
        guard !state.isAbandoned else { return false }
        (state.chunk, state.putting) = (piece, continuation)
        return true
      }
      if !isWanted { continuation.resume(returning: false) }
    }
  }

  private func change<Value>(_ body: (inout State) -> Value) -> Value {
    let (value, taking, wake) = state.withLock { state in
      let value = body(&state)
      defer { (state.taking, state.wake) = (nil, nil) }
      return (value, state.taking, state.wake)
    }
    taking?.resume()
    wake?()
    return value
  }
}
