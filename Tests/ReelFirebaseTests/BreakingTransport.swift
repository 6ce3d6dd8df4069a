import HTTPTypes
import ReelRemoteStorage
import Synchronization

/// Breaks some of the calls whose method and target hold a word, on this side of the wire.
final class BreakingTransport: HTTPTransport {
  private let base: CurlTransport
  private let words: String
  /// From this one on (counted from 1) nothing is sent.
  private let from: Int
  /// The reply to this one is lost.
  private let losing: Int
  /// A byte of this one is changed.
  private let corrupting: Int
  private let seen = Mutex<(calls: Int, bytes: Int)>((0, 0))

  init(base: CurlTransport, words: String, from: Int = .max, losing: Int = 0, corrupting: Int = 0) {
    (self.base, self.words) = (base, words)
    (self.from, self.losing, self.corrupting) = (from, losing, corrupting)
  }

  /// Bytes of the bodies that were sent.
  var bytes: Int { seen.withLock { $0.bytes } }

  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    guard "\(call.method.rawValue) \(call.target)".contains(words) else { return try await base.send(call) }
    let nth = seen.withLock { seen in
      seen.calls += 1
      return seen.calls
    }
    if nth >= from { throw .broken("a test") }
    var call = call
    if nth == corrupting, case .bytes(var bytes) = call.body, !bytes.isEmpty {
      bytes[0] ^= 1
      call.body = .bytes(bytes)
    }
    let (length, reply) = (Int(call.body.length), try await base.send(call))
    seen.withLock { $0.bytes += length }
    if nth == losing { throw .broken("a test") }
    return reply
  }

  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    try await base.fetch(call, into: initial, update)
  }
}
