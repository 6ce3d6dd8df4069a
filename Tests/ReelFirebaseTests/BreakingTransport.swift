import HTTPTypes
import ReelRemoteStorage
import Synchronization

/// A transport that makes some of the calls fail whose method and target contain `words`, on the client's side.
final class BreakingTransport: HTTPTransport {
  private let base: CurlTransport
  private let words: String
  /// From this call on (counted from 1) nothing is sent.
  private let from: Int
  /// The call whose reply is lost.
  private let losing: Int
  /// The call in whose body a byte is changed.
  private let corrupting: Int
  private let seen = Mutex<(calls: Int, bytes: Int)>((0, 0))

  init(base: CurlTransport, words: String, from: Int = .max, losing: Int = 0, corrupting: Int = 0) {
    (self.base, self.words) = (base, words)
    (self.from, self.losing, self.corrupting) = (from, losing, corrupting)
  }

  /// The number of body bytes sent.
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
