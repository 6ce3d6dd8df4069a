#if HTTP
  import AsyncHTTPClient
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOSSL
  import ReelModel

  /// HTTP/1.1 over async-http-client: connections are kept and shared, TLS is verified, redirects are not followed, and
  /// a request that failed is not sent again.
  ///
  /// HTTP/2 is left out on purpose: uploads in parallel are faster over connections of their own, and stores for large
  /// objects speak HTTP/1.1.
  public final class AsyncHTTPTransport: HTTPTransport {
    private let client: HTTPClient
    private let rules: HTTPRules

    /// A client of its own; its connections end with it.
    /// - Throws: ``HTTPFailure/untrusted(_:)`` when the file of extra certificates can't be read.
    public init(_ rules: HTTPRules = HTTPRules()) throws(HTTPFailure) {
      self.rules = rules
      client = HTTPClient(
        eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: try Self.configuration(rules))
    }

    deinit {
      // It holds itself until its connections are closed.
      client.shutdown { _ in }
    }

    /// As ``HTTPTransport/send(_:)``.
    public func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
      try await exchange(call) { reply throws(HTTPFailure) in try await reply.whole(limit: call.replyLimit) }
    }

    /// As ``HTTPTransport/fetch(_:into:_:)``.
    public func fetch<Value: Sendable>(
      _ call: HTTPCall, into initial: Value,
      _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
    ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
      try await exchange(call) { reply throws(HTTPFailure) in
        guard reply.isSuccess else {
          return (reply: try await reply.whole(limit: call.replyLimit), value: initial)
        }
        return (reply: reply.head, value: try await reply.fold(into: initial, update))
      }
    }

    private func exchange<Value: Sendable>(
      _ call: HTTPCall,
      _ read: @escaping @Sendable (WireReply) async throws(HTTPFailure) -> Value
    ) async throws(HTTPFailure) -> Value {
      try rules.check(call.origin)
      let request = try Self.request(call)
      return try await Deadline.run(rules.timeouts.limit(for: call)) { [client] () throws(HTTPFailure) in
        try await read(try await client.reply(to: request))
      }
    }

    private static func request(_ call: HTTPCall) throws(HTTPFailure) -> HTTPClientRequest {
      var request = HTTPClientRequest(url: call.url)
      request.method = HTTPMethod(rawValue: call.method.rawValue)
      for field in try call.fieldsOnWire() {
        request.headers.add(name: field.name.rawName, value: field.value)
      }
      request.body =
        switch call.body {
        case .none: nil
        case .bytes(let bytes): .bytes(ByteBuffer(bytes: bytes))
        case .source(let body):
          .stream(SourceBodyChunks(body).map { ByteBuffer(bytes: $0) }, length: .known(call.body.length))
        }
      return request
    }

    private static func configuration(_ rules: HTTPRules) throws(HTTPFailure) -> HTTPClient.Configuration {
      let idle = TimeAmount(rules.timeouts.idle)
      var pool = HTTPClient.Configuration.ConnectionPool(
        // Shorter than any store's own: a connection that the store has closed is no use.
        idleTimeout: .seconds(4), concurrentHTTP1ConnectionsPerHostSoftLimit: rules.connections)
      pool.retryConnectionEstablishment = false
      var configuration = HTTPClient.Configuration(
        tlsConfiguration: try tls(rules), redirectConfiguration: .disallow,
        timeout: .init(connect: TimeAmount(rules.timeouts.connect), read: idle, write: idle),
        connectionPool: pool, decompression: .disabled)
      configuration.httpVersion = .http1Only
      return configuration
    }

    private static func tls(_ rules: HTTPRules) throws(HTTPFailure) -> TLSConfiguration {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.minimumTLSVersion = .tlsv12
      guard let path = rules.extraCertificates else { return tls }
      do {
        let certificates = try NIOSSLCertificate.fromPEMFile(path)
        if certificates.isEmpty { throw HTTPFailure.untrusted("no certificate is in it") }
        tls.additionalTrustRoots = [.certificates(certificates)]
        return tls
      } catch {
        throw .untrusted(
          "the certificates in \(path) can't be used; it is a file in PEM form that can be read")
      }
    }
  }

  extension HTTPClient {
    fileprivate func reply(to request: HTTPClientRequest) async throws(HTTPFailure) -> WireReply {
      do {
        return WireReply(response: try await execute(request, deadline: .distantFuture))
      } catch {
        throw HTTPFailure(error)
      }
    }
  }

  /// A reply whose body is still on its way.
  private struct WireReply: Sendable {
    let response: HTTPClientResponse

    var isSuccess: Bool { (200..<300).contains(response.status.code) }

    /// Status and fields. What HTTPTypes does not take as a name or a value is left out.
    var head: HTTPReply { HTTPReply(status: status, fields: fields) }

    private var status: HTTPResponse.Status { HTTPResponse.Status(code: Int(response.status.code)) }

    private var fields: HTTPFields {
      var fields = HTTPFields()
      for (name, value) in response.headers {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
      }
      return fields
    }

    func whole(limit: Int) async throws(HTTPFailure) -> HTTPReply {
      do {
        let body = try await response.body.collect(upTo: limit)
        return HTTPReply(status: status, fields: fields, body: Array(body.readableBytesView))
      } catch is NIOTooManyBytesError {
        throw .replyTooLarge(limit: limit)
      } catch {
        throw HTTPFailure(error)
      }
    }

    func fold<Value>(
      into initial: Value, _ update: @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
    ) async throws(HTTPFailure) -> Value {
      do {
        var value = initial
        for try await piece in response.body { piece.withUnsafeReadableBytes { update(&value, $0) } }
        return value
      } catch {
        throw HTTPFailure(error)
      }
    }
  }
#endif
