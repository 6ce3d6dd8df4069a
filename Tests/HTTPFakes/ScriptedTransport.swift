import HTTPTypes
import ReelCore
import ReelRemoteStorage
import Synchronization

/// A transport that plays a store: it reads what is sent as the real one does, and asks the test for the reply.
package final class ScriptedTransport: HTTPTransport {
  /// A call, with the bytes that were sent.
  package struct Sent: Sendable {
    package let call: HTTPCall
    package let body: [UInt8]

    package init(call: HTTPCall, body: [UInt8]) { (self.call, self.body) = (call, body) }
  }

  private let answer: @Sendable (Sent) async throws(HTTPFailure) -> HTTPReply
  private let sent = Mutex<[Sent]>([])

  /// - Parameter answer: returns the reply to each call.
  package init(_ answer: @escaping @Sendable (Sent) async throws(HTTPFailure) -> HTTPReply) {
    self.answer = answer
  }

  /// Every call so far.
  package var calls: [Sent] { sent.withLock { $0 } }

  package func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    var reply = try await reply(to: call)
    if call.endsAtHead, reply.isSuccess { reply = HTTPReply(status: reply.status, fields: reply.fields) }
    if reply.body.count > call.replyLimit { throw .replyTooLarge(limit: call.replyLimit) }
    return reply
  }

  private func reply(to call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    _ = try call.fieldsOnWire()
    let record = Sent(call: call, body: try await bytes(of: call.body))
    sent.withLock { $0.append(record) }
    return try await answer(record)
  }

  package func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    let reply = try await reply(to: call)
    var value = initial
    guard reply.isSuccess else { return (reply, value) }
    if reply.body.count > call.fetchLimit { throw .replyTooLarge(limit: call.fetchLimit) }
    reply.body.withUnsafeBytes { update(&value, $0) }
    return (HTTPReply(status: reply.status, fields: reply.fields), value)
  }

  private func bytes(of body: HTTPBody) async throws(HTTPFailure) -> [UInt8] {
    switch body {
    case .none: return []
    case .bytes(let bytes): return bytes
    case .source(let body):
      var bytes: [UInt8] = []
      do throws(UploadError) {
        for try await chunk in SourceBodyChunks(body) { bytes += chunk }
      } catch {
        throw error.code == .cancelled ? .cancelled : .source(error)
      }
      return bytes
    }
  }
}
