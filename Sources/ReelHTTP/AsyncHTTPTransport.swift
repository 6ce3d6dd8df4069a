#if HTTP
  import AsyncHTTPClient
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOSSL
  import ReelModel
  import ReelSystem
  import ReelUploading

  /// HTTP/1.1 over async-http-client: connections are kept and shared, TLS is verified, redirects are not followed, and
  /// a request that failed is not sent again.
  ///
  /// HTTP/2 is left out on purpose: uploads in parallel are faster over connections of their own, and stores for large
  /// objects speak HTTP/1.1.
  public final class AsyncHTTPTransport: HTTPTransport {
    private let client: HTTPClient
    private let rules: HTTPRules
    private let limiter: RateLimiter?
    /// As many as there are connections: who waits for one waits here, where the time that a connection may take to be
    /// made does not run.
    private let places: AsyncPlaces

    /// A client of its own; its connections end with it.
    /// - Parameter limiter: keeps the bodies of all requests together to a rate; what is sent again counts again.
    /// - Throws: ``HTTPFailure/untrusted(_:)`` when the file of extra certificates can't be read.
    public init(_ rules: HTTPRules = HTTPRules(), limiter: RateLimiter? = nil) throws(HTTPFailure) {
      self.rules = rules
      self.limiter = limiter
      places = AsyncPlaces(count: rules.connections)
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
      let watch = BodyWatch()
      let request = try self.request(call, watch)
      let limit = rules.timeouts.limit(for: call, at: limiter?.bytesPerSecond)
      let patience = Patience(
        idle: rules.timeouts.idle, answer: rules.timeouts.answerLimit(for: call), watch: watch)
      let place = await places.take()
      defer { places.giveBack(place) }
      if Task.isCancelled { throw .cancelled }
      let deadline = Deadline(limit: limit, idle: rules.timeouts.idle, watch: watch)
      return try await deadline.run { [client] () throws(HTTPFailure) in
        try await read(try await client.reply(to: request, patience))
      }
    }

    private func request(_ call: HTTPCall, _ watch: BodyWatch) throws(HTTPFailure) -> HTTPClientRequest {
      var request = HTTPClientRequest(url: call.url)
      request.method = HTTPMethod(rawValue: call.method.rawValue)
      for field in try call.fieldsOnWire() {
        request.headers.add(name: field.name.rawName, value: field.value)
      }
      request.body = body(of: call, watch)
      return request
    }

    private func body(of call: HTTPCall, _ watch: BodyWatch) -> HTTPClientRequest.Body? {
      let length = HTTPClientRequest.Body.Length.known(call.body.length)
      switch call.body {
      case .none: return nil
      case .bytes(let bytes):
        return .stream(
          BodyPieces(base: OneChunk(bytes: bytes), watch: watch, limiter: limiter), length: length)
      case .source(let body):
        return .stream(
          BodyPieces(base: SourceBodyChunks(body), watch: watch, limiter: limiter), length: length)
      }
    }

    private static func configuration(_ rules: HTTPRules) throws(HTTPFailure) -> HTTPClient.Configuration {
      let idle = TimeAmount(rules.timeouts.idle)
      var pool = HTTPClient.Configuration.ConnectionPool(
        // Shorter than any store's own: a connection that the store has closed is no use.
        idleTimeout: .seconds(4), concurrentHTTP1ConnectionsPerHostSoftLimit: rules.connections)
      pool.retryConnectionEstablishment = false
      // No limit on writing: that would be the time that we take to make a piece, which may wait for a rate, or a disk.
      var configuration = HTTPClient.Configuration(
        tlsConfiguration: try tls(rules), redirectConfiguration: .disallow,
        timeout: .init(connect: TimeAmount(rules.timeouts.connect), read: idle),
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

  /// How much silence there may be.
  private struct Patience: Sendable {
    let idle: Duration
    /// Until the reply begins; nil leaves that to ``idle``.
    let answer: Duration?
    let watch: BodyWatch

    var deadline: NIODeadline { answer.map { .now() + TimeAmount($0) } ?? .distantFuture }

    func failure(_ error: any Error) -> HTTPFailure {
      HTTPFailure(error, idle: idle, answer: answer ?? idle, sinceBody: watch.sinceEnd)
    }
  }

  extension HTTPClient {
    fileprivate func reply(
      to request: HTTPClientRequest, _ patience: Patience
    ) async throws(HTTPFailure) -> WireReply {
      do {
        return WireReply(
          response: try await execute(request, deadline: patience.deadline), patience: patience)
      } catch {
        throw patience.failure(error)
      }
    }
  }

  /// A reply whose body is still on its way.
  private struct WireReply: Sendable {
    let response: HTTPClientResponse
    let patience: Patience

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
        throw patience.failure(error)
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
        throw patience.failure(error)
      }
    }
  }
#endif
