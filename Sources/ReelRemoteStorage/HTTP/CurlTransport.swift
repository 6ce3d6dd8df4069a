import HTTPTypes
import ReelCore
import ReelStorage

/// HTTP/1.1 over libcurl: connections are kept and shared, TLS is verified, redirects are not followed, and a request
/// that failed is not sent again.
///
/// HTTP/2 is left out on purpose: uploads in parallel are faster over connections of their own, and stores for large
/// objects speak HTTP/1.1.
public final class CurlTransport: HTTPTransport {
  private let loop: CurlLoop
  private let rules: HTTPRules
  private let limiter: RateLimiter?
  /// As many as there are connections: who waits for one waits here, where the time that a connection may take to be
  /// made does not run.
  private let places: AsyncSemaphore

  /// A transport of its own; its thread and its connections end with it. libcurl is opened when the first call is made.
  /// - Parameter limiter: keeps the bodies of all requests together to a rate; what is sent again counts again.
  /// - Throws: ``HTTPFailure/untrusted(_:)`` when the file of extra certificates can't be used.
  public init(_ rules: HTTPRules = HTTPRules(), limiter: RateLimiter? = nil) throws(HTTPFailure) {
    self.rules = rules
    self.limiter = limiter
    places = AsyncSemaphore(count: rules.connections)
    var extra: ExtraCertificates?
    if let path = rules.extraCertificates { extra = try ExtraCertificates(path: path) }
    loop = CurlLoop(connections: rules.connections, proxy: rules.proxy, extraCertificates: extra)
  }

  deinit { loop.stop() }

  /// As ``HTTPTransport/send(_:)``.
  public func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    let reply = try await exchange(call, fold: nil)
    return HTTPReply(status: reply.knownStatus, fields: reply.fields, body: reply.body)
  }

  /// As ``HTTPTransport/fetch(_:into:_:)``; `update` is called on the transport's thread.
  public func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    let folded = Folded(initial)
    let reply = try await exchange(call) { update(&folded.value, $0) }
    return (HTTPReply(status: reply.knownStatus, fields: reply.fields, body: reply.body), folded.value)
  }

  /// Touched by the transfer alone until it has ended, and only then by who waits for that.
  private final class Folded<Value: Sendable>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
  }

  private func exchange(
    _ call: HTTPCall, fold: (@Sendable (UnsafeRawBufferPointer) -> Void)?
  ) async throws(HTTPFailure) -> CurlReply {
    try rules.check(call.origin)
    let request = try self.request(call)
    let place = await places.take()
    defer { places.giveBack(place) }
    if Task.isCancelled { throw .cancelled }
    func transfer(_ request: CurlRequest, _ feed: BodyFeed?) -> CurlTransfer {
      CurlTransfer(request, feed: feed, replyLimit: call.replyLimit, fold: fold)
    }
    switch call.body {
    case .none: return try await loop.run(transfer(request, nil)).get()
    case .bytes(let bytes):
      guard let limiter else { return try await loop.run(transfer(request, BodyFeed(whole: bytes))).get() }
      let feed = BodyFeed()
      async let _ = feed.read(bytes, limiter)
      return try await send(transfer(request, feed), feed)
    case .source(let body) where limiter == nil && body.range.count <= SourceBodyChunks.chunkSize:
      // One chunk has nothing to be read beside it.
      let bytes = try await SourceBodyChunks(body).single()
      let reply = try await loop.run(transfer(request, BodyFeed(whole: bytes))).get()
      body.reporting(body.range.upperBound - body.range.lowerBound)
      return reply
    case .source(let body):
      let feed = BodyFeed()
      async let _ = feed.read(body, limiter)
      return try await send(transfer(request, feed), feed)
    }
  }

  /// Sends what is read meanwhile. Who reads is cancelled when this returns.
  private func send(_ transfer: CurlTransfer, _ feed: BodyFeed) async throws(HTTPFailure) -> CurlReply {
    await feed.begun()
    defer { feed.abandon() }
    return try await loop.run(transfer).get()
  }

  private func request(_ call: HTTPCall) throws(HTTPFailure) -> CurlRequest {
    CurlRequest(
      method: call.method.rawValue, url: call.url, host: call.origin.host,
      // Over a proxy, what is not encrypted is asked for by its whole address.
      target: call.origin.isSecure ? call.target : nil,
      lines: try call.fieldsOnWire().map { field in
        field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
      },
      bodyLength: call.hasBody ? call.body.length : nil,
      isDirect: !rules.usesProxy || call.origin.isLoopback || call.origin.isLinkLocal,
      limits: CurlLimits(
        connect: rules.timeouts.connect, whole: rules.timeouts.limit(for: call, at: limiter?.bytesPerSecond),
        idle: rules.timeouts.idle + call.thinking, answer: rules.timeouts.answerLimit(for: call)))
  }
}

extension HTTPCall {
  /// Whether a length is told: also one of 0, where the method has a body (RFC 9110, 8.6).
  fileprivate var hasBody: Bool {
    if case .none = body { return [.put, .post, .patch].contains(method) }
    return true
  }
}

extension CurlReply {
  fileprivate var knownStatus: HTTPResponse.Status { HTTPResponse.Status(code: status) }

  /// Those of the last head: interim replies stand before it. What HTTPTypes does not take as a name is left out.
  fileprivate var fields: HTTPFields {
    var fields = HTTPFields()
    for line in head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true) {
      if line.starts(with: "HTTP/".utf8) {
        fields = HTTPFields()
        continue
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
      else { continue }
      fields.append(HTTPField(name: name, value: Self.trimmed(line[(colon + 1)...])))
    }
    return fields
  }

  private static func trimmed(_ value: ArraySlice<UInt8>) -> String {
    let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0D].contains($0) }
    let end = value.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? value.startIndex
    return String(decoding: value[..<end].drop(while: isSpace), as: UTF8.self)
  }
}
