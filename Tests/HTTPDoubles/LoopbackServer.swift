#if HTTP
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
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

    /// The same, when no more than that of the body arrives.
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
    /// A head that promises more than comes; then the connection is closed.
    case cutReply(promised: Int, sent: [UInt8])
    /// Nothing, ever.
    case silence
    /// The connection is closed at once.
    case close
    /// Bytes that are no HTTP.
    case garbage
  }

  /// A real HTTP server on a free port of 127.0.0.1, whose every answer a test gives.
  package final class LoopbackServer: Sendable {
    package let port: Int
    private let channel: any Channel
    private let log: RequestLog

    /// Everything that arrived whole, in order; without the bodies if they are not kept.
    package var requests: [ReceivedRequest] { log.requests }
    /// Bytes of bodies that arrived, whole or not.
    package var bodyBytes: Int { log.bodyBytes }

    /// - Parameters:
    ///   - tls: certificate and key; nil for plain http.
    ///   - keepsBodies: whether ``requests`` has the bodies; not where gigabytes come.
    package static func start(
      tls: TLSConfiguration? = nil, keepsBodies: Bool = true,
      _ answer: @escaping @Sendable (ReceivedRequest) -> ServerAction
    ) async throws -> LoopbackServer {
      let log = RequestLog(keepsBodies: keepsBodies)
      let context = try tls.map { try NIOSSLContext(configuration: $0) }
      let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 256)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            if let context {
              try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
            try channel.pipeline.syncOperations.addHandler(AnsweringHandler(log: log, answer: answer))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      return LoopbackServer(channel, log)
    }

    private init(_ channel: any Channel, _ log: RequestLog) {
      self.channel = channel
      port = channel.localAddress?.port ?? 0
      self.log = log
    }

    package func stop() async { try? await channel.close() }
  }
#endif
