import Synchronization

/// A request as it arrived.
package struct ReceivedRequest: Sendable {
  package let method: String
  package let target: String
  package let headers: [(name: String, value: String)]
  package let body: [UInt8]

  /// A request by its parts.
  package init(method: String, target: String, headers: [(name: String, value: String)], body: [UInt8]) {
    (self.method, self.target, self.headers, self.body) = (method, target, headers, body)
  }

  /// The same request if no more than `count` bytes of its body arrive.
  package func cut(to count: Int) -> ReceivedRequest {
    ReceivedRequest(method: method, target: target, headers: headers, body: Array(body.prefix(count)))
  }

  /// The first field of that name.
  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// What the server does with a request.
package enum ServerAction: Sendable {
  case reply(Int, headers: [(String, String)] = [], body: [UInt8] = [])
  /// A head that promises more bytes than follow; then the connection is closed.
  case cutReply(promised: Int, sent: [UInt8])
  /// No answer, ever.
  case silence
  /// The connection is closed at once.
  case close
  /// Bytes that are not HTTP.
  case garbage
  /// These bytes, whatever they are; then the connection may be closed.
  case raw([UInt8], thenClose: Bool)
}

/// A real HTTP server on a free port of 127.0.0.1. The test gives its every answer.
package final class LoopbackServer: Sendable {
  package var port: Int { listener.port }
  private let listener: WireListener
  private let log: RequestLog

  /// All requests that arrived whole, in order; without the bodies if they are not kept.
  package var requests: [ReceivedRequest] { log.requests }
  /// The number of bytes of bodies that arrived, whole or not.
  package var bodyBytes: Int { log.bodyBytes }
  /// The number of open connections.
  package var connections: Int { listener.count }

  /// - Parameters:
  ///   - tls: certificate and key; nil for plain http.
  ///   - keepsBodies: whether ``requests`` has the bodies; false where gigabytes arrive.
  package static func start(
    tls: TLSIdentity? = nil, keepsBodies: Bool = true,
    _ answer: @escaping @Sendable (ReceivedRequest) -> ServerAction
  ) async throws -> LoopbackServer {
    let log = RequestLog(keepsBodies: keepsBodies)
    let listener = try WireListener(tls) { wire in
      var conversation = ServerConversation(wire, log)
      while let request = conversation.request() {
        guard conversation.perform(answer(request), for: request) else { return }
      }
    }
    return LoopbackServer(listener, log)
  }

  private init(_ listener: WireListener, _ log: RequestLog) { (self.listener, self.log) = (listener, log) }

  package func stop() async { listener.stop() }
}

/// What a server has received; may be used from any thread.
final class RequestLog: Sendable {
  private let state = Mutex<(requests: [ReceivedRequest], bodyBytes: Int)>(([], 0))
  let keepsBodies: Bool

  init(keepsBodies: Bool) { self.keepsBodies = keepsBodies }

  var requests: [ReceivedRequest] { state.withLock { $0.requests } }
  var bodyBytes: Int { state.withLock { $0.bodyBytes } }

  func add(_ request: ReceivedRequest) {
    let kept = keepsBodies ? request : request.cut(to: 0)
    state.withLock { $0.requests.append(kept) }
  }
  func count(_ bytes: Int) { state.withLock { $0.bodyBytes += bytes } }
}

/// The server's side of one connection.
private struct ServerConversation {
  private let wire: Wire
  private let log: RequestLog
  private var reader: WireReader

  init(_ wire: Wire, _ log: RequestLog) {
    (self.wire, self.log) = (wire, log)
    reader = WireReader(wire)
  }

  /// The next request, once it is whole; nil at the end.
  mutating func request() -> ReceivedRequest? {
    guard let bytes = reader.head(), let head = WireHead(bytes) else { return nil }
    let body = reader.take(head.bodyLength) { [log] in log.count($0) }
    guard body.count == head.bodyLength else { return nil }
    let request = ReceivedRequest(
      method: head.method, target: head.target, headers: head.fields.map { (name: $0.0, value: $0.1) },
      body: body)
    log.add(request)
    return request
  }

  /// Performs an action. Returns whether the connection continues.
  func perform(_ action: ServerAction, for request: ReceivedRequest) -> Bool {
    do throws(WireEnded) {
      switch action {
      case .silence: return true
      case .close: return false
      case .reply(let status, let headers, let body):
        let head = Self.head(status, headers, promised: body.count)
        try wire.write(request.method == "HEAD" ? head : head + body)
        return true
      case .cutReply(let promised, let sent):
        try wire.write(Self.head(200, [], promised: promised) + sent)
        return false
      case .garbage:
        try wire.write(Array("SSH-2.0-nothing to see here\r\n".utf8))
        return true
      case .raw(let bytes, let thenClose):
        try wire.write(bytes)
        return !thenClose
      }
    } catch {
      return false
    }
  }

  private static func head(_ status: Int, _ headers: [(String, String)], promised: Int) -> [UInt8] {
    var text = "HTTP/1.1 \(status) Said\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    // RFC 9110, 8.6.
    let tellsLength = status >= 200 && status != 204
    if tellsLength, !headers.contains(where: { $0.0.lowercased() == "content-length" }) {
      text += "content-length: \(promised)\r\n"
    }
    return Array((text + "\r\n").utf8)
  }
}
